"""Statements about views as frozen values; queries are slices of the user's own text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlext.sql.statements.statement import Slice, TableName


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A name that CREATE VIEW gives to a column of the query."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [OR REPLACE] VIEW. `current` is the catalog and namespace that the query's names are resolved in."""

    name: TableName
    query: Slice
    current: tuple[str, ...]
    columns: tuple[ViewColumn, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class AlterViewQuery:
    """ALTER VIEW … AS; `current` is as in CreateView."""

    name: TableName
    query: Slice
    current: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlterViewProperties:
    """ALTER VIEW … SET or UNSET TBLPROPERTIES; `if_exists` is about the removed properties."""

    name: TableName
    changed: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameView:
    """ALTER VIEW … RENAME TO."""

    name: TableName
    to: TableName


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP VIEW."""

    name: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowViews:
    """SHOW VIEWS; `namespace` begins with the catalog. `pattern` is Spark's: `*` for any text, `|` between choices."""

    namespace: tuple[str, ...]
    pattern: str | None = None


ViewStatement: TypeAlias = CreateView | AlterViewQuery | AlterViewProperties | RenameView | DropView | ShowViews
