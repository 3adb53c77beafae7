"""ALTER TABLE for columns, partition fields and the write order; each statement is one commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard, cast

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.change.destination import WAP_ID
from sqlext.command.change.own_transaction import in_own_transaction
from sqlext.command.change.row_level import load_target
from sqlext.command.ddl.default_value import default_value
from sqlext.command.ddl.generated_definition import require_generated
from sqlext.command.ddl.table_definition import column_rules
from sqlext.command.dml.update import update
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_for
from sqlext.command.outcome import Outcome
from sqlext.commit.action import Action
from sqlext.commit.actions import order_change
from sqlext.commit.actions.order_change import ChangeWriteOrder
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, DropField, FieldTerm, SpecChange
from sqlext.commit.state.identity_change import SyncIdentity as SyncIdentityAction
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.scan.identity_bounds import live_identities
from sqlext.spark.catalog.data_type import type_to_spark
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.constraint import check_constraints
from sqlext.spec.field_path import path_text
from sqlext.spec.identity_column import MARK_PREFIX, IdentityMark
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema_change import (
    AddColumn,
    DropColumn,
    RenameColumn,
    ReplaceColumns,
    SchemaChange,
    SetDefault,
    WidenColumn,
    changed_columns,
)
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import NestedField, Type
from sqlext.sql.binding import resolve_field
from sqlext.sql.row_rules import checked_columns, require_generated_kept
from sqlext.sql.statements.statement import (
    AddPartitionField,
    AlterColumns,
    AlterPartitioning,
    AlterWriteOrder,
    ColumnAddition,
    ColumnChange,
    ColumnDefault,
    ColumnDefinition,
    ColumnType,
    DropPartitionField,
    PartitionTerm,
    ReplacedColumns,
    SortTerm,
    SyncIdentity,
    TableName,
    Update,
)
from sqlext.sql.syntax.type_name import TimestampSetting, parse_type
from sqlext.sql.tokens.quoting import quote_identifier, quote_string


def alter_columns(environment: Environment, spark: SparkSession, statement: AlterColumns) -> Outcome:
    """Runs the statement; no rows. Rows that are there get values of generated and identity columns."""
    if not any(_is_computed(change) for change in statement.changes):
        _alter(environment, spark, statement)
        return Outcome()
    in_own_transaction(environment, spark, statement.table, lambda now: _alter_rows(now, spark, statement))
    if not environment.is_in_transaction:
        care_for(environment, spark, statement.table)
    return Outcome()


def _is_computed(change: ColumnChange) -> TypeGuard[ColumnAddition]:
    return isinstance(change, ColumnAddition) and (change.generated_text, change.identity) != (None, None)


def _refused(change: ColumnAddition, reason: str, way_out: str) -> AnalysisError:
    condition = "INVALID_GENERATED_COLUMN" if change.identity is None else "INVALID_IDENTITY_COLUMN"
    return AnalysisError(condition, column=path_text(change.path), reason=reason, way_out=way_out)


def _alter(environment: Environment, spark: SparkSession, statement: AlterColumns) -> LoadedTable:
    """The table after the change of its columns."""
    table = environment.catalogs.load(statement.table.parts)
    metadata, exact = table.metadata, is_case_sensitive(spark)
    changes = tuple(_schema_change(spark, change, metadata, exact) for change in statement.changes)
    for change in changes:
        _require_unchecked(change, metadata)
    if any(_is_computed(change) for change in statement.changes):
        after = changed_columns(
            metadata.schema(), changes, metadata.last_column_id, metadata.format_version, case_sensitive=exact
        )
        require_generated(spark, after.schema, {**metadata.properties, **after.rules})
    return environment.commit(statement.table.catalog, table, ChangeSchema(changes, exact)).table


def _alter_rows(environment: Environment, spark: SparkSession, statement: AlterColumns) -> None:
    """Changes the columns, and each row of main, which gives it its values; both stay in the transaction."""
    table = _alter(environment, spark, statement)
    if table.metadata.current_snapshot() is None:
        return
    if load_target(environment, spark, statement.table, MAIN_BRANCH).destination.wap_id is not None:
        column = next(change for change in statement.changes if _is_computed(change))
        raise _refused(column, f"{WAP_ID} is set, by which its values would be on no branch", f"RESET {WAP_ID}")
    # Given, so that no setting of the session directs the change to another branch.
    update(environment, spark, Update(statement.table, ()), MAIN_BRANCH)


def sync_identity(environment: Environment, spark: SparkSession, statement: SyncIdentity) -> Outcome:
    """Counts on behind the values that rows of any branch have; no rows. Raises AnalysisError NO_IDENTITY_COLUMN."""
    table = environment.catalogs.load(statement.table.parts)
    metadata = table.metadata
    field = resolve_field(metadata.schema(), statement.column, case_sensitive=is_case_sensitive(spark))
    column = live_identities(metadata).get(field.id)
    if column is None:
        raise AnalysisError("NO_IDENTITY_COLUMN", column=field.name, name=statement.table)
    branches = [name for name, one in metadata.refs.items() if one.type == "branch"]
    extreme = f"{'max' if column.step > 0 else 'min'}({quote_identifier(field.name)})"
    name = ".".join(quote_identifier(part) for part in statement.table.parts)
    texts = [f"SELECT {extreme} FROM {name} VERSION AS OF {quote_string(branch)}" for branch in branches]
    furthest = column.furthest(lowered_query(spark, text).collect()[0][0] for text in texts)
    if furthest is not None:
        environment.commit(statement.table.catalog, table, SyncIdentityAction(field.id, furthest))
    return Outcome()


def alter_partitioning(environment: Environment, spark: SparkSession, statement: AlterPartitioning) -> Outcome:
    """Runs the statement; no rows. Data files are not rewritten."""
    match statement.change:
        case AddPartitionField():
            changes: tuple[SpecChange, ...] = (_added_field(statement.change),)
        case DropPartitionField(term=term):
            changes = (DropField(_field_term(term)),)
        case replaced:
            changes = (DropField(_field_term(replaced.old)), _added_field(replaced.new))
    return _commit(environment, statement.table, ChangeSpec(changes))


def alter_write_order(environment: Environment, spark: SparkSession, statement: AlterWriteOrder) -> Outcome:
    """Runs the statement; no rows. Data files are not rewritten."""
    terms = tuple(sort_term(term) for term in statement.ordering)
    return _commit(environment, statement.table, ChangeWriteOrder(terms, statement.distribution))


def _commit(environment: Environment, name: TableName, action: Action) -> Outcome:
    environment.commit(name.catalog, environment.catalogs.load(name.parts), action)
    return Outcome()


def _require_unchecked(change: SchemaChange, metadata: TableMetadata) -> None:
    """Raises AnalysisError COLUMN_IN_USE for a drop or rename of a column that a CHECK names."""
    schema = metadata.schema()
    require_generated_kept(change, metadata.schema(), metadata.properties)
    if not isinstance(change, DropColumn | RenameColumn | ReplaceColumns):
        return
    for check in check_constraints(metadata.properties):
        for column in checked_columns(schema, check.expression):
            if isinstance(change, ReplaceColumns) or change.path[0].lower() == column.lower():
                way_out = f"ALTER TABLE … DROP CONSTRAINT {check.name} first"
                raise AnalysisError("COLUMN_IN_USE", name=column, use=f"the constraint {check.name}", way_out=way_out)


def _schema_change(spark: SparkSession, change: ColumnChange, metadata: TableMetadata, exact: bool) -> SchemaChange:
    match change:
        case ColumnAddition():
            return _addition(spark, change, metadata)
        case ColumnType():
            return _widening(spark, change)
        case ColumnDefault(path=path, default=default):
            field = resolve_field(metadata.schema(), path, case_sensitive=exact)
            return SetDefault(path, None if default is None else default_value(spark, field, default.text))
        case ReplacedColumns(columns=columns):
            return ReplaceColumns(tuple(_addition(spark, column, metadata) for column in columns))
    return change


def _addition(spark: SparkSession, change: ColumnAddition, metadata: TableMetadata) -> AddColumn:
    lengths: dict[int, int] = {}
    column_type = _column_type(spark, change.type_text, lengths)
    field = NestedField(0, change.path[-1], column_type, change.required)
    rules = _rules(change, column_type, metadata)
    default = None if change.default is None else default_value(spark, field, change.default.text)
    if isinstance(default, str) and len(default) > lengths.get(0, len(default)):
        reason = f"it has more than {lengths[0]} characters"
        raise AnalysisError("INVALID_DEFAULT_VALUE", value=default, column=change.path[-1], reason=reason)
    return AddColumn(
        change.path, column_type, change.required, change.comment, default, change.position, lengths, rules
    )


def _rules(change: ColumnAddition, type: Type, metadata: TableMetadata) -> Mapping[str, str]:
    """Table properties of the column, as by `column_rules`. Raises AnalysisError."""
    column = ColumnDefinition(
        ".".join(change.path),
        change.type_text,
        default_text=None if change.default is None else change.default.text,
        generated_text=change.generated_text,
        identity=change.identity,
    )
    rules = column_rules(column, type)
    if rules and len(change.path) > 1:
        raise _refused(change, "it is inside another column", "Add it beside that one")
    if change.identity is None:
        return rules
    # No file has the new column yet.
    return {**rules, MARK_PREFIX: IdentityMark(None, metadata.last_sequence_number).encode()}


def _widening(spark: SparkSession, change: ColumnType) -> WidenColumn:
    lengths: dict[int, int] = {}
    column_type = _column_type(spark, change.type_text, lengths)
    if lengths.keys() - {0}:
        reason = "a length inside another type goes by the field's name: ALTER COLUMN tags.element TYPE VARCHAR(9)"
        raise UnsupportedError("UNSUPPORTED_TYPE", type=change.type_text, reason=reason)
    return WidenColumn(change.path, column_type, lengths.get(0))


def _column_type(spark: SparkSession, text: str, lengths: dict[int, int]) -> Type:
    """The type of the SQL text; adds its VARCHAR lengths to `lengths`. Raises UnsupportedError for a type unknown to
    Spark."""
    setting = cast(TimestampSetting, spark.conf.get("spark.sql.timestampType") or "TIMESTAMP_LTZ")
    column_type = parse_type(text, timestamp_type=setting, lengths=lengths)
    type_to_spark(column_type)
    return column_type


def _added_field(change: AddPartitionField) -> AddField:
    return AddField(_field_term(change.term), change.name)


def _field_term(term: PartitionTerm) -> FieldTerm:
    text = term.transform if term.parameter is None else f"{term.transform}[{term.parameter}]"
    return FieldTerm(term.column, parse_transform(text))


def sort_term(sort: SortTerm) -> order_change.SortTerm:
    """A term of a text as one of a sort order."""
    term = _field_term(sort.term)
    return order_change.SortTerm(
        term.column,
        term.transform,
        "desc" if sort.descending else "asc",
        "nulls-first" if sort.nulls_first else "nulls-last",
    )
