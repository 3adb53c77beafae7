"""Statements of Delta that describe a table, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlext.sql.statements.statement import TableName


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """DESCRIBE HISTORY; `most` None is all snapshots."""

    table: TableName
    most: int | None = None


@dataclass(frozen=True, slots=True)
class DescribeDetail:
    """DESCRIBE DETAIL."""

    table: TableName


DescriptionStatement: TypeAlias = DescribeHistory | DescribeDetail
