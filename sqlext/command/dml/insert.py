"""INSERT INTO, UPSERT INTO and INSERT OVERWRITE: writes the rows of a query, cast by Spark's store assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.change_facts import source_size
from sqlext.command.change.enforced_key import is_enforced
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.rerun import in_either_order
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.change.schema_evolution import grown_for_rows, merges_schema
from sqlext.command.dml.literal_insert import append_literals, literal_rows
from sqlext.command.dml.literal_upsert import plan_of_given, takes_whole_rows, upsert_literals
from sqlext.command.dml.on_conflict import explain_on_conflict, insert_on_conflict, require_key_named
from sqlext.command.dml.row_write import explained_source, write_rows_to
from sqlext.command.dml.static_partition import replaced_partition, require_constants, static_partition
from sqlext.command.dml.write_mode import WriteMode, asked_mode, in_tasks, is_upsert, with_options
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.outcome import Counts, Outcome
from sqlext.command.plan.change_plan import ChangePlan, Way
from sqlext.command.plan.planner import plan_insert
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.equality_columns import told_apart_by
from sqlext.command.upsert.upsert import explain_upsert, require_upsertable, upsert
from sqlext.errors import AnalysisError
from sqlext.spark.catalog.frame_options import WriteOptions, require_not_contradicted, write_options
from sqlext.spark.query.lowered_sql import log_lowered, lowered_expression, lowered_query, rows_for_columns
from sqlext.spark.query.store_assignment import align
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.name_case import name_key
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UnknownType
from sqlext.sql.binding import resolve_column
from sqlext.sql.default_keyword import mentions_default
from sqlext.sql.literal import write_default_text
from sqlext.sql.statements.statement import Insert, OnConflict


@dataclass(frozen=True, slots=True)
class _BoundInsert:
    """A statement with its names and options resolved.

    `upserts`: rows replace the rows with their keys. `evolving`: the source may add columns. `query` is the source.
    `columns` are the target's columns by position in the source; empty if columns are matched by name.
    """

    target: Target
    upserts: bool
    evolving: bool
    query: str
    columns: Sequence[NestedField]


@dataclass(frozen=True, slots=True)
class _Source:
    """The statement's rows in the columns of `target`, including those that the statement adds to it.

    Rows of an upsert may have `ROW_KIND` as last column.
    """

    target: Target
    rows: DataFrame


class _PlannedInsert(Protocol):
    """A planned INSERT or UPSERT."""

    def carry_out(self, environment: Environment, spark: SparkSession) -> Counts:
        """Writes and commits the rows."""
        ...

    def explained(self, environment: Environment, spark: SparkSession) -> Explanation:
        """The output of EXPLAIN. Nothing is written."""
        ...


@dataclass(frozen=True, slots=True)
class _Literals:
    """Literal rows in the table's columns, which the driver writes without Spark."""

    plan: ChangePlan
    target: Target
    rows: pa.Table
    upserts: bool
    source: Callable[[], _Source]

    def carry_out(self, environment: Environment, spark: SparkSession) -> Counts:
        if self.upserts:
            with in_either_order(environment, self.target):
                return upsert_literals(environment, self.target, self.plan, self.rows)
        return Counts(inserted=append_literals(environment, spark, self.target, self.rows))

    def explained(self, environment: Environment, spark: SparkSession) -> Explanation:
        return Explanation(self.target, self.plan, self.source().rows, expected_rows=self.rows.num_rows)


@dataclass(frozen=True, slots=True)
class _OnConflict:
    """INSERT … ON CONFLICT."""

    statement: Insert
    conflict: OnConflict
    source: _Source

    def carry_out(self, environment: Environment, spark: SparkSession) -> Counts:
        target, rows = self.source.target, self.source.rows
        return insert_on_conflict(environment, spark, target, self.statement, self.conflict, rows)

    def explained(self, environment: Environment, spark: SparkSession) -> Explanation:
        target, rows = self.source.target, self.source.rows
        return explain_on_conflict(environment, spark, target, self.statement, self.conflict, rows)


@dataclass(frozen=True, slots=True)
class _Upsert:
    """An upsert of rows."""

    source: _Source

    def carry_out(self, environment: Environment, spark: SparkSession) -> Counts:
        return upsert(environment, spark, self.source.target, self.source.rows)

    def explained(self, environment: Environment, spark: SparkSession) -> Explanation:
        return explain_upsert(environment, spark, self.source.target, self.source.rows)


