"""The command that runs each statement, and each write of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.batch_statement import as_batch, unless_created_before, unless_ran_before
from sqlext.command.change.rerun import gives_identities, run_with_reruns
from sqlext.command.ddl.alter_constraint import add_constraint, drop_constraint
from sqlext.command.ddl.alter_key import add_primary_key, drop_primary_key
from sqlext.command.ddl.alter_table import alter_columns, alter_partitioning, alter_write_order, sync_identity
from sqlext.command.ddl.create_table import create_of_data_frame, create_table
from sqlext.command.ddl.create_table_like import create_table_like
from sqlext.command.ddl.describe_function import describe_function
from sqlext.command.ddl.reference_change import create_reference, drop_reference
from sqlext.command.ddl.shallow_clone import shallow_clone
from sqlext.command.ddl.show_create_table import show_create_table
from sqlext.command.ddl.undrop import undrop
from sqlext.command.dml.data_frame_write import write_data_frame
from sqlext.command.dml.delete import delete
from sqlext.command.dml.explain import explain
from sqlext.command.dml.explain_commit import explain_commit
from sqlext.command.dml.insert import insert
from sqlext.command.dml.merge import merge
from sqlext.command.dml.preview import preview, preview_summary
from sqlext.command.dml.restore import restore
from sqlext.command.dml.returning import returning
from sqlext.command.dml.transaction_control import control_transaction
from sqlext.command.dml.truncate import truncate
from sqlext.command.dml.update import update
from sqlext.command.environment import Environment
from sqlext.command.maintenance.analyze import analyze_table
from sqlext.command.maintenance.optimize import optimize
from sqlext.command.maintenance.vacuum import vacuum
from sqlext.command.outcome import Counts, Outcome
from sqlext.command.view.alter_view import alter_view_properties, drop_view, rename_view
from sqlext.command.view.create_view import alter_view_query, create_view
from sqlext.command.view.show_views import show_views
from sqlext.command.view.temporary_view import require_no_temporary_view
from sqlext.dispatch.statement_answer import changed_tables
from sqlext.errors import CommitConflict, ValidationConflict
from sqlext.procedure.call import call
from sqlext.procedure.described_procedures import (
    describe_procedure,
    show_procedures,
)
from sqlext.procedure.table_descriptions import describe_detail, describe_history
from sqlext.spark.query.cached_tables import drop_caches, renew_caches
from sqlext.spark.session.refused_commits import RefusedCommit, statement_text
from sqlext.spark.session.session_settings import session_id
from sqlext.sql.parser import AnyStatement
from sqlext.sql.statements.clone_statement import ShallowClone
from sqlext.sql.statements.description_statement import DescribeDetail, DescribeHistory
from sqlext.sql.statements.maintenance_statement import AnalyzeTable, Optimize, Vacuum
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.routine_statement import (
    DescribeFunction,
    DescribeProcedure,
    ShowProcedures,
)
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
    SyncIdentity,
    Truncate,
    Undrop,
    Update,
)
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
    SyncIdentity: sync_identity,
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
    DescribeDetail: describe_detail,
    DescribeFunction: describe_function,
    DescribeHistory: describe_history,
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

# Statements that change rows or columns, so that Spark's caches of the table are stale.
_CHANGES = (
    AlterColumns | AnalyzeTable | CreateTable | Delete | Insert | Merge | Optimize | Restore | Truncate | Update
    | Vacuum
)  # fmt: skip


@dataclass(frozen=True)
class StatementRun:
    """One statement or write of a session; `arguments` are the shim's."""

    environment: Environment
    spark: SparkSession
    arguments: Mapping[str, Any]

    def statement(self, parsed: AnyStatement | None) -> Mapping[str, Any]:
        """The answer has its rows, or the name of rows that the JVM holds."""
        if isinstance(parsed, Preview):
            return self._preview(parsed)
        if isinstance(parsed, Returning):
            return self._returning(parsed)
        changed = self.environment.transactions.changed_tables(session_id(self.spark))
        tables = changed if isinstance(parsed, CommitTransaction) else changed_tables(parsed)
        try:
            with self._refusals(self.arguments["text"], tables):
                outcome = self._outcome(parsed)
        finally:
            if isinstance(parsed, CommitTransaction | RollBackTransaction):
                for table in changed:
                    self._renew_caches(table)
        if isinstance(parsed, _CHANGES):
            self._renew_caches((parsed.name if isinstance(parsed, CreateTable) else parsed.table).parts)
        return {"rows": [list(row) for row in outcome.rows]}

    def row_change(self, statement: Merge | Update | Delete) -> Mapping[str, Any]:
        """The answer has its counts."""
        with self._refusals(type(statement).__name__.upper(), changed_tables(statement)):
            outcome = self._outcome(statement)
        self._renew_caches(statement.table.parts)
        return {"rows": [list(row) for row in outcome.rows]}

    def create(self, table: tuple[str, ...], rows: DataFrame) -> Mapping[str, Any]:
        """Creates or replaces a table with a DataFrame's rows."""
        environment = self._as_batch(self._within(), self.arguments["options"])
        with self._refusals("CREATE TABLE with the rows of a DataFrame", [table]):
            unless_created_before(
                environment, table, lambda: create_of_data_frame(environment, self.spark, self.arguments, rows)
            )
        self._renew_caches(table)
        return {}

    def write(self, table: tuple[str, ...], rows: DataFrame) -> Mapping[str, Any]:
        """Writes a DataFrame whose columns are the table's; the answer has its counts."""
        environment = self._as_batch(self._within(), self.arguments["options"])
        with self._refusals(f"write of a DataFrame ({self.arguments['mode']})", [table]):
            counts = unless_ran_before(
                environment, table, lambda now: write_data_frame(now, self.spark, self.arguments, rows), Counts()
            )
        self._renew_caches(table)
        return {"rows": [counts.row()]}

    def _within(self) -> Environment:
        session = session_id(self.spark)
        self.environment.transactions.require_own(session, self.arguments["transaction_of"])
        return self.environment.within(session).planned_by(self.arguments["plan_settings"])

    def _as_batch(self, environment: Environment, options: Mapping[str, str]) -> Environment:
        return as_batch(environment, session_id(self.spark), self.arguments["batch_settings"], options)

    @contextmanager
    def _refusals(self, text: str, tables: Sequence[tuple[str, ...]]) -> Iterator[None]:
        """Keeps what refuses the commit of the block, for EXPLAIN COMMIT."""
        try:
            yield
        except (ValidationConflict, CommitConflict) as conflict:
            contender = conflict.contender if isinstance(conflict, ValidationConflict) else None
            refused = RefusedCommit(
                statement_text(text),
                conflict.parameters.get("name", ""),
                tables,
                self.environment.clock(),
                conflict.condition,
                conflict.message,
                contender,
            )
            self.environment.refused.keep(session_id(self.spark), refused)
            raise

    def _renew_caches(self, table: Sequence[str]) -> None:
        """Renews Spark's caches of the table; drops them while a transaction is open, as all sessions share them."""
        if self.environment.transactions.is_open(session_id(self.spark)):
            drop_caches(self.spark, table)
        else:
            renew_caches(self.spark, table)

    def _outcome(self, statement: AnyStatement | None) -> Outcome:
        command: Callable[[Environment, SparkSession, Any], Outcome] = _COMMANDS[type(statement)]
        if isinstance(statement, TransactionStatement):
            return command(self.environment.planned_by(self.arguments["plan_settings"]), self.spark, statement)
        environment = self._within()
        _require_table(self.spark, statement.statement if isinstance(statement, Explain) else statement)
        if isinstance(statement, CreateTableLike):
            require_no_temporary_view(self.spark, statement.source, "CREATE TABLE … LIKE")
        if isinstance(statement, ShallowClone):
            require_no_temporary_view(self.spark, statement.source, "CREATE TABLE … CLONE")
        if isinstance(statement, CreateTable) and statement.as_select is not None:
            environment = self._as_batch(environment, {})
            unless_created_before(
                environment, statement.name.parts, lambda: create_table(environment, self.spark, statement)
            )
            return Outcome()
        if isinstance(statement, Delete | Insert | Merge | Truncate | Update):
            return self._changed(environment, statement)
        return command(environment, self.spark, statement)

    def _preview(self, statement: Preview) -> Mapping[str, Any]:
        environment = self._within()
        _require_table(self.spark, statement.statement)

        def run(within: Environment) -> Outcome:
            return self._changed(within, statement.statement)

        if statement.summary:
            summary = preview_summary(environment, self.spark, statement.table, run)
            return {"rows": [list(row) for row in summary.rows]}
        return {"kept": preview(environment, self.spark, statement.table, run, self.arguments["result"])}

    def _returning(self, statement: Returning) -> Mapping[str, Any]:
        inner = statement.statement
        environment = self._within()
        _require_table(self.spark, inner)
        command: Callable[[Environment, SparkSession, Any], Outcome] = _COMMANDS[type(inner)]
        environment = self._as_batch(environment, inner.options if isinstance(inner, Insert) else {})

        def run(within: Environment) -> Outcome:
            return unless_ran_before(
                within, inner.table.parts, lambda now: command(now, self.spark, inner), Outcome([Counts().row()])
            )

        kept = returning(environment, self.spark, statement, run, self.arguments["result"])
        self._renew_caches(inner.table.parts)
        return {"kept": kept}

    def _changed(self, environment: Environment, statement: Delete | Insert | Merge | Truncate | Update) -> Outcome:
        """Runs a statement that changes the rows of a table."""
        command: Callable[[Environment, SparkSession, Any], Outcome] = _COMMANDS[type(statement)]
        environment = self._as_batch(environment, statement.options if isinstance(statement, Insert) else {})
        table = statement.table.parts

        def run(now: Environment) -> Outcome:
            if isinstance(statement, Truncate) or (_is_overwrite(statement) and not gives_identities(now, table)):
                return command(now, self.spark, statement)
            return run_with_reruns(now, table, lambda again: command(again, self.spark, statement))

        skipped = Outcome() if isinstance(statement, Truncate) else Outcome([Counts().row()])
        return unless_ran_before(environment, table, run, skipped)


def _require_table(spark: SparkSession, statement: AnyStatement | None) -> None:
    """Raises for a statement that changes the rows of a temporary view."""
    if isinstance(statement, Delete | Insert | Merge | Truncate | Update):
        verb = "UPSERT" if isinstance(statement, Insert) and statement.upsert else type(statement).__name__.upper()
        require_no_temporary_view(spark, statement.table, verb)


def _is_overwrite(statement: AnyStatement) -> bool:
    return isinstance(statement, Insert) and statement.overwrite
