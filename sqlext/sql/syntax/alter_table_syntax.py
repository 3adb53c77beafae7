"""ALTER TABLE for columns, partition fields, the write order and identifier fields; COMMENT ON COLUMN.

ADD COLUMN[S] | DROP COLUMN[S] | RENAME COLUMN | ALTER COLUMN | CHANGE COLUMN | REPLACE COLUMNS
ADD | DROP | REPLACE PARTITION FIELD
ALTER COLUMN … SYNC IDENTITY
WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY term, … | UNORDERED]
SET | DROP IDENTIFIER FIELDS
CLUSTER BY (column, …) | CLUSTER BY NONE

COMMENT ON COLUMN table.column IS 'text' | NULL, which Spark has from 4.3 on
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlext.errors import ParseError
from sqlext.properties import Distribution
from sqlext.spec.schema_change import (
    DropColumn,
    DropIdentifierFields,
    MoveColumn,
    Path,
    Position,
    RenameColumn,
    SetComment,
    SetIdentifierFields,
    SetRequired,
)
from sqlext.sql.statements.statement import (
    AddPartitionField,
    AlterColumns,
    AlterPartitioning,
    AlterWriteOrder,
    ColumnAddition,
    ColumnChange,
    ColumnDefault,
    ColumnType,
    DropPartitionField,
    ReplacedColumns,
    ReplacePartitionField,
    Slice,
    SortTerm,
    SyncIdentity,
    TableName,
)
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.syntax.create_table_syntax import accept_generated, type_slice
from sqlext.sql.syntax.identity_syntax import accept_identity
from sqlext.sql.syntax.transform_syntax import parse_sort_term, parse_terms, parse_transform
from sqlext.sql.tokens.token_cursor import TokenCursor

_T = TypeVar("_T")

_COLUMN_CLAUSES = frozenset({"NOT", "NULL", "COMMENT", "FIRST", "AFTER", "DEFAULT", "COLLATE", "GENERATED"})
_COLUMN_ACTIONS = frozenset({"TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP"})
_BEHIND_DEFAULT = frozenset({",", ")", "COMMENT", "FIRST", "AFTER", "GENERATED"})

AlterTable = AlterColumns | AlterPartitioning | AlterWriteOrder | SyncIdentity


def parse_alter_table(cursor: TokenCursor, name: TableName) -> AlterTable | None:
    """The clauses after ALTER TABLE and the table's name as a statement; None for those of Spark or another module.

    Raises ParseError, and UnsupportedError UNSUPPORTED_SYNTAX for DEFAULT COLLATION.
    """
    statement = _parse_change(cursor, name)
    if statement is not None:
        cursor.expect_end()
    return statement


def parse_comment_on_column(cursor: TokenCursor, tables: TableResolution) -> AlterColumns | None:
    """The statement, or None for a column of another catalog's table.

    The last part of the name is the column, as in Spark, so that fields of structs have no such comment.
    """
    if not cursor.accept("COMMENT", "ON", "COLUMN"):
        return None
    *table, column = cursor.dotted_name("the name of a table and a column")
    name = tables.resolve(tuple(table)) if table else None
    if name is None:
        return None
    cursor.expect("IS")
    comment = None if cursor.accept("NULL") else cursor.string("a comment in quotes or NULL")
    cursor.expect_end()
    return AlterColumns(name, (SetComment((column,), comment),))


def _parse_change(cursor: TokenCursor, name: TableName) -> AlterTable | None:
    if cursor.at("DEFAULT", "COLLATION"):
        # Spark would store it as a table property that no column follows.
        cursor.refuse("DEFAULT COLLATION", "Iceberg strings have no collation")
    for head, parse in _CHANGES:
        if any(cursor.accept(*words) for words in head):
            return parse(cursor, name)
    return None


# Columns


def _parse_add_columns(cursor: TokenCursor, name: TableName) -> AlterColumns:
    return AlterColumns(name, _maybe_bracketed(cursor, _parse_addition))


def _parse_replace_columns(cursor: TokenCursor, name: TableName) -> AlterColumns:
    if not cursor.at("("):
        cursor.fail("(")
    return AlterColumns(name, (ReplacedColumns(_maybe_bracketed(cursor, _parse_replacement)),))


def _parse_drop_columns(cursor: TokenCursor, name: TableName) -> AlterColumns:
    if_exists = cursor.accept("IF", "EXISTS")
    return AlterColumns(name, tuple(DropColumn(path, if_exists) for path in _maybe_bracketed(cursor, _parse_column)))


def _parse_rename_column(cursor: TokenCursor, name: TableName) -> AlterColumns:
    path = _parse_column(cursor)
    cursor.expect("TO")
    return AlterColumns(name, (RenameColumn(path, cursor.name("a column name")),))


def _parse_alter_columns(cursor: TokenCursor, name: TableName) -> AlterColumns | SyncIdentity:
    first = cursor.position
    path = _parse_column(cursor)
    if cursor.accept("SYNC", "IDENTITY"):
        return SyncIdentity(name, path)
    cursor.position = first
    changes = [*_parse_alteration(cursor)]
    while cursor.accept(","):
        changes += _parse_alteration(cursor)
    return AlterColumns(name, tuple(changes))


def _parse_alteration(cursor: TokenCursor) -> tuple[ColumnChange, ...]:
    path = _parse_column(cursor)
    if not cursor.at_any(_COLUMN_ACTIONS):
        return _parse_hive_change(cursor, path)
    if cursor.accept("TYPE"):
        return (ColumnType(path, type_slice(cursor, _COLUMN_CLAUSES).text),)
    if cursor.accept("COMMENT"):
        return (SetComment(path, cursor.string("a comment in quotes")),)
    if cursor.accept("SET", "NOT", "NULL"):
        return (SetRequired(path, True),)
    if cursor.accept("DROP", "NOT", "NULL"):
        return (SetRequired(path, False),)
    if cursor.accept("SET", "DEFAULT"):
        return (ColumnDefault(path, _parse_default(cursor)),)
    if cursor.accept("DROP", "DEFAULT"):
        return (ColumnDefault(path, None),)
    position = _parse_position(cursor)
    if position is None:
        cursor.fail("NOT NULL or DEFAULT")
    return (MoveColumn(path, position),)


def _parse_hive_change(cursor: TokenCursor, path: Path) -> tuple[ColumnChange, ...]:
    """`CHANGE COLUMN a b INT [COMMENT 'text'] [FIRST | AFTER c]`: renames a to b and sets its type."""
    if cursor.peek().kind not in ("word", "quoted"):
        cursor.fail("TYPE, COMMENT, FIRST, AFTER, SET or DROP")
    name = cursor.name("a column name")
    changes: list[ColumnChange] = [ColumnType(path, type_slice(cursor, _COLUMN_CLAUSES).text)]
    if cursor.accept("COMMENT"):
        changes.append(SetComment(path, cursor.string("a comment in quotes")))
    position = _parse_position(cursor)
    if position is not None:
        changes.append(MoveColumn(path, position))
    if name != path[-1]:
        changes.append(RenameColumn(path, name))
    return tuple(changes)


def _parse_addition(cursor: TokenCursor) -> ColumnAddition:
    path = _parse_column(cursor)
    type_text = type_slice(cursor, _COLUMN_CLAUSES).text
    given: dict[str, object] = {}

    def take(clause: str, value: object) -> None:
        if clause in given:
            raise ParseError("DUPLICATE_CLAUSES", clause=clause)
        given[clause] = value

    required, comment, default, position, generated, identity = False, None, None, None, None, None
    while not cursor.at_any(frozenset({",", ")"})) and not cursor.at_end:
        if cursor.accept("NOT", "NULL"):
            take("NOT NULL", required := True)
        elif cursor.accept("NULL"):
            take("NOT NULL", False)
        elif cursor.accept("COMMENT"):
            take("COMMENT", comment := cursor.string("a comment in quotes"))
        elif cursor.accept("DEFAULT"):
            take("DEFAULT", default := _parse_default(cursor))
        elif cursor.at("FIRST") or cursor.at("AFTER"):
            take("FIRST or AFTER", position := _parse_position(cursor))
        elif cursor.at("GENERATED", "ALWAYS", "AS", "("):
            take("GENERATED", generated := accept_generated(cursor))
        elif cursor.at("GENERATED"):
            take("GENERATED", identity := accept_identity(cursor))
            if identity is None:
                cursor.fail("ALWAYS AS (expression), or ALWAYS or BY DEFAULT, and AS IDENTITY")
        else:
            cursor.fail("NOT NULL, COMMENT, DEFAULT, GENERATED, FIRST, AFTER, ',' or the end of the statement")
    return ColumnAddition(path, type_text, required, comment, default, position, generated, identity)


def _parse_replacement(cursor: TokenCursor) -> ColumnAddition:
    column = _parse_addition(cursor)
    if column.generated_text is not None or column.identity is not None:
        cursor.refuse("GENERATED in REPLACE COLUMNS", "it gives rows no values. Use DROP COLUMN and ADD COLUMN")
    return column


def _parse_column(cursor: TokenCursor) -> Path:
    return cursor.dotted_name("a column name")


def _parse_default(cursor: TokenCursor) -> Slice:
    def at_end() -> bool:
        return cursor.at_any(_BEHIND_DEFAULT) or cursor.at("NOT", "NULL")

    return cursor.slice_until(at_end, "a default value")


def _parse_position(cursor: TokenCursor) -> Position | None:
    if cursor.accept("FIRST"):
        return Position()
    return Position(cursor.name("a column name")) if cursor.accept("AFTER") else None


def _maybe_bracketed(cursor: TokenCursor, parse: Callable[[TokenCursor], _T]) -> tuple[_T, ...]:
    """One or more items, separated by commas, with or without parentheses."""
    bracketed = cursor.accept("(")
    parsed = [parse(cursor)]
    while cursor.accept(","):
        parsed.append(parse(cursor))
    if bracketed:
        cursor.expect(")")
    return tuple(parsed)


def _parse_set_identifier_fields(cursor: TokenCursor, name: TableName) -> AlterColumns:
    return AlterColumns(name, (SetIdentifierFields(_maybe_bracketed(cursor, _parse_column)),))


def _parse_drop_identifier_fields(cursor: TokenCursor, name: TableName) -> AlterColumns:
    return AlterColumns(name, (DropIdentifierFields(_maybe_bracketed(cursor, _parse_column)),))


# Partition fields


def _parse_add_field(cursor: TokenCursor, name: TableName) -> AlterPartitioning:
    term = parse_transform(cursor)
    return AlterPartitioning(name, AddPartitionField(term, _parse_field_name(cursor)))


def _parse_drop_field(cursor: TokenCursor, name: TableName) -> AlterPartitioning:
    return AlterPartitioning(name, DropPartitionField(parse_transform(cursor)))


def _parse_replace_field(cursor: TokenCursor, name: TableName) -> AlterPartitioning:
    old = parse_transform(cursor)
    cursor.expect("WITH")
    new = parse_transform(cursor)
    return AlterPartitioning(name, ReplacePartitionField(old, AddPartitionField(new, _parse_field_name(cursor))))


def _parse_field_name(cursor: TokenCursor) -> str | None:
    return cursor.name("a partition field name") if cursor.accept("AS") else None


# Write order


def _parse_write(cursor: TokenCursor, name: TableName) -> AlterWriteOrder:
    by_partition: bool = False
    ordering: tuple[SortTerm, ...] | None = None
    distribution: Distribution | None = None
    while not cursor.at_end:
        if not by_partition and cursor.accept("DISTRIBUTED", "BY", "PARTITION"):
            by_partition = True
        elif ordering is None and cursor.accept("UNORDERED"):
            ordering, distribution = (), "none"
        elif ordering is None and (cursor.at("LOCALLY", "ORDERED", "BY") or cursor.at("ORDERED", "BY")):
            distribution = None if cursor.accept("LOCALLY") else "range"
            cursor.expect("ORDERED", "BY")
            ordering = _maybe_bracketed(cursor, parse_sort_term)
        else:
            cursor.fail("the end of the statement")
    if by_partition:
        distribution = "hash"
    elif ordering is None:
        cursor.fail("DISTRIBUTED BY PARTITION, [LOCALLY] ORDERED BY or UNORDERED")
    return AlterWriteOrder(name, ordering or (), distribution)


def _parse_cluster(cursor: TokenCursor, name: TableName) -> AlterWriteOrder:
    if cursor.accept("NONE"):
        return AlterWriteOrder(name, (), "none")
    return AlterWriteOrder(name, parse_terms(cursor, parse_sort_term), "range")


_CHANGES: tuple[tuple[tuple[tuple[str, ...], ...], Callable[[TokenCursor, TableName], AlterTable]], ...] = (
    ((("ADD", "COLUMN"), ("ADD", "COLUMNS")), _parse_add_columns),
    ((("DROP", "COLUMN"), ("DROP", "COLUMNS")), _parse_drop_columns),
    ((("RENAME", "COLUMN"),), _parse_rename_column),
    ((("REPLACE", "COLUMNS"),), _parse_replace_columns),
    ((("ADD", "PARTITION", "FIELD"),), _parse_add_field),
    ((("DROP", "PARTITION", "FIELD"),), _parse_drop_field),
    ((("REPLACE", "PARTITION", "FIELD"),), _parse_replace_field),
    ((("SET", "IDENTIFIER", "FIELDS"),), _parse_set_identifier_fields),
    ((("DROP", "IDENTIFIER", "FIELDS"),), _parse_drop_identifier_fields),
    ((("WRITE",),), _parse_write),
    ((("CLUSTER", "BY"),), _parse_cluster),
    ((("ALTER", "COLUMN"), ("CHANGE", "COLUMN"), ("ALTER",), ("CHANGE",)), _parse_alter_columns),
)
