"""Results of statements: rows, and for DML one row of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COUNT_COLUMNS = ("num_affected_rows", "num_inserted_rows", "num_updated_rows", "num_deleted_rows")


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of rows that a DML statement changed; None if unknown, as after equality deletes."""

    inserted: int | None = 0
    updated: int | None = 0
    deleted: int | None = 0
    affected: int | None = None

    def row(self) -> list[int | None]:
        """Values of `COUNT_COLUMNS`; `affected` is by default the sum of the others."""
        known = [n for n in (self.inserted, self.updated, self.deleted) if n is not None]
        return [sum(known) if self.affected is None else self.affected, self.inserted, self.updated, self.deleted]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result rows for Spark."""

    rows: Sequence[Sequence[Any]] = ()


def count_schema() -> Mapping[str, Any]:
    """The struct of `COUNT_COLUMNS`, as Spark's JSON."""
    return struct([(name, "long") for name in COUNT_COLUMNS])


def struct(columns: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    """A struct of nullable columns, as Spark's JSON; each type is Spark's type name or its JSON."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return {"type": "struct", "fields": fields}