@dataclass(frozen=True, slots=True)
class _Rows:
    """An append or an overwrite."""

    plan: ChangePlan
    source: _Source
    mode: WriteMode

    def carry_out(self, environment: Environment, spark: SparkSession) -> Counts:
        rows = in_tasks(self.source.rows, environment.planning.tasks)
        return Counts(inserted=write_rows_to(environment, self.source.target, rows, self.mode, self.plan.writer))

    def explained(self, environment: Environment, spark: SparkSession) -> Explanation:
        target, rows, replaced = self.source.target, self.source.rows, self.mode.replaced
        expected = source_size(environment, rows).rows
        replaced_rows = None if replaced is None else replaced.row_filter
        source = explained_source(environment, target, rows, self.plan.writer)
        return Explanation(target, self.plan, rows, expected_rows=expected, replaced=replaced_rows, source=source)


def insert(environment: Environment, spark: SparkSession, statement: Insert) -> Outcome:
    """Runs the statement. The outcome has one row of counts."""
    options = write_options(statement.options)
    writing = environment.writing_in(options.parallelism)
    target, planned = _planned_insert(writing, spark, statement, options)
    counts = planned.carry_out(writing, spark)
    care_after_commit(environment, spark, target)
    return Outcome([counts.row()])


def explain_insert(environment: Environment, spark: SparkSession, statement: Insert) -> Explanation:
    """The plan of the statement. Nothing is written."""
    _, planned = _planned_insert(environment, spark, statement, write_options(statement.options))
    return planned.explained(environment, spark)


def _planned_insert(
    environment: Environment, spark: SparkSession, statement: Insert, options: WriteOptions
) -> tuple[Target, _PlannedInsert]:
    """The target, with the columns that the statement adds, and the planned insert."""
    statement = _as_asked(statement, options)
    bound = _bound(environment, spark, statement, options)
    literals = _literals(environment, spark, statement, bound)
    if literals is not None:
        return literals.target, literals
    source = _source(environment, spark, statement, bound)
    target = source.target
    if statement.conflict is not None:
        return target, _OnConflict(statement, statement.conflict, source)
    if bound.upserts:
        return target, _Upsert(source)
    mode = _mode(spark, statement, target, options)
    plan = plan_insert(environment.planning, Way(mode.mode), is_enforced=is_enforced(target.table.metadata))
    return target, _Rows(plan, source, mode)


def _literals(
    environment: Environment, spark: SparkSession, statement: Insert, bound: _BoundInsert
) -> _Literals | None:
    """The literal rows of the statement and their plan; None if Spark is needed to write them."""
    target, upserts = bound.target, bound.upserts
    if bound.evolving or (upserts and not takes_whole_rows(target)):
        return None
    rows = literal_rows(spark, statement, bound.query, target)
    if rows is None:
        return None
    if upserts:
        plan = plan_of_given(environment, target)
    else:
        plan = plan_insert(environment.planning, is_given=True, is_enforced=is_enforced(target.table.metadata))
    if plan is None or not plan.writer.given:
        return None
    return _Literals(plan, target, rows, upserts, lambda: _source(environment, spark, statement, bound))


def _as_asked(statement: Insert, options: WriteOptions) -> Insert:
    """The statement, as an overwrite if the option `overwrite-enabled` is true.

    Raises AnalysisError UPSERT_CONTRADICTED if an option contradicts UPSERT or ON CONFLICT.
    """
    if statement.upsert:
        require_not_contradicted(options, "UPSERT", "Write INSERT, or leave the option out")
    if statement.conflict is not None:
        require_not_contradicted(options, "ON CONFLICT", "Leave the option out, or ON CONFLICT", upserts=False)
    return replace(statement, overwrite=True) if options.overwrite else statement


def _bound(environment: Environment, spark: SparkSession, statement: Insert, options: WriteOptions) -> _BoundInsert:
    """The statement with its names and options resolved. Raises AnalysisError, and as `load_target`."""
    target = with_options(load_target(environment, spark, statement.table, options.branch), options)
    target = told_apart_by(target, options.equality_columns)
    if statement.conflict is not None:
        require_key_named(target, statement.conflict, case_sensitive=is_case_sensitive(spark))
    exact = is_case_sensitive(spark)
    require_constants(spark, static_partition(statement, target.table.metadata, case_sensitive=exact))
    if statement.upsert:
        require_upsertable(target)
    by_key = statement.upsert or statement.conflict is not None
    upserts = by_key or is_upsert(target, options, overwrites=statement.overwrite)
    evolving = statement.evolving or merges_schema(spark, options.merge_schema)
    schema, wide = target.table.metadata.schema(), evolving or upserts
    columns = _value_columns(statement, schema, evolving=wide, exact=exact)
    query = _query(statement)
    log_lowered(query)
    return _BoundInsert(target, upserts, evolving, query, columns)


