"""Upserts into a table whose merge engine combines new rows with each other and with the stored row of their key.

One SELECT reads the stored rows, as for a MERGE: the change is written in the same ways and conflicts with the same
commits. Since the result is correct in any order of two such statements, one that conflicts runs again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

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
from sqlext.command.upsert.change_batch import (
    arrival,
    arrival_names,
    has_kinds,
    kept_changes,
    null_in_key,
    stored_columns,
)
from sqlext.commit.rules.merge_rules import merge_engine
from sqlext.properties import MERGE_MODE
from sqlext.spark.query.literal_plan import are_literals
from sqlext.spark.query.temporary_relation import named_rows
from sqlext.spec.merge_engine import MergeEngine
from sqlext.spec.row_kind import GIVEN_KIND, ROW_KIND
from sqlext.sql.lowering.merged_rows import SourceRows, lower_merged_rows
from sqlext.write.refused_rows import NULL_KEY, REPEATED_KEY, RETRACTED_KEY, TIED_KEY, UNKNOWN_ROW_KIND
from sqlext.write.row_operation import DELETE, UPDATE

_OPERATION = "__operation"


def engine_of(target: Target) -> MergeEngine | None:
    """The table's merge engine; None if the last row replaces the others. Raises as `merge_engine`."""
    metadata = target.table.metadata
    return merge_engine(metadata.schema(), metadata.properties, str(target.name))


def merge_rows(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    engine: MergeEngine,
    rows: DataFrame,
    *,
    isolation: str,
    in_order: bool,
) -> Counts:
    """Writes and commits the rows, which are in the table's columns, optionally followed by `ROW_KIND`.

    With `in_order` rows of one task, or of one file, are ordered; literals always are. Raises DataError for rows that
    the engine does not accept, or whose order matters and is unknown; StaleRead if another commit changed a row with
    one of the keys, while reruns are left.
    """
    with (
        _planned(environment, target, engine, rows, isolation, in_order=in_order) as planned,
        in_either_order(environment, target),
    ):
        return planned.carry_out(environment, spark, target)


def explain_merge_rows(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    engine: MergeEngine,
    rows: DataFrame,
    *,
    isolation: str,
) -> Explanation:
    """How `merge_rows` would write the rows."""
    with _planned(environment, target, engine, rows, isolation, in_order=False) as planned:
        return planned.explained(environment, spark, target)


@contextmanager
def _planned(
    environment: Environment, target: Target, engine: MergeEngine, rows: DataFrame, isolation: str, *, in_order: bool
) -> Iterator[PlannedChange]:
    """The change with its plan. Its SELECT can be run inside the block."""
    schema = target.table.metadata.schema()
    if engine.is_ordered and not in_order and are_literals(rows):
        rows, in_order = rows.coalesce(1), True
    in_order = in_order and engine.is_ordered
    kinds = has_kinds(rows, schema)
    taken = [field.name for field in schema.fields]
    with named_rows(_tagged(target, engine, rows, in_order=in_order), environment.rng) as relation:
        lowered = lower_merged_rows(
            SourceRows(relation, kinds, arrival_names(taken) if in_order else None),
            target.relation,
            schema,
            engine,
            target.name,
            tie=TIED_KEY if engine.sequence else REPEATED_KEY,
            row_ids=has_row_ids(target),
        )
        change = RowChange(lowered, isolation, keeps_keys=True, scope=OWN_KEYS)
        facts = replace(facts_of(target, MERGE_MODE), expected_rows=source_size(environment, rows).rows)
        yield PlannedChange(plan_change(facts, environment.planning), change, facts.expected_rows)


def _tagged(target: Target, engine: MergeEngine, rows: DataFrame, *, in_order: bool) -> DataFrame:
    """The rows as `SourceRows` needs them, without those that the engine ignores."""
    schema = target.table.metadata.schema()
    taken = [field.name for field in schema.fields]
    kinds = has_kinds(rows, schema)
    rows = kept_changes(target, rows)
    kind = F.col(ROW_KIND.name) if kinds else F.lit("+U")
    operation = (
        F.when(F.coalesce(~kind.isin("+I", "-U", "+U", "-D"), F.lit(True)), _code(UNKNOWN_ROW_KIND))
        .when(null_in_key(schema), _code(NULL_KEY))
        .when(kind.isin("+I", "+U"), _code(UPDATE))
        .when(kind == "-U", _code(_before_update(engine)))
        .otherwise(_code(_deletion(engine)))
    )
    given_kind = [kind.alias(GIVEN_KIND)] if kinds else []
    tagged = rows.select(
        operation.alias(_OPERATION),
        *map(F.expr, stored_columns(schema)),
        *given_kind,
        *(arrival(taken, rows) if in_order else ()),
    )
    return tagged.where(f"{_OPERATION} IS NOT NULL")


def _deletion(engine: MergeEngine) -> int | None:
    """The operation for a row of kind `-D`; None if it is ignored."""
    return DELETE if engine.removes_on_delete else _retraction(engine)


def _before_update(engine: MergeEngine) -> int | None:
    """The operation for a row of kind `-U`, which is no delete; None if it is ignored."""
    return None if engine.removes_on_delete and not engine.takes_retractions else _retraction(engine)


def _retraction(engine: MergeEngine) -> int | None:
    if all(one.ignores_retractions for one in engine.columns):
        return None
    return DELETE if engine.takes_back else RETRACTED_KEY


def _code(number: int | None) -> Column:
    return F.lit(number).cast("tinyint")
