"""Statements as frozen values. Expressions, conditions and queries are slices of the user's own text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of the statement's text: `text == statement[start:end]`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of a sqlext catalog.

    `parts` is the whole name: catalog, namespace levels, table. `written` is the name as the statement spells it, by
    which a table without alias is known in the statement's expressions.
    """

    parts: tuple[str, ...]
    written: tuple[str, ...] = ()

    @property
    def catalog(self) -> str:
        return self.parts[0]

    @property
    def table(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column of CREATE TABLE; `type_text` is the user's own spelling."""

    name: str
    type_text: str
    nullable: bool = True
    comment: str | None = None
    primary_key: bool = False
    default_text: str | None = None


TransformName: TypeAlias = Literal["identity", "bucket", "truncate", "year", "month", "day", "hour"]


@dataclass(frozen=True, slots=True)
class PartitionTerm:
    """One term of PARTITIONED BY: `column` is dotted by parts, `parameter` the bucket count or truncation width."""

    transform: TransformName
    column: tuple[str, ...]
    parameter: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SortTerm:
    """One term of ORDERED BY; Spark's rule for nulls when it is not written: first ascending, last descending."""

    term: PartitionTerm
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """CHECK (condition); `name` is None where none is written."""

    name: str | None
    condition: Slice


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE [OR REPLACE] TABLE, REPLACE TABLE (`or_replace` and `must_exist`), with or without a query.

    `primary_key` has the columns of a PRIMARY KEY (…) clause; a key that is written at a column is marked there. The
    two that follow are ENFORCED and RELY, None where neither they nor their opposites are written.
    """

    name: TableName
    if_not_exists: bool = False
    or_replace: bool = False
    must_exist: bool = False
    columns: tuple[ColumnDefinition, ...] = ()
    primary_key: tuple[str, ...] = ()
    key_enforced: bool | None = None
    key_rely: bool | None = None
    checks: tuple[Check, ...] = ()
    partitioning: tuple[PartitionTerm, ...] = ()
    ordering: tuple[SortTerm, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    location: str | None = None
    provider: str | None = None
    as_select: Slice | None = None


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """ALTER TABLE … ADD CONSTRAINT name CHECK (condition)."""

    table: TableName
    check: Check


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """ALTER TABLE … DROP CONSTRAINT [IF EXISTS] name."""

    table: TableName
    constraint: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddPrimaryKey:
    """ALTER TABLE … ADD [CONSTRAINT name] PRIMARY KEY, or MODIFY for one in the place of the table's key.

    The format has no place for the name.
    """

    table: TableName
    columns: tuple[str, ...]
    enforced: bool = False
    rely: bool = False
    modifies: bool = False


@dataclass(frozen=True, slots=True)
class DropPrimaryKey:
    """ALTER TABLE … DROP PRIMARY KEY [IF EXISTS]."""

    table: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """CREATE TABLE … LIKE; `properties` come to those of the source."""

    name: TableName
    source: TableName
    if_not_exists: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """SHOW CREATE TABLE."""

    name: TableName


@dataclass(frozen=True, slots=True)
class CreateReference:
    """ALTER TABLE … CREATE [OR REPLACE] or REPLACE BRANCH or TAG (`must_exist`), at a snapshot or at main's head.

    Retention: ages in milliseconds, None where the statement leaves them out.
    """

    table: TableName
    type: Literal["branch", "tag"]
    ref: str
    snapshot_id: int | None = None
    or_replace: bool = False
    must_exist: bool = False
    if_not_exists: bool = False
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DropReference:
    """ALTER TABLE … DROP BRANCH or TAG."""

    table: TableName
    type: Literal["branch", "tag"]
    ref: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a CALL; no name for one by position. Spark evaluates the text."""

    name: str | None
    value: Slice


@dataclass(frozen=True, slots=True)
class Call:
    """CALL [catalog.]system.procedure(…). `current` is the current catalog and namespace, for names in arguments."""

    catalog: str
    procedure: str
    arguments: tuple[Argument, ...]
    current: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restore:
    """RESTORE TABLE … TO VERSION or TIMESTAMP AS OF; one of the two is there."""

    table: TableName
    version: str | None = None
    timestamp: Slice | None = None


@dataclass(frozen=True, slots=True)
class Undrop:
    """UNDROP TABLE."""

    name: TableName


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; `column` has the parts as written, so that binding can tell an alias from a struct field."""

    column: tuple[str, ...]
    value: Slice


@dataclass(frozen=True, slots=True)
class OnConflict:
    """ON CONFLICT [(columns)] DO NOTHING, or DO UPDATE with `assignments` and perhaps a condition."""

    columns: tuple[str, ...] | None = None
    assignments: tuple[Assignment, ...] = ()
    where: Slice | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO, INSERT OVERWRITE or UPSERT INTO (`upsert`).

    `columns` is None without a column list. `static_partition` has the PARTITION clause's columns in order, with None
    as the value of a dynamic one. `ctes` is a WITH in front of the INSERT; one behind it is part of `source`.
    `evolving` is WITH SCHEMA EVOLUTION: the table takes on what columns the rows bring. `options` are those of a
    DataFrame's write, as the hint OPTIONS or WITH behind the table's name gives them. `alias` is what ON CONFLICT calls
    the table.
    """

    table: TableName
    source: Slice
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrite: bool = False
    upsert: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    alias: str | None = None
    conflict: OnConflict | None = None
    evolving: bool = False
    static_partition: tuple[tuple[str, Slice | None], ...] = ()
    ctes: Slice | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM; without `where` every row goes."""

    table: TableName
    alias: str | None = None
    where: Slice | None = None
    ctes: Slice | None = None


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE TABLE; `static_partition` has the columns and values of its PARTITION clause."""

    table: TableName
    static_partition: tuple[tuple[str, Slice], ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE … SET … [WHERE …]."""

    table: TableName
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: Slice | None = None
    ctes: Slice | None = None


ClauseKind: TypeAlias = Literal["matched", "not matched", "not matched by source"]
ClauseAction: TypeAlias = Literal["update", "delete", "insert"]


@dataclass(frozen=True, slots=True)
class MergeClause:
    """One WHEN clause; `star` is UPDATE SET * or INSERT *, with no assignments."""

    kind: ClauseKind
    action: ClauseAction
    condition: Slice | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE INTO.

    `source` is the relation between USING and its alias: a table name, or a query in its parentheses.
    `source_name` is the parts of a source that is a table, by which it is known when it has no alias. `evolving` is
    WITH SCHEMA EVOLUTION: the table takes on the source's columns that the clauses assign.
    """

    table: TableName
    source: Slice
    condition: Slice
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    source_columns: tuple[str, ...] = ()
    source_name: tuple[str, ...] = ()
    ctes: Slice | None = None
    evolving: bool = False


@dataclass(frozen=True, slots=True)
class ColumnAddition:
    """A column of ADD COLUMN; `type_text` is the user's own spelling."""

    path: Path
    type_text: str
    required: bool = False
    comment: str | None = None
    default: Slice | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class ColumnType:
    """ALTER COLUMN … TYPE."""

    path: Path
    type_text: str


@dataclass(frozen=True, slots=True)
class ColumnDefault:
    """ALTER COLUMN … SET DEFAULT; None for DROP DEFAULT."""

    path: Path
    default: Slice | None


@dataclass(frozen=True, slots=True)
class ReplacedColumns:
    """REPLACE COLUMNS."""

    columns: tuple[ColumnAddition, ...]


ColumnChange: TypeAlias = (
    ColumnAddition
    | ColumnType
    | ColumnDefault
    | ReplacedColumns
    | DropColumn
    | RenameColumn
    | MoveColumn
    | SetComment
    | SetRequired
    | SetIdentifierFields
    | DropIdentifierFields
)


@dataclass(frozen=True, slots=True)
class AlterColumns:
    """ALTER TABLE that changes columns or the key, in one commit."""

    table: TableName
    changes: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class AddPartitionField:
    term: PartitionTerm
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DropPartitionField:
    """`term` is a transform, or as a plain column it may be the name of a partition field."""

    term: PartitionTerm


@dataclass(frozen=True, slots=True)
class ReplacePartitionField:
    old: PartitionTerm
    new: AddPartitionField


@dataclass(frozen=True, slots=True)
class AlterPartitioning:
    """ALTER TABLE … ADD, DROP or REPLACE PARTITION FIELD."""

    table: TableName
    change: AddPartitionField | DropPartitionField | ReplacePartitionField


@dataclass(frozen=True, slots=True)
class AlterWriteOrder:
    """ALTER TABLE … WRITE: how later writes sort and distribute rows; None leaves the distribution as it is."""

    table: TableName
    ordering: tuple[SortTerm, ...]
    distribution: Distribution | None


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a change; `mode` is simple, extended, codegen, cost or formatted."""

    statement: Insert | Delete | Update | Merge
    mode: str

    @property
    def table(self) -> TableName:
        """The table that the statement would change."""
        return self.statement.table


Statement: TypeAlias = (
    AddConstraint
    | DropConstraint
    | AddPrimaryKey
    | DropPrimaryKey
    | CreateReference
    | DropReference
    | CreateTable
    | CreateTableLike
    | ShowCreateTable
    | Explain
    | Restore
    | Undrop
    | Call
    | Insert
    | Delete
    | Truncate
    | Update
    | Merge
    | AlterColumns
    | AlterPartitioning
    | AlterWriteOrder
)