def _source(environment: Environment, spark: SparkSession, statement: Insert, bound: _BoundInsert) -> _Source:
    """The statement's rows. Raises AnalysisError for unknown columns and for values of a wrong type."""
    target, upserts, evolving = bound.target, bound.upserts, bound.evolving
    rows = _rows(spark, statement, bound)
    kind = row_kind_column(target, statement.columns or rows.columns) if upserts else None
    rows, by_name = _in_columns(rows, statement, target, evolving=evolving, kind=kind)
    if evolving:
        target = grown_for_rows(environment, spark, target, rows, by_name=by_name)
    if upserts:
        return _Source(target, align_changes(spark, rows, target, by_name=by_name, kind=kind))
    aligned = align(spark, rows, statement.table.parts, target.table.metadata.schema(), by_name=by_name)
    return _Source(target, aligned)


def _rows(spark: SparkSession, statement: Insert, bound: _BoundInsert) -> DataFrame:
    """The query's rows. Without a column list, the row-kind column may be at any position."""
    if not bound.columns or not mentions_default(bound.query):
        return lowered_query(spark, bound.query)
    beside = ROW_KIND.name if bound.upserts and statement.columns is None else None
    return rows_for_columns(spark, bound.query, [write_default_text(column) for column in bound.columns], beside)


def _value_columns(statement: Insert, schema: Schema, *, evolving: bool, exact: bool) -> Sequence[NestedField]:
    """The columns of the source's values by position; none if matched by name. `exact`: names are case-sensitive."""
    if statement.by_name:
        return ()
    static = {name_key(name, exact) for name, value in statement.static_partition if value is not None}
    listed = statement.columns or [field.name for field in schema.fields if name_key(field.name, exact) not in static]
    if not evolving:
        return [resolve_column(schema, name, case_sensitive=exact) for name in listed]
    return [schema.column(name, exact) or NestedField(0, name, UnknownType()) for name in listed]


def _query(statement: Insert) -> str:
    """The source with the WITH clause before the INSERT; the source may have its own."""
    source = statement.source.text
    return source if statement.ctes is None else f"{statement.ctes.text} ({source})"


def _in_columns(
    rows: DataFrame, statement: Insert, target: Target, *, evolving: bool, kind: str | None
) -> tuple[DataFrame, bool]:
    """The rows named after the columns that they are written to, and whether columns are matched by name.

    The row-kind column `kind` and, if `evolving`, columns that the table lacks keep their names.
    """
    schema = target.table.metadata.schema()
    exact = is_case_sensitive(rows.sparkSession)
    static = static_partition(statement, target.table.metadata, case_sensitive=exact)
    if statement.columns is None and not static:
        return rows, statement.by_name
    if not statement.by_name:
        given = [value.field.name for value in static]
        names = _given_columns(rows, statement, schema, given, evolving=evolving, exact=exact, kind=kind)
        rows = rows.toDF(*names)
    for value in static:
        rows = rows.withColumn(value.field.name, lowered_expression(value.text))
    return rows, True


def _given_columns(
    rows: DataFrame,
    statement: Insert,
    schema: Schema,
    static: Sequence[str],
    *,
    evolving: bool,
    exact: bool,
    kind: str | None,
) -> list[str]:
    if statement.columns is None:
        names = [field.name for field in schema.fields if field.name not in static]
        names += rows.columns[len(names) :] if evolving else []
        if kind is not None and kind not in names:
            names.insert(rows.columns.index(kind), kind)
    else:
        listed = statement.columns
        names = [name if name == kind else _column_name(schema, name, exact, evolving=evolving) for name in listed]
    if len(names) != len(rows.columns):
        raise AnalysisError(
            "INSERT_COLUMN_ARITY_MISMATCH",
            name=statement.table,
            reason="too many data columns" if len(rows.columns) > len(names) else "not enough data columns",
            columns=", ".join(names),
            values=", ".join(rows.columns),
        )
    return names


def _column_name(schema: Schema, name: str, exact: bool, *, evolving: bool) -> str:
    if evolving and schema.column(name, exact) is None:
        return name
    return resolve_column(schema, name, case_sensitive=exact).name


def _mode(spark: SparkSession, statement: Insert, target: Target, options: WriteOptions) -> WriteMode:
    """The mode. As in Spark, a static overwrite replaces the table or the named partition, a dynamic one the partitions
    of the new rows."""
    if not statement.overwrite:
        return WriteMode("append")
    if options.overwrite is not None:
        return WriteMode(asked_mode("overwrite", options, target))
    dynamic = (spark.conf.get("spark.sql.sources.partitionOverwriteMode") or "static").lower() == "dynamic"
    if dynamic and not target.table.metadata.spec().is_unpartitioned:
        return WriteMode("overwrite partitions")
    static = static_partition(statement, target.table.metadata, case_sensitive=is_case_sensitive(spark))
    return WriteMode("overwrite where", replaced_partition(spark, static, target)) if static else WriteMode("overwrite")
