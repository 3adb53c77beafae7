"""MERGE INTO: binds the statement to its source, chooses a strategy and hands the change to it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStruct

from sqlext.command.change.insert_only import insert_only
from sqlext.command.change.mode import by_mode
from sqlext.command.change.reads import OWN_KEYS, Reach
from sqlext.command.change.row_level import Target, has_row_ids, load_target
from sqlext.command.change.schema_evolution import changes_for_merge, grown
from sqlext.command.change.strategy import Choice, RowChange, Strategy, first_trying, likely_few
from sqlext.command.compaction.compaction import compact_after_commit
from sqlext.command.dml.literal_upsert import literal_source, literal_upsert, merged_literals
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.upsert.change_batch import has_order_or_kinds, own_kind_column
from sqlext.command.upsert.key_upsert import changelog_upsert, equality_upsert, few_upsert, lookup_upsert
from sqlext.command.upsert.upsert import by_position, goes_by_equality, keys_fit
from sqlext.properties import AUTO, MERGE_CARDINALITY, MERGE_ISOLATION_LEVEL, MERGE_MODE, UPSERT_MODE
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.query.driver_rows import estimate
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.query.store_assignment import is_ansi, require_strict_policy
from sqlext.spark.session.session_settings import coerces_structs, is_case_sensitive
from sqlext.spec.schema import Schema
from sqlext.spec.types import StructType
from sqlext.sql.lowering.key_upsert import KeyUpsert, key_upsert, lower_resolved_upsert, lower_upsert_source
from sqlext.sql.lowering.merge import lower_merge, source_select
from sqlext.sql.lowering.merge_reach import compares_keys, ends_unconditionally
from sqlext.sql.statements.statement import Merge

_INTEGRAL = {"tinyint", "smallint", "int", "bigint"}


def merge(environment: Environment, spark: SparkSession, statement: Merge) -> Outcome:
    """Runs the statement; one row of counts."""
    target, choice = choose_merge(environment, spark, statement)
    counts = choice.carry_out(environment, spark, target)
    compact_after_commit(environment, spark, target)
    return Outcome([counts.row()])


def choose_merge(environment: Environment, spark: SparkSession, statement: Merge) -> tuple[Target, Choice]:
    """The target, with the columns that the statement gives it, and the way the change is written.

    A key upsert (the condition is equality on the identifier fields, matched rows are updated whole, others inserted)
    goes the way of `write.upsert.mode`; one without matched clauses only adds; any other the way of the table's mode.
    """
    require_strict_policy(spark)
    target = load_target(environment, spark, statement.table)
    choice = _choose_literals(environment, spark, target, statement)
    if choice is not None:
        return target, choice
    source = lowered_query(spark, source_select(statement))
    exact = is_case_sensitive(spark)
    if statement.evolving:
        target = grown(environment, target, changes_for_merge(target, statement, source), case_sensitive=exact)
    schema = target.table.metadata.schema()
    folds = has_order_or_kinds(target, source.columns)
    coerces = not folds and coerces_structs(spark) and _has_structs(schema)
    upsert = None if coerces else key_upsert(statement, schema, source.columns, case_sensitive=exact)
    isolation = MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    if upsert is not None and _keys_compare_as_stored(upsert, source):
        if folds:
            change = RowChange(lower_upsert_source(upsert, own_kind_column(target)), isolation)
            return target, Choice("changes by key", "its rows have kinds, or an order", changelog_upsert, change)
        return target, _choose_upsert(environment, target, upsert, source)
    only_inserts = all(clause.kind == "not matched" for clause in statement.clauses)
    row_ids = has_row_ids(target) and not only_inserts
    expected = estimate(source)
    lowered, names, shows_matches, kept = lower_merge(
        statement,
        schema,
        source.columns,
        target.relation,
        row_ids=row_ids,
        narrows=expected.is_broadcast,
        counts_matches=MERGE_CARDINALITY.of(target.table.metadata.properties) == "matches",
        case_sensitive=exact,
        coerces_structs=coerces,
    )
    # As many rows as the source has, where the condition is on a key; the target's own would come beside them.
    few = _clauses_need_source(statement) and likely_few(target, expected.rows, is_guess=not expected.is_broadcast)
    reach = _reach(statement, schema, source.columns, case_sensitive=exact)
    change = RowChange(lowered, isolation, names, shows_matches=shows_matches, reach=reach, few=few, kept_columns=kept)
    if only_inserts:
        return target, Choice("insert-only", "no clause changes a row that is there", insert_only, change)
    return target, by_mode(target, MERGE_MODE, change)


def _choose_literals(environment: Environment, spark: SparkSession, target: Target, statement: Merge) -> Choice | None:
    """The way of a key upsert of plain literals by equality deletes, if it is one: it asks Spark for nothing."""
    if statement.evolving or not goes_by_equality(environment, target) or not is_ansi(spark):
        return None
    literals = literal_source(statement)
    if literals is None or has_order_or_kinds(target, literals.names):
        return None
    exact = is_case_sensitive(spark)
    upsert = key_upsert(statement, target.table.metadata.schema(), literals.names, case_sensitive=exact)
    rows = None if upsert is None else merged_literals(target, upsert, literals)
    if upsert is None or rows is None:
        return None
    isolation = MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    change = RowChange(lower_upsert_source(upsert), isolation)
    return _by_equality(literal_upsert(rows), change)


def _by_equality(run: Strategy, change: RowChange) -> Choice:
    return Choice("key upsert by equality deletes", f"{UPSERT_MODE.name} is equality", run, change)


def _choose_upsert(environment: Environment, target: Target, upsert: KeyUpsert, source: DataFrame) -> Choice:
    isolation = MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    rows = RowChange(lower_upsert_source(upsert), isolation)
    if goes_by_equality(environment, target):
        return _by_equality(equality_upsert, rows)
    lowered = lower_resolved_upsert(upsert, target.relation, row_ids=has_row_ids(target))
    expected = estimate(source)
    few = likely_few(target, expected.rows)
    one_copy = lower_resolved_upsert(upsert, target.relation, row_ids=has_row_ids(target), one_copy=True)
    change = RowChange(lowered, isolation, distinct_keys=True, reach=OWN_KEYS, few=few, one_copy=one_copy)
    choice = by_position(target, by_mode(target, MERGE_MODE, change))
    if choice.name == "copy-on-write" or not keys_fit(environment, target):
        return choice
    if not expected.is_small:
        return first_trying(choice, expected, few_upsert(rows))
    weighed = choice if choice.name == AUTO else None
    found = Choice("key upsert by position", "the source is small", lookup_upsert(weighed, choice), rows, weighed)
    return found if weighed is not None else by_position(target, found)


def _clauses_need_source(statement: Merge) -> bool:
    return not any(clause.kind == "not matched by source" for clause in statement.clauses)


def _reach(statement: Merge, schema: Schema, source_columns: Sequence[str], *, case_sensitive: bool) -> Reach:
    """Rows that come matter by their keys alone where each source row whose key is not there brings it. One that goes
    matters to the row that it matched, which would come in, unless that changed it."""
    inserts = any(clause.kind == "not matched" for clause in statement.clauses)
    keyed = compares_keys(statement, schema, source_columns, case_sensitive=case_sensitive)
    return Reach(
        by_key=keyed and _clauses_need_source(statement) and ends_unconditionally(statement, "not matched"),
        alone=not inserts or ends_unconditionally(statement, "matched"),
        unique_key=keyed and inserts,
    )


def _has_structs(schema: Schema) -> bool:
    return any(isinstance(schema.field(id).type, StructType) for id in schema.field_ids)


def _keys_compare_as_stored(upsert: KeyUpsert, source: DataFrame) -> bool:
    """Whether the condition finds a key equal exactly when it is once it has the column's type."""
    types = {upsert.source.column(field.name): field.dataType.simpleString() for field in source.schema.fields}
    for name, text in upsert.keys.items():
        given = types.get(text)
        stored = SparkStruct.fromJson(dict(schema_to_spark(upsert.schema)))[name].dataType.simpleString()
        if given != stored and not {given, stored} <= _INTEGRAL:
            return False
    return True
