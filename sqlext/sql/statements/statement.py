"""Statements as frozen values. Expressions, conditions and queries are slices of the user's own text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sqlext.properties import Distribution
from sqlext.spec.field_path import path_text
from sqlext.spec.identity_column import IdentityColumn
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

    `parts` is the full name: catalog, namespace levels, table. `written` is the name in the statement's spelling.
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
        return path_text(self.parts)


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column of CREATE TABLE; `type_text` is the user's own spelling."""

    name: str
    type_text: str
    nullable: bool = True
    comment: str | None = None
    primary_key: bool = False
    default_text: str | None = None
    generated_text: str | None = None
    identity: IdentityColumn | None = None


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
    """One term of ORDERED BY; without NULLS in the text they are first if ascending, else last, as in Spark."""

    term: PartitionTerm
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """CHECK (condition); `name` is None if it is not written."""

    name: str | None
    condition: Slice


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE [OR REPLACE] TABLE, REPLACE TABLE (`or_replace` and `must_exist`), with or without a query.

    `primary_key` has the columns of a PRIMARY KEY (…) clause; a column's own PRIMARY KEY is in its definition.
    `key_enforced` and `key_rely` are None if neither the word nor its opposite is written.
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
    """ALTER TABLE … ADD [CONSTRAINT name] PRIMARY KEY, or MODIFY (`modifies`), which replaces the table's key.

    The name is not kept, as the format has no place for it.
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
    """CREATE TABLE … LIKE; `properties` are added to those of the source."""

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

    Ages are milliseconds; those and the number of snapshots are None if not written.
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
    """One argument of a CALL, whose text Spark evaluates; `name` is None for a positional one."""

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
    """RESTORE TABLE … TO VERSION or TIMESTAMP AS OF; one of the two is None."""

    table: TableName
    version: str | None = None
    timestamp: Slice | None = None


@dataclass(frozen=True, slots=True)
class Undrop:
    """UNDROP TABLE."""

    name: TableName


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; `column` has the parts as written: only binding can tell an alias from a struct's name."""

    column: tuple[str, ...]
    value: Slice


@dataclass(frozen=True, slots=True)
class OnConflict:
    """ON CONFLICT [(columns)] DO NOTHING, or DO UPDATE with `assignments` and an optional condition."""

    columns: tuple[str, ...] | None = None
    assignments: tuple[Assignment, ...] = ()
    where: Slice | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO, INSERT OVERWRITE or UPSERT INTO (`upsert`).

    `columns` is None without a column list. `static_partition` has the PARTITION clause's columns in order, with None
    as the value of a dynamic one. `ctes` is a WITH before the INSERT; one after it is part of `source`. `evolving` is
    WITH SCHEMA EVOLUTION: new columns of the rows are added to the table. `options` are write options, from the hint
    OPTIONS or from WITH after the table's name. `alias` is the table's name in ON CONFLICT.
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
    """DELETE FROM; without `where` every row is deleted."""

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

    `source` is the relation after USING, without its alias: a table, a table function's call, or a query in
    parentheses. `source_name` has the parts of a source table's name, by which it is known without alias. `evolving` is
    WITH SCHEMA EVOLUTION: new columns of the source that the clauses assign are added to the table.
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
    """A column of ADD COLUMN; `type_text` and `generated_text` are the user's own spelling."""

    path: Path
    type_text: str
    required: bool = False
    comment: str | None = None
    default: Slice | None = None
    position: Position | None = None
    generated_text: str | None = None
    identity: IdentityColumn | None = None


@dataclass(frozen=True, slots=True)
class ColumnType:
    """ALTER COLUMN … TYPE."""

    path: Path
    type_text: str


@dataclass(frozen=True, slots=True)
class ColumnDefault:
    """ALTER COLUMN … SET DEFAULT; `default` is None for DROP DEFAULT."""

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
class SyncIdentity:
    """ALTER TABLE … ALTER COLUMN … SYNC IDENTITY."""

    table: TableName
    column: Path


@dataclass(frozen=True, slots=True)
class AddPartitionField:
    term: PartitionTerm
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DropPartitionField:
    """`term` is a transform; a plain column may also be the name of a partition field."""

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
    """EXPLAIN of a row-level statement; `mode` is simple, extended, codegen, cost or formatted."""

    statement: Insert | Delete | Update | Merge
    mode: str

    @property
    def table(self) -> TableName:
        """The target of the explained statement."""
        return self.statement.table


@dataclass(frozen=True, slots=True)
class Preview:
    """PREVIEW of a row-level statement: its changes of rows, or with `summary` one row of numbers."""

    statement: Insert | Delete | Update | Merge
    summary: bool = False

    @property
    def table(self) -> TableName:
        """The target of the statement."""
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
    | Preview
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
    | SyncIdentity
)
