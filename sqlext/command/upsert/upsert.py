"""Upsert by primary key: each source row replaces the target row with its key.

`change_batch` selects one of several rows with a key. If the table has a sequence field
(`write.upsert.sequence-field`), ways that read the old row keep it if it is newer than the new one. Equality deletes do
not: the order of commits decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.change_facts import size_when_asked
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.read_set import OWN_KEYS
from sqlext.command.change.rerun import in_either_order
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Way
from sqlext.command.plan.facts import ChangeFacts
from sqlext.command.plan.planner import plan_change, plan_distinct_keys
from sqlext.command.upsert.change_batch import ChangeBatch, change_batch
from sqlext.command.upsert.distinct_batch import rows_with_distinct_keys
from sqlext.command.upsert.equality import upsert_given
from sqlext.command.upsert.input_changelog import stores_input, write_with_changelog
from sqlext.command.upsert.key_facts import key_facts_of
from sqlext.command.upsert.keyed_change import KeyedChange
from sqlext.command.upsert.look_up import replace_given
from sqlext.command.upsert.merge_rows import engine_of, explain_merge_rows, merge_rows
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.commit.rules.sequence_field import row_order
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import UPSERT_MODE
from sqlext.spark.query.temporary_relation import named_rows
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.row_order import UNORDERED
from sqlext.sql.lowering.keyed_changes import lower_keyed_changes

NAME_COLUMNS = "name columns in the option equality-field-columns"


def upsert(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    rows: DataFrame,
    *,
    isolation: str = SNAPSHOT,
    in_order: bool = False,
) -> Counts:
    """Writes and commits the rows by key: combined by the table's merge engine, or else replacing stored rows.

    The rows are in the table's columns, optionally followed by `ROW_KIND`. See `change_batch` for `in_order`. Raises
    AnalysisError if the table cannot take rows by key, DataError for rows that it does not accept or of which none of a
    key is the last.
    """
    require_upsertable(target)

    source = rows

    def write(target: Target, rows: DataFrame) -> Counts:
        engine = engine_of(target)
        if engine is not None:
            return merge_rows(environment, spark, target, engine, rows, isolation=isolation, in_order=in_order)
        return replace_by_key(
            environment, spark, target, rows, isolation=isolation, in_order=in_order, evaluated_from=source
        )

    if stores_input(target):
        return write_with_changelog(environment, spark, target, rows, write, in_order=in_order)
    return write(target, rows)


def replace_by_key(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    rows: DataFrame,
    *,
    isolation: str = SNAPSHOT,
    in_order: bool = False,
    evaluated_from: DataFrame | None = None,
) -> Counts:
    """Replaces the target row of each key by the source row, as planned; `evaluated_from` is the query of rows that are
    a checkpoint. Raises as `upsert`."""
    require_upsertable(target)
    source = rows if evaluated_from is None else evaluated_from
    batch = cache(lambda: change_batch(target, rows, in_order=in_order))
    size = size_when_asked(environment, lambda: batch().rows)
    facts = key_facts_of(environment, target, size, in_order=in_order)
    own = plan_distinct_keys(facts, environment.planning)
    collected = None if own is None else rows_with_distinct_keys(target, rows, own.writer.most_bytes)
    if collected is not None:
        if own is not None and own.way is Way.EQUALITY:
            return upsert_given(environment, target, collected, source=source)
        with in_either_order(environment, target):
            return replace_given(environment, target, collected, rows, isolation)
    with (
        _planned(environment, target, batch(), facts, isolation, source) as change,
        in_either_order(environment, target),
    ):
        return change.carry_out(environment, spark, target)


def explain_upsert(environment: Environment, spark: SparkSession, target: Target, rows: DataFrame) -> Explanation:
    """How `upsert` would write the rows. Raises as `upsert`, except for errors of the rows."""
    require_upsertable(target)
    engine = engine_of(target)
    if engine is not None:
        return explain_merge_rows(environment, spark, target, engine, rows, isolation=SNAPSHOT)
    return explain_replace_by_key(environment, spark, target, rows)


def explain_replace_by_key(
    environment: Environment, spark: SparkSession, target: Target, rows: DataFrame
) -> Explanation:
    """How `replace_by_key` would write the rows."""
    require_upsertable(target)
    batch = change_batch(target, rows)
    facts = key_facts_of(environment, target, size_when_asked(environment, lambda: batch.rows))
    with _planned(environment, target, batch, facts, SNAPSHOT, batch.rows) as change:
        return change.explained(environment, spark, target)


def require_upsertable(target: Target, otherwise: str = f"{NAME_COLUMNS}, or add rows with INSERT") -> None:
    """Raises AnalysisError for a table without a key, whose message offers `otherwise`, UnsupportedError for a nested
    key."""
    schema = target.table.metadata.schema()
    if not schema.identifier_field_ids:
        raise AnalysisError("UPSERT_WITHOUT_KEY", name=target.name, otherwise=otherwise)
    for id in schema.identifier_field_ids:
        if len(schema.column_path(id)) > 1:
            raise UnsupportedError("UPSERT_NESTED_KEY", name=target.name, column=schema.column_name(id))


@contextmanager
def _planned(
    environment: Environment,
    target: Target,
    batch: ChangeBatch,
    facts: ChangeFacts,
    isolation: str,
    source: DataFrame,
) -> Iterator[KeyedChange]:
    """The change with its plan. The SELECT of its join can be run inside the block."""
    plan = plan_change(facts, environment.planning)
    assert facts.key is not None
    size = facts.key.size
    if plan.way is Way.EQUALITY:
        yield KeyedChange(plan, lambda: batch, None, lambda: source, size)
        return
    with named_rows(batch.rows, environment.rng) as relation:
        yield KeyedChange(plan, lambda: batch, _joined(target, batch, relation, isolation), lambda: batch.rows, size)


def _joined(target: Target, batch: ChangeBatch, relation: str, isolation: str) -> RowChange:
    """The change as a join of `relation`, which has the batch's rows, with the target."""
    metadata = target.table.metadata
    by_equality = UPSERT_MODE.of(metadata.properties) == Way.EQUALITY.value
    compared = UNORDERED if by_equality else row_order(metadata.schema(), metadata.properties, str(target.name))
    lowered, one_copy = (
        lower_keyed_changes(
            relation,
            target.relation,
            metadata.schema(),
            one_row_a_key=batch.one_row_a_key,
            one_copy=one_copy,
            kinds=GIVEN_KIND in batch.rows.columns,
            sequence=compared,
            row_ids=has_row_ids(target),
        )
        for one_copy in (False, True)
    )
    scope = replace(OWN_KEYS, removed_if_changed=not compared)
    return RowChange(
        lowered, isolation, distinct_keys=True, keeps_keys=True, scope=scope, one_copy=one_copy, gives_rows=True
    )
