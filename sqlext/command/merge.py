"""MERGE INTO: chooses a strategy and hands the statement to it.

A key upsert (the condition is equality on the identifier fields, matched rows are updated whole, others inserted)
goes the way `write.upsert.mode` names; any other MERGE is merge-on-read through one lowered SELECT.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStruct

from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts, Outcome
from sqlext.command.row_level import Target, change_rows, has_row_ids, load_target, require_delete_files
from sqlext.command.schema_evolution import changes_for_merge, grown
from sqlext.command.upsert import can_look_up, deletes_reach_all, upsert_by_equality, upsert_by_lookup
from sqlext.properties import MERGE_ISOLATION_LEVEL, UPSERT_MODE
from sqlext.spark.data_type import schema_to_spark
from sqlext.spark.lowered_sql import lowered_query
from sqlext.sql.lowering.key_upsert import KeyUpsert, key_upsert, lower_resolved_upsert, lower_upsert_source
from sqlext.sql.lowering.merge import lower_merge, source_select
from sqlext.sql.quoting import unquote_identifier
from sqlext.sql.statement import Merge

_INTEGRAL = {"tinyint", "smallint", "int", "bigint"}


def merge(environment: Environment, spark: SparkSession, statement: Merge) -> Outcome:
    """Runs the statement; one row of counts."""
    target = load_target(environment, spark, statement.table)
    require_delete_files(target, "MERGE")
    return Outcome([_merge(environment, spark, statement, target).row()])


def _merge(environment: Environment, spark: SparkSession, statement: Merge, target: Target) -> Counts:
    source = lowered_query(spark, source_select(statement))
    if statement.evolving:
        target = grown(environment, target, changes_for_merge(target, statement, source))
    properties = target.table.metadata.properties
    schema = target.table.metadata.schema()
    upsert = key_upsert(statement, schema, source.columns)
    if upsert is not None and not _keys_compare_as_stored(upsert, source):
        upsert = None
    isolation = MERGE_ISOLATION_LEVEL.of(properties)
    if upsert is not None and UPSERT_MODE.of(properties) == "equality" and deletes_reach_all(environment, target):
        return upsert_by_equality(environment, spark, target, lower_upsert_source(upsert))
    if upsert is not None and can_look_up(environment, target, source):
        return upsert_by_lookup(environment, spark, target, lower_upsert_source(upsert), isolation)
    if upsert is not None:
        lowered = lower_resolved_upsert(upsert, target.relation, row_ids=has_row_ids(target))
        return change_rows(environment, spark, target, lowered, isolation=isolation, distinct_keys=True)
    lowered, violation = lower_merge(statement, schema, source.columns, target.relation, row_ids=has_row_ids(target))
    return change_rows(environment, spark, target, lowered, isolation=isolation, violation=violation)


def _keys_compare_as_stored(upsert: KeyUpsert, source: DataFrame) -> bool:
    """Whether the condition finds a key equal exactly when it is once it has the column's type."""
    types = {field.name.lower(): field.dataType.simpleString() for field in source.schema.fields}
    for name, text in upsert.keys.items():
        given = types.get(unquote_identifier(text.rpartition(".")[2]).lower())
        stored = SparkStruct.fromJson(dict(schema_to_spark(upsert.schema)))[name].dataType.simpleString()
        if given != stored and not {given, stored} <= _INTEGRAL:
            return False
    return True
