"""Statements that look after a table as frozen values, beside the procedures for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlext.sql.statements.statement import Slice, TableName


@dataclass(frozen=True, slots=True)
class Optimize:
    """OPTIMIZE, which compacts the files that may have rows of the condition; with `full` all of them.

    With `z_order` they are rewritten in the order of these columns' z-values."""

    table: TableName
    where: Slice | None = None
    full: bool = False
    z_order: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Vacuum:
    """VACUUM; `retain_hours` None is the time that the table's properties say."""

    table: TableName
    retain_hours: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class AnalyzeTable:
    """ANALYZE TABLE … COMPUTE STATISTICS; `columns` None: of the table alone, empty: of all columns."""

    table: TableName
    columns: tuple[tuple[str, ...], ...] | None = None


MaintenanceStatement: TypeAlias = Optimize | Vacuum | AnalyzeTable
