"""The command that runs each statement, and each write of the shim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.batch_statement import as_batch, unless_created_before, unless_ran_before
from sqlext.command.change.destination import written_table
from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.compaction.compaction import COMPACTED_COLUMNS
from sqlext.command.ddl.alter_constraint import add_constraint, drop_constraint
from sqlext.command.ddl.alter_key import add_primary_key, drop_primary_key
from sqlext.command.ddl.alter_table import alter_columns, alter_partitioning, alter_write_order
from sqlext.command.ddl.create_table import create_of_data_frame, create_table
from sqlext.command.ddl.create_table_like import create_table_like
from sqlext.command.ddl.describe_function import DESCRIBE_FUNCTION_COLUMNS, describe_function
from sqlext.command.ddl.reference_change import create_reference, drop_reference
from sqlext.command.ddl.shallow_clone import shallow_clone
from sqlext.command.ddl.show_create_table import show_create_table
from sqlext.command.ddl.undrop import undrop
from sqlext.command.dml.data_frame_write import write_data_frame
from sqlext.command.dml.delete import delete
from sqlext.command.dml.explain import explain
from sqlext.command.dml.explain_commit import EXPLAIN_COMMIT_COLUMNS, explain_commit
from sqlext.command.dml.insert import insert
from sqlext.command.dml.merge import merge
from sqlext.command.dml.preview import PREVIEW_SUMMARY_COLUMNS, preview, preview_columns, preview_summary
from sqlext.command.dml.restore import RESTORE_COLUMNS, restore
from sqlext.command.dml.returning import returned_columns, returning
from sqlext.command.dml.transaction_control import control_transaction
from sqlext.command.dml.truncate import truncate
from sqlext.command.dml.update import update
from sqlext.command.environment import Environment
from sqlext.command.maintenance.analyze import analyze_table
from sqlext.command.maintenance.optimize import optimize
from sqlext.command.maintenance.vacuum import VACUUM_COLUMNS, vacuum
from sqlext.command.outcome import Counts, Outcome, count_schema, struct
from sqlext.command.view.alter_view import alter_view_properties, drop_view, rename_view
from sqlext.command.view.create_view import alter_view_query, create_view
from sqlext.command.view.show_views import SHOW_VIEWS_COLUMNS, show_views
from sqlext.command.view.temporary_view import require_no_temporary_view
from sqlext.errors import CommitConflict, SqlextError, ValidationConflict
from sqlext.procedure.call import call
from sqlext.procedure.described_procedures import (
    DESCRIBE_PROCEDURE_COLUMNS,
    SHOW_PROCEDURES_COLUMNS,
    describe_procedure,
    show_procedures,
)
from sqlext.procedure.registry import find_procedure
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.cached_tables import drop_caches, renew_caches
from sqlext.spark.session.refused_commits import RefusedCommit, statement_text
from sqlext.spark.session.session_settings import session_id
from sqlext.spark.session.shown_progress import ShownProgress
from sqlext.sql.parser import AnyStatement, may_be_ours, parse
from sqlext.sql.statement_title import statement_title
from sqlext.sql.statements.clone_statement import ShallowClone
from sqlext.sql.statements.maintenance_statement import AnalyzeTable, Optimize, Vacuum
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.routine_statement import (
    DescribeFunction,
    DescribeProcedure,
    RoutineStatement,
    ShowProcedures,
)
from sqlext.sql.statements.row_level_plan import planned_statement
from sqlext.sql.statements.statement import (
    AddConstraint,
    AddPrimaryKey,
    AlterColumns,
    AlterPartitioning,
    AlterWriteOrder,
    Call,
    CreateReference,
    CreateTable,
    CreateTableLike,
    Delete,
    DropConstraint,
    DropPrimaryKey,
    DropReference,
    Explain,
    Insert,
    Merge,
    Preview,
    Restore,
    ShowCreateTable,
    TableName,
    Truncate,
    Undrop,
    Update,
)
from sqlext.sql.statements.table_resolution import SPARK_CATALOG
from sqlext.sql.statements.transaction_statement import (
    BeginTransaction,
    CommitTransaction,
    ExplainCommit,
    ReleaseSavepoint,
    RollBackTransaction,
    SetSavepoint,
    TransactionStatement,
)
from sqlext.sql.statements.view_statement import (
    AlterViewProperties,
    AlterViewQuery,
    CreateView,
    DropView,
    RenameView,
    ShowViews,
)
from sqlext.sql.syntax.options_hint import with_versions

_COMMANDS: Mapping[type, Any] = {
    AddConstraint: add_constraint,
    AddPrimaryKey: add_primary_key,
    BeginTransaction: control_transaction,
    CommitTransaction: control_transaction,
    ReleaseSavepoint: control_transaction,
    RollBackTransaction: control_transaction,
    SetSavepoint: control_transaction,
    AlterColumns: alter_columns,
    AlterPartitioning: alter_partitioning,
    AlterViewProperties: alter_view_properties,
    AlterViewQuery: alter_view_query,
    AlterWriteOrder: alter_write_order,
    AnalyzeTable: analyze_table,
    CreateTable: create_table,
    CreateTableLike: create_table_like,
    ShallowClone: shallow_clone,
    CreateView: create_view,
    Delete: delete,
    Explain: explain,
    DropConstraint: drop_constraint,
    DropPrimaryKey: drop_primary_key,
    Call: call,
    CreateReference: create_reference,
    DropReference: drop_reference,
    DescribeFunction: describe_function,
    DescribeProcedure: describe_procedure,
    DropView: drop_view,
    ExplainCommit: explain_commit,
    Insert: insert,
    Merge: merge,
    Optimize: optimize,
    RenameView: rename_view,
    Restore: restore,
    Undrop: undrop,
    ShowCreateTable: show_create_table,
    ShowProcedures: show_procedures,
    ShowViews: show_views,
    Truncate: truncate,
    Update: update,
    Vacuum: vacuum,
}

_WITHOUT_ANSWER = (
    AddConstraint,
    AddPrimaryKey,
    AlterColumns,
    AlterPartitioning,
    AlterViewProperties,
    AlterViewQuery,
    AlterWriteOrder,
    AnalyzeTable,
    CreateReference,
    CreateTable,
    CreateTableLike,
    CreateView,
    ShallowClone,
    DropConstraint,
    DropPrimaryKey,
    DropReference,
    DropView,
    RenameView,
    Truncate,
    Undrop,
)
# Statements that change rows or columns, so that Spark's caches of the table are stale.
_CHANGES = (
    AlterColumns | AnalyzeTable | CreateTable | Delete | Insert | Merge | Optimize | Restore | Truncate | Update
    | Vacuum
)  # fmt: skip
# Statements whose object is in the field `name`, not in `table`.
_NAMED = (
    CreateTable | CreateTableLike | ShallowClone | ShowCreateTable | CreateView | AlterViewQuery | AlterViewProperties
    | RenameView | DropView | Undrop
)  # fmt: skip


class _ParserSettings(NamedTuple):
    """Spark's settings for its parser, as in `parse`."""

    escaped_string_literals: bool
    double_quoted_identifiers: bool
    case_sensitive: bool
    by_path: bool


