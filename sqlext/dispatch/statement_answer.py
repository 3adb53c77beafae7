"""What is known of a statement before it runs: its catalog, the tables that it changes, the columns of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlext.command.compaction.compaction import COMPACTED_COLUMNS
from sqlext.command.ddl.describe_function import DESCRIBE_FUNCTION_COLUMNS
from sqlext.command.dml.explain_commit import EXPLAIN_COMMIT_COLUMNS
from sqlext.command.dml.preview import PREVIEW_SUMMARY_COLUMNS
from sqlext.command.dml.restore import RESTORE_COLUMNS
from sqlext.command.maintenance.vacuum import VACUUM_COLUMNS
from sqlext.command.outcome import count_schema, struct
from sqlext.command.view.show_views import SHOW_VIEWS_COLUMNS
from sqlext.procedure.described_procedures import (
    DESCRIBE_PROCEDURE_COLUMNS,
    SHOW_PROCEDURES_COLUMNS,
)
from sqlext.procedure.registry import find_procedure
from sqlext.procedure.table_descriptions import DESCRIBE_DETAIL_COLUMNS, DESCRIBE_HISTORY_COLUMNS
from sqlext.sql.parser import AnyStatement
from sqlext.sql.statements.clone_statement import ShallowClone
from sqlext.sql.statements.description_statement import DescribeDetail, DescribeHistory
from sqlext.sql.statements.maintenance_statement import AnalyzeTable, Optimize, Vacuum
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.routine_statement import (
    DescribeFunction,
    DescribeProcedure,
    RoutineStatement,
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
    DropConstraint,
    DropPrimaryKey,
    DropReference,
    Explain,
    Preview,
    Restore,
    ShowCreateTable,
    SyncIdentity,
    TableName,
    Truncate,
    Undrop,
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

# The columns of the answers; those of other statements are the counts of rows that they change.
_COLUMNS: Mapping[type, Sequence[tuple[str, str]]] = {
    DescribeDetail: DESCRIBE_DETAIL_COLUMNS,
    DescribeFunction: DESCRIBE_FUNCTION_COLUMNS,
    DescribeHistory: DESCRIBE_HISTORY_COLUMNS,
    DescribeProcedure: DESCRIBE_PROCEDURE_COLUMNS,
    Explain: (("plan", "string"),),
    ExplainCommit: EXPLAIN_COMMIT_COLUMNS,
    Optimize: COMPACTED_COLUMNS,
    Preview: PREVIEW_SUMMARY_COLUMNS,
    Restore: RESTORE_COLUMNS,
    ShowCreateTable: (("createtab_stmt", "string"),),
    ShowProcedures: SHOW_PROCEDURES_COLUMNS,
    ShowViews: SHOW_VIEWS_COLUMNS,
    Vacuum: VACUUM_COLUMNS,
    AddConstraint: (),
    AddPrimaryKey: (),
    AlterColumns: (),
    AlterPartitioning: (),
    AlterViewProperties: (),
    AlterViewQuery: (),
    AlterWriteOrder: (),
    AnalyzeTable: (),
    BeginTransaction: (),
    CommitTransaction: (),
    CreateReference: (),
    CreateTable: (),
    CreateTableLike: (),
    CreateView: (),
    DropConstraint: (),
    DropPrimaryKey: (),
    DropReference: (),
    DropView: (),
    ReleaseSavepoint: (),
    RenameView: (),
    RollBackTransaction: (),
    SetSavepoint: (),
    ShallowClone: (),
    SyncIdentity: (),
    Truncate: (),
    Undrop: (),
}
# Statements whose object is in the field `name`, not in `table`.
_NAMED = (
    CreateTable | CreateTableLike | ShallowClone | ShowCreateTable | CreateView | AlterViewQuery | AlterViewProperties
    | RenameView | DropView | Undrop
)  # fmt: skip


def catalog_of(statement: AnyStatement) -> str | None:
    """The catalog that runs it; None for a statement of the session."""
    if isinstance(statement, TransactionStatement):
        return None
    if isinstance(statement, Call | RoutineStatement):
        return statement.catalog
    if isinstance(statement, ShowViews):
        return statement.namespace[0]
    return (statement.name if isinstance(statement, _NAMED) else statement.table).catalog


def answer_schema(statement: AnyStatement) -> Mapping[str, Any]:
    """The columns of its answer, as a struct of the shim's."""
    if isinstance(statement, Call):
        return struct(find_procedure(statement.catalog, statement.procedure).columns)
    columns = _COLUMNS.get(type(statement))
    return count_schema() if columns is None else struct(columns)


def has_rows_of_table(statement: AnyStatement) -> bool:
    """Whether the result has columns of the statement's table."""
    return isinstance(statement, Returning) or (isinstance(statement, Preview) and not statement.summary)


def changed_tables(statement: AnyStatement | None) -> Sequence[tuple[str, ...]]:
    """The table that the statement changes, as parts of its name; none for a statement that has none."""
    table = getattr(statement, "name" if isinstance(statement, _NAMED) else "table", None)
    return [table.parts] if isinstance(table, TableName) else []
