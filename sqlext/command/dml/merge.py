"""MERGE INTO: binds the statement, plans its change, and executes the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStruct

from sqlext.command.change.carry_out import PlannedChange
from sqlext.command.change.change_facts import facts_of, size_when_asked
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.read_set import OWN_KEYS, ConflictScope
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, has_row_ids, load_target
from sqlext.command.change.schema_evolution import changes_for_merge, grown
from sqlext.command.dml.literal_upsert import literal_source, merged_literals, plan_of_given, upsert_literals
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.outcome import Counts, Outcome
from sqlext.command.plan.change_plan import ChangePlan
from sqlext.command.plan.planner import plan_change
from sqlext.command.upsert.change_batch import ChangeBatch, has_order_or_kinds, own_kind_column, plain_batch
from sqlext.command.upsert.key_facts import key_facts_of
from sqlext.command.upsert.keyed_change import KeyedChange
from sqlext.command.upsert.upsert import explain_replace_by_key, replace_by_key
from sqlext.errors import AnalysisError
from sqlext.properties import MERGE_CARDINALITY, MERGE_ISOLATION_LEVEL, MERGE_MODE
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.query.driver_rows import estimate
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spark.query.store_assignment import is_ansi, require_strict_policy
from sqlext.spark.session.session_settings import coerces_structs, is_case_sensitive
from sqlext.spec.identity_column import with_values_given
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.types import StructType
from sqlext.sql.bound_merge import BoundMerge, bind_merge
from sqlext.sql.lowering.key_upsert import KeyUpsert, key_upsert, lower_resolved_upsert, lower_upsert_source
from sqlext.sql.lowering.merge import lower_merge, source_select
from sqlext.sql.lowering.merge_scope import compares_keys, has_unconditional_clause
from sqlext.sql.row_rules import generated_names, identity_names
from sqlext.sql.statements.statement import Merge

_INTEGRAL = {"tinyint", "smallint", "int", "bigint"}


@dataclass(frozen=True, slots=True)
class _GivenRows:
    """A key upsert of literals, without Spark."""

    plan: ChangePlan
    rows: pa.Table
    lowered: str
    isolation: str

    def carry_out(self, environment: Environment, spark: SparkSession, target: Target) -> Counts:
        log_lowered(self.lowered)
        return upsert_literals(environment, target, self.plan, self.rows, self.isolation)

    def explained(self, environment: Environment, spark: SparkSession, target: Target) -> Explanation:
        return Explanation(target, self.plan, lowered_query(spark, self.lowered), expected_rows=self.rows.num_rows)


@dataclass(frozen=True, slots=True)
class _RowsByKey:
    """A key upsert whose rows have row kinds or a sequence field: the last row of each key counts, as in an UPSERT."""

    lowered: str
    isolation: str

    def carry_out(self, environment: Environment, spark: SparkSession, target: Target) -> Counts:
        log_lowered(self.lowered)
        rows = lowered_query(spark, self.lowered)
        return replace_by_key(environment, spark, target, rows, isolation=self.isolation)

    def explained(self, environment: Environment, spark: SparkSession, target: Target) -> Explanation:
        return explain_replace_by_key(environment, spark, target, lowered_query(spark, self.lowered))


_PlannedMerge = PlannedChange | KeyedChange | _GivenRows | _RowsByKey


def merge(
    environment: Environment,
    spark: SparkSession,
    statement: Merge,
    summary: Sequence[tuple[str, str]] = (),
    branch: str | None = None,
) -> Outcome:
    """Runs the statement, on this branch if one is given. The outcome has one row of counts. `summary` are more entries
    of the snapshot summary, of a merge of rows that have values in identity columns."""
    target, planned = planned_merge(environment, spark, statement, branch, gives_identities=bool(summary))
    if summary:
        destination = replace(target.destination, summary=(*target.destination.summary, *summary))
        settings = {**target.settings, **with_values_given(target.table.metadata.properties)}
        target = replace(target, destination=destination, settings=settings)
    counts = planned.carry_out(environment, spark, target)
    care_after_commit(environment, spark, target)
    return Outcome([counts.row()])


def planned_merge(
    environment: Environment,
    spark: SparkSession,
    statement: Merge,
    branch: str | None = None,
    *,
    gives_identities: bool = False,
) -> tuple[Target, _PlannedMerge]:
    """The target, with the columns that the statement adds, and the planned change. Nothing is written.

    A key upsert (the condition is equality on the identifier fields, matched rows are updated whole, others inserted)
    may find replaced rows by key; any other MERGE is one SELECT with a join, as is one into a table with identity
    columns, whose values stay. With `gives_identities` rows have theirs. Raises AnalysisError and NotFoundError.
    """
    require_strict_policy(spark)
    target = load_target(environment, spark, statement.table, branch)
    given = _given_rows(environment, spark, target, statement)
    if given is not None:
        return target, given
    source = lowered_query(spark, source_select(statement))
    exact = is_case_sensitive(spark)
    if statement.evolving:
        target = grown(environment, target, changes_for_merge(target, statement, source), case_sensitive=exact)
    schema = target.table.metadata.schema()
    by_place = has_order_or_kinds(target, source.columns)
    coerces = not by_place and coerces_structs(spark) and _has_structs(schema)
    generated = generated_names(schema, target.table.metadata.properties)
    counted = identity_names(schema, target.table.metadata.properties)
    identities = frozenset() if gives_identities else counted
    bound = bind_merge(
        statement, schema, source.columns, generated=generated, identities=identities, case_sensitive=exact
    )
    upsert = None if coerces or (counted and not by_place) else key_upsert(bound)
    if upsert is None and by_place and identities:
        _require_no_upsert(statement, target, source.columns, generated | identities, case_sensitive=exact)
    isolation = MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    if upsert is None or not keys_compare_as_stored(bound, source):
        return target, _planned_join(environment, target, bound, source, coerces=coerces)
    if by_place:
        return target, _RowsByKey(lower_upsert_source(upsert, own_kind_column(target)), isolation)
    return target, _planned_upsert(environment, spark, target, upsert, source)


def _require_no_upsert(
    statement: Merge, target: Target, columns: Sequence[str], computed: frozenset[str], *, case_sensitive: bool
) -> None:
    """Raises AnalysisError IDENTITY_MERGE_REFUSED for a MERGE that replaces rows by key, but for the values of its
    identity columns, which a row keeps: as a join it would pay no heed to the order or the kinds of the rows."""
    schema = target.table.metadata.schema()
    bound = bind_merge(statement, schema, columns, generated=computed, case_sensitive=case_sensitive)
    if key_upsert(bound) is not None:
        kinds = any(name.lower() == ROW_KIND.name for name in columns) or own_kind_column(target) is not None
        reason = "have row kinds" if kinds else "are ordered by the table's sequence field"
        raise AnalysisError("IDENTITY_MERGE_REFUSED", name=target.name, reason=reason)


def _given_rows(environment: Environment, spark: SparkSession, target: Target, statement: Merge) -> _GivenRows | None:
    if statement.evolving or not is_ansi(spark):
        return None
    literals = literal_source(statement)
    if literals is None or has_order_or_kinds(target, literals.names):
        return None
    exact = is_case_sensitive(spark)
    upsert = key_upsert(bind_merge(statement, target.table.metadata.schema(), literals.names, case_sensitive=exact))
    rows = None if upsert is None else merged_literals(target, upsert, literals)
    plan = None if rows is None else plan_of_given(environment, target)
    if upsert is None or rows is None or plan is None:
        return None
    isolation = MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    return _GivenRows(plan, rows, lower_upsert_source(upsert), isolation)


def _planned_upsert(
    environment: Environment, spark: SparkSession, target: Target, upsert: KeyUpsert, source: DataFrame
) -> KeyedChange:
    isolation = MERGE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    lowered = lower_upsert_source(upsert)
    joined, one_copy = (
        lower_resolved_upsert(upsert, target.relation, row_ids=has_row_ids(target), one_copy=one_copy)
        for one_copy in (False, True)
    )
    change = RowChange(joined, isolation, distinct_keys=True, scope=OWN_KEYS, one_copy=one_copy)
    rows = cache(lambda: lowered_query(spark, lowered))

    def batch() -> ChangeBatch:
        log_lowered(lowered)
        return plain_batch(target, rows())

    size = size_when_asked(environment, lambda: source)
    facts = key_facts_of(environment, target, size)
    return KeyedChange(plan_change(facts, environment.planning), batch, change, rows, size)


def _planned_join(
    environment: Environment, target: Target, bound: BoundMerge, source: DataFrame, *, coerces: bool
) -> PlannedChange:
    metadata = target.table.metadata
    only_inserts = all(clause.kind == "not matched" for clause in bound.merge.clauses)
    only_deletes = all(clause.action == "delete" for clause in bound.merge.clauses)
    expected = estimate(source, environment.planning.thresholds.driver_bytes)
    lowered, names, shows_matches, kept = lower_merge(
        bound,
        target.relation,
        row_ids=has_row_ids(target) and not only_inserts,
        narrows=expected.is_broadcast,
        counts_matches=MERGE_CARDINALITY.of(metadata.properties) == "matches",
        coerces_structs=coerces,
    )
    isolation = MERGE_ISOLATION_LEVEL.of(metadata.properties)
    change = RowChange(
        lowered,
        isolation,
        names,
        shows_matches=shows_matches,
        scope=_scope(bound),
        kept_columns=kept,
        sent_bytes=0 if expected.is_broadcast else environment.planning.thresholds.driver_bytes,
    )
    facts = facts_of(target, MERGE_MODE, None if only_deletes else kept)
    # Expect one matched row for each source row, and for WHEN NOT MATCHED BY SOURCE all other rows.
    beside = 0 if _clauses_need_source(bound.merge) else facts.target.rows
    facts = replace(
        facts,
        expected_rows=expected.rows + beside,
        is_guess=not expected.is_broadcast,
        keeps_columns=bool(kept) and not only_deletes,
        only_inserts=only_inserts,
        only_deletes=only_deletes,
        shuffles_source=not expected.is_broadcast,
    )
    return PlannedChange(plan_change(facts, environment.planning), change, facts.expected_rows)


def _clauses_need_source(statement: Merge) -> bool:
    return not any(clause.kind == "not matched by source" for clause in statement.clauses)


def _scope(bound: BoundMerge) -> ConflictScope:
    """The concurrent commits that a MERGE conflicts with.

    A row that another commit adds conflicts by its key alone if every source row without a match is inserted. A row
    that another commit removes conflicts if a source row had matched it without changing it, as that source row would
    now be inserted.
    """
    statement = bound.merge
    inserts = any(clause.kind == "not matched" for clause in statement.clauses)
    keyed = compares_keys(bound)
    return ConflictScope(
        added_by_key=keyed and _clauses_need_source(statement) and has_unconditional_clause(statement, "not matched"),
        removed_if_changed=not inserts or has_unconditional_clause(statement, "matched"),
        keys_unique=keyed and inserts,
    )


def _has_structs(schema: Schema) -> bool:
    return any(isinstance(schema.field(id).type, StructType) for id in schema.field_ids)


def keys_compare_as_stored(bound: BoundMerge, source: DataFrame) -> bool:
    """Whether source columns equal the target's keys in the condition exactly if they do after the cast to the column's
    type; for the keys that it equates with columns."""
    types = {bound.source.column(field.name): field.dataType.simpleString() for field in source.schema.fields}
    columns = SparkStruct.fromJson(dict(schema_to_spark(bound.schema)))
    keys = {bound.schema.column_path(id) for id in bound.schema.identifier_field_ids}
    for name, text in bound.equal_columns:
        given, stored = types.get(text), columns[name].dataType.simpleString()
        if (name,) in keys and given != stored and not {given, stored} <= _INTEGRAL:
            return False
    return True