class Dispatch:
    """Answers to the shim's parser, and the commands that it runs."""

    def __init__(self, environment: Environment, shown: ShownProgress) -> None:
        self._environment = environment
        self._shown = shown

    def parse(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{} if Spark runs the statement, else its catalog, the schema of its result, and its title.

        The schema is null if only "result schema" tells it, once the catalog is open. Text that is refused becomes a
        statement without catalog, which raises the error when it runs.
        """
        try:
            statement = self._parsed(arguments)
            if statement is None:
                return {}
            schema = None if _has_rows_of_table(statement) else _answer_schema(statement)
            return {"catalog": _catalog(statement), "schema": schema, "title": statement_title(statement)}
        except SqlextError:
            return {"catalog": None, "schema": struct([]), "title": ""}

    def _parsed(self, arguments: Mapping[str, Any]) -> AnyStatement | None:
        catalogs, current = tuple(arguments["catalogs"]), tuple(arguments["current"])
        settings = _ParserSettings(*(bool(arguments[name]) for name in _ParserSettings._fields))
        if SPARK_CATALOG not in catalogs:
            return _parse_once(arguments["text"], catalogs, current, settings)
        # What the text is depends on the tables that there are.
        holds = self._environment.within(arguments["session"]).catalogs.holds
        return _parse(arguments["text"], catalogs, current, settings, holds)

    def result_schema(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema of a statement whose result has the columns of its table, or a query that has the schema.

        Raises as `Catalogs.locate`.
        """
        statement = self._parsed(arguments)
        environment = self._environment.within(arguments["session"])
        if isinstance(statement, Returning):
            return {"query": returned_columns(environment, statement)}
        assert isinstance(statement, Preview)
        return {"schema": struct(preview_columns(environment, statement.table))}

    def first_look(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Whether "parse" is to be asked about a text, and the `text` that Spark parses otherwise.

        That is the text with versions of tables for the hints of its reads; null if it stays as it is. "parse" reports
        a hint that is refused, as Spark knows no hint there.
        """
        given = arguments["text"]
        try:
            text = with_versions(
                given,
                escaped_string_literals=arguments["escaped_string_literals"],
                double_quoted_identifiers=arguments["double_quoted_identifiers"],
            )
        except SqlextError:
            return {"may_be_ours": True, "text": None}
        return {"may_be_ours": may_be_ours(given), "text": None if text == given else text}

    def statement(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Runs the statement of `arguments`; the answer has its rows, or the name of rows that the JVM holds."""
        parsed = self._parsed(arguments)
        with self._seen(spark, statement_title(parsed)) as seen:
            return seen._statement(spark, parsed, arguments)

    def _statement(
        self, spark: SparkSession, parsed: AnyStatement | None, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        if isinstance(parsed, Preview):
            return self._preview(spark, parsed, arguments)
        if isinstance(parsed, Returning):
            return self._returning(spark, parsed, arguments)
        changed = self._environment.transactions.changed_tables(session_id(spark))
        tables = changed if isinstance(parsed, CommitTransaction) else _changed_tables(parsed)
        try:
            with self._refusals(spark, arguments["text"], tables):
                outcome = self._outcome(spark, parsed, arguments)
        finally:
            if isinstance(parsed, CommitTransaction | RollBackTransaction):
                for table in changed:
                    self._renew_caches(spark, table)
        if isinstance(parsed, _CHANGES):
            self._renew_caches(spark, (parsed.name if isinstance(parsed, CreateTable) else parsed.table).parts)
        return {"rows": [list(row) for row in outcome.rows]}

    def row_change(
        self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None
    ) -> Mapping[str, Any]:
        """Runs a MERGE, UPDATE or DELETE that the shim describes as a plan; the answer has its counts."""
        statement = planned_statement(arguments, written_table(TableHandle.decode(arguments["table"])))
        with self._seen(spark, statement_title(statement)) as seen:
            return seen._row_change(spark, statement, arguments)

    def _row_change(
        self, spark: SparkSession, statement: Merge | Update | Delete, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        with self._refusals(spark, type(statement).__name__.upper(), _changed_tables(statement)):
            outcome = self._outcome(spark, statement, arguments)
        self._renew_caches(spark, statement.table.parts)
        return {"rows": [list(row) for row in outcome.rows]}

    def create(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Creates or replaces a table with a DataFrame's rows."""
        assert rows is not None
        table = (arguments["catalog"], *arguments["namespace"], arguments["name"])
        with self._seen(spark, f"CREATE TABLE {'.'.join(table)}") as seen:
            return seen._create(spark, arguments, rows, table)

    def _create(
        self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame, table: tuple[str, ...]
    ) -> Mapping[str, Any]:
        environment = self._as_batch(self._within(spark, arguments), spark, arguments, arguments["options"])
        with self._refusals(spark, "CREATE TABLE with the rows of a DataFrame", [table]):
            unless_created_before(environment, table, lambda: create_of_data_frame(environment, spark, arguments, rows))
        self._renew_caches(spark, table)
        return {}

    def write(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Writes a DataFrame whose columns are the table's; the answer has its counts."""
        assert rows is not None
        table = written_table(TableHandle.decode(arguments["table"]))
        verb = "INSERT INTO" if arguments["mode"] == "append" else "INSERT OVERWRITE"
        with self._seen(spark, f"{verb} {table}") as seen:
            return seen._write(spark, arguments, rows, table.parts)

    def _write(
        self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame, table: tuple[str, ...]
    ) -> Mapping[str, Any]:
        environment = self._as_batch(self._within(spark, arguments), spark, arguments, arguments["options"])
        with self._refusals(spark, f"write of a DataFrame ({arguments['mode']})", [table]):
            counts = unless_ran_before(
                environment, table, lambda now: write_data_frame(now, spark, arguments, rows), Counts()
            )
        self._renew_caches(spark, table)
        return {"rows": [counts.row()]}

    @contextmanager
    def _seen(self, spark: SparkSession, title: str) -> Iterator[Dispatch]:
        """For a statement whose progress is shown, if somebody looks."""
        with self._shown.of(spark, title) as work:
            yield Dispatch(replace(self._environment, progress=work), self._shown)

    @contextmanager
    def _refusals(self, spark: SparkSession, text: str, tables: Sequence[tuple[str, ...]]) -> Iterator[None]:
        """Keeps what refuses the commit of the block, for EXPLAIN COMMIT."""
        try:
            yield
        except (ValidationConflict, CommitConflict) as conflict:
            contender = conflict.contender if isinstance(conflict, ValidationConflict) else None
            refused = RefusedCommit(
                statement_text(text),
                conflict.parameters.get("name", ""),
                tables,
                self._environment.clock(),
                conflict.condition,
                conflict.message,
                contender,
            )
            self._environment.refused.keep(session_id(spark), refused)
            raise

    def _renew_caches(self, spark: SparkSession, table: Sequence[str]) -> None:
        """Renews Spark's caches of the table; drops them while a transaction is open, as all sessions share them."""
        if self._environment.transactions.is_open(session_id(spark)):
            drop_caches(spark, table)
        else:
            renew_caches(spark, table)

    def _within(self, spark: SparkSession, arguments: Mapping[str, Any]) -> Environment:
        self._environment.transactions.require_own(session_id(spark), arguments["transaction_of"])
        return self._environment.within(session_id(spark)).planned_by(arguments["plan_settings"])

    def _as_batch(
        self, environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], options: Mapping[str, str]
    ) -> Environment:
        return as_batch(environment, session_id(spark), arguments["batch_settings"], options)

    def _outcome(self, spark: SparkSession, statement: AnyStatement | None, arguments: Mapping[str, Any]) -> Outcome:
        command: Callable[[Environment, SparkSession, Any], Outcome] = _COMMANDS[type(statement)]
        if isinstance(statement, TransactionStatement):
            return command(self._environment.planned_by(arguments["plan_settings"]), spark, statement)
        environment = self._within(spark, arguments)
        _require_table(spark, statement.statement if isinstance(statement, Explain) else statement)
        if isinstance(statement, CreateTableLike):
            require_no_temporary_view(spark, statement.source, "CREATE TABLE … LIKE")
        if isinstance(statement, ShallowClone):
            require_no_temporary_view(spark, statement.source, "CREATE TABLE … CLONE")
        if isinstance(statement, CreateTable) and statement.as_select is not None:
            environment = self._as_batch(environment, spark, arguments, {})
            unless_created_before(
                environment, statement.name.parts, lambda: create_table(environment, spark, statement)
            )
            return Outcome()
        if isinstance(statement, Delete | Insert | Merge | Truncate | Update):
            return self._changed(environment, spark, statement, arguments)
        return command(environment, spark, statement)

    def _preview(self, spark: SparkSession, statement: Preview, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        environment = self._within(spark, arguments)
        _require_table(spark, statement.statement)

        def run(within: Environment) -> Outcome:
            return self._changed(within, spark, statement.statement, arguments)

        if statement.summary:
            return {"rows": [list(row) for row in preview_summary(environment, spark, statement.table, run).rows]}
        return {"kept": preview(environment, spark, statement.table, run, arguments["result"])}

    def _returning(self, spark: SparkSession, statement: Returning, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        inner = statement.statement
        environment = self._within(spark, arguments)
        _require_table(spark, inner)
        command: Callable[[Environment, SparkSession, Any], Outcome] = _COMMANDS[type(inner)]
        options = inner.options if isinstance(inner, Insert) else {}
        environment = self._as_batch(environment, spark, arguments, options)

        def run(within: Environment) -> Outcome:
            return unless_ran_before(
                within, inner.table.parts, lambda now: command(now, spark, inner), Outcome([Counts().row()])
            )

        kept = returning(environment, spark, statement, run, arguments["result"])
        self._renew_caches(spark, inner.table.parts)
        return {"kept": kept}

    def _changed(
        self,
        environment: Environment,
        spark: SparkSession,
        statement: Delete | Insert | Merge | Truncate | Update,
        arguments: Mapping[str, Any],
    ) -> Outcome:
        """Runs a statement that changes the rows of a table."""
        command: Callable[[Environment, SparkSession, Any], Outcome] = _COMMANDS[type(statement)]
        options = statement.options if isinstance(statement, Insert) else {}
        environment = self._as_batch(environment, spark, arguments, options)
        table = statement.table.parts

        def run(now: Environment) -> Outcome:
            if isinstance(statement, Truncate) or _is_overwrite(statement):
                return command(now, spark, statement)
            return run_with_reruns(now, table, lambda again: command(again, spark, statement))

        skipped = Outcome() if isinstance(statement, Truncate) else Outcome([Counts().row()])
        return unless_ran_before(environment, table, run, skipped)


def _changed_tables(statement: AnyStatement | None) -> Sequence[tuple[str, ...]]:
    """The table that the statement changes, as parts of its name; none for a statement that has none."""
    table = getattr(statement, "name" if isinstance(statement, _NAMED) else "table", None)
    return [table.parts] if isinstance(table, TableName) else []


def _require_table(spark: SparkSession, statement: AnyStatement | None) -> None:
    """Raises for a statement that changes the rows of a temporary view."""
    if isinstance(statement, Delete | Insert | Merge | Truncate | Update):
        verb = "UPSERT" if isinstance(statement, Insert) and statement.upsert else type(statement).__name__.upper()
        require_no_temporary_view(spark, statement.table, verb)


def _has_rows_of_table(statement: AnyStatement) -> bool:
    """Whether the result has columns of the statement's table."""
    return isinstance(statement, Returning) or (isinstance(statement, Preview) and not statement.summary)


def _is_overwrite(statement: AnyStatement) -> bool:
    return isinstance(statement, Insert) and statement.overwrite


def _parse(
    text: str,
    catalogs: tuple[str, ...],
    current: tuple[str, ...],
    settings: _ParserSettings,
    holds: Callable[[tuple[str, ...]], bool] = lambda parts: True,
) -> AnyStatement | None:
    return parse(text, catalogs=catalogs, current=current, holds=holds, **settings._asdict())


_parse_once = lru_cache(maxsize=64)(_parse)


def _catalog(statement: AnyStatement) -> str | None:
    if isinstance(statement, TransactionStatement):
        return None
    if isinstance(statement, Call | RoutineStatement):
        return statement.catalog
    if isinstance(statement, ShowViews):
        return statement.namespace[0]
    return (statement.name if isinstance(statement, _NAMED) else statement.table).catalog


def _answer_schema(statement: AnyStatement) -> Mapping[str, Any]:
    if isinstance(statement, ExplainCommit):
        return struct(EXPLAIN_COMMIT_COLUMNS)
    if isinstance(statement, TransactionStatement):
        return struct([])
    if isinstance(statement, ShowCreateTable):
        return struct([("createtab_stmt", "string")])
    if isinstance(statement, Explain):
        return struct([("plan", "string")])
    if isinstance(statement, Preview):
        return struct(PREVIEW_SUMMARY_COLUMNS)
    if isinstance(statement, Call):
        return struct(find_procedure(statement.catalog, statement.procedure).columns)
    if isinstance(statement, Optimize):
        return struct(COMPACTED_COLUMNS)
    if isinstance(statement, Vacuum):
        return struct(VACUUM_COLUMNS)
    if isinstance(statement, Restore):
        return struct(RESTORE_COLUMNS)
    if isinstance(statement, ShowViews):
        return struct(SHOW_VIEWS_COLUMNS)
    if isinstance(statement, ShowProcedures):
        return struct(SHOW_PROCEDURES_COLUMNS)
    if isinstance(statement, DescribeProcedure):
        return struct(DESCRIBE_PROCEDURE_COLUMNS)
    if isinstance(statement, DescribeFunction):
        return struct(DESCRIBE_FUNCTION_COLUMNS)
    if isinstance(statement, _WITHOUT_ANSWER):
        return struct([])
    return count_schema()
