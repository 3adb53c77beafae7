"""INSERT … ON CONFLICT: rows with new keys are inserted; others are ignored or update the stored row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.carry_out import PlannedChange
from sqlext.command.change.change_facts import facts_of, source_size
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.read_set import OWN_KEYS
from sqlext.command.change.rerun import in_either_order
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.planner import plan_change
from sqlext.command.upsert.change_batch import one_row_a_key, plain_batch
from sqlext.command.upsert.distinct_batch import have_distinct_keys
from sqlext.command.upsert.upsert import explain_replace_by_key, replace_by_key, require_upsertable
from sqlext.errors import AnalysisError
from sqlext.properties import MERGE_ISOLATION_LEVEL, MERGE_MODE, UPSERT_SEQUENCE_FIELD
from sqlext.spark.query.temporary_relation import named_rows
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.name_case import name_key
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.sql.lowering.on_conflict import lower_on_conflict, replaces_whole_rows
from sqlext.sql.row_rules import generated_names, identity_names
from sqlext.sql.statements.statement import Insert, OnConflict


def require_key_named(target: Target, conflict: OnConflict, *, case_sensitive: bool) -> None:
    """Raises AnalysisError for a table without a key, or if the named columns are not its key."""
    require_upsertable(target, "leave ON CONFLICT out")
    key = [field.name for field in target.table.metadata.schema().identifier_fields]
    named = {name_key(name, case_sensitive) for name in conflict.columns or key}
    if named != {name_key(name, case_sensitive) for name in key} and conflict.columns is not None:
        raise AnalysisError(
            "ON_CONFLICT_NOT_KEY", name=target.name, columns=", ".join(conflict.columns), key=", ".join(key)
        )


def insert_on_conflict(
    environment: Environment, spark: SparkSession, target: Target, insert: Insert, conflict: OnConflict, rows: DataFrame
) -> Counts:
    """Writes and commits the rows, which are in the table's columns, optionally followed by `ROW_KIND`.

    Two rows with one key are refused as in an upsert, unless both would be ignored.
    """
    if _is_upsert(target, insert, conflict, is_case_sensitive(spark)):
        return replace_by_key(environment, spark, target, rows)
    with _planned(environment, target, insert, conflict, rows) as planned, in_either_order(environment, target):
        return planned.carry_out(environment, spark, target)


def explain_on_conflict(
    environment: Environment, spark: SparkSession, target: Target, insert: Insert, conflict: OnConflict, rows: DataFrame
) -> Explanation:
    """How `insert_on_conflict` would write the rows."""
    if _is_upsert(target, insert, conflict, is_case_sensitive(spark)):
        return explain_replace_by_key(environment, spark, target, rows)
    with _planned(environment, target, insert, conflict, rows) as planned:
        return planned.explained(environment, spark, target)


def _is_upsert(target: Target, insert: Insert, conflict: OnConflict, case_sensitive: bool) -> bool:
    metadata = target.table.metadata
    has_order = bool(UPSERT_SEQUENCE_FIELD.of(metadata.properties))
    schema = metadata.schema()
    keys = {field.name for field in schema.identifier_fields}
    if not identity_names(schema, metadata.properties) <= keys:
        return False
    return not has_order and replaces_whole_rows(insert, conflict, schema, case_sensitive=case_sensitive)


@contextmanager
def _planned(
    environment: Environment, target: Target, insert: Insert, conflict: OnConflict, rows: DataFrame
) -> Iterator[PlannedChange]:
    """The change with its plan. Its SELECT can be run inside the block."""
    schema, isolation = target.table.metadata.schema(), MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    are_distinct = have_distinct_keys(target, rows, environment.planning.thresholds.driver_bytes)
    batch = (plain_batch if are_distinct else one_row_a_key)(target, rows).rows
    with named_rows(batch, environment.rng) as relation:
        lowered = lower_on_conflict(
            insert,
            conflict,
            relation,
            target.relation,
            schema,
            generated=generated_names(schema, target.table.metadata.properties),
            identities=identity_names(schema, target.table.metadata.properties),
            row_ids=has_row_ids(target),
            kinds=GIVEN_KIND in batch.columns,
            case_sensitive=is_case_sensitive(rows.sparkSession),
        )
        change = RowChange(lowered, isolation, distinct_keys=True, keeps_keys=True, scope=OWN_KEYS)
        facts = replace(facts_of(target, MERGE_MODE), expected_rows=source_size(environment, rows).rows)
        yield PlannedChange(plan_change(facts, environment.planning), change, facts.expected_rows)
