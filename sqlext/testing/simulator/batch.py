"""What a pipeline is given: changes of rows, in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from sqlext.spec.row_kind import ROW_KIND

Row: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["+I", "+U", "-D"]


@dataclass(frozen=True)
class Change:
    """A row that is new (`+I`), that replaces the one of its key (`+U`), or that goes (`-D`, with its last values)."""

    kind: Kind
    row: Row

    def __str__(self) -> str:
        return f"{self.kind} {', '.join(f'{name}={value!r}' for name, value in self.row.items())}"


@dataclass(frozen=True)
class Batch:
    """Changes of different keys.

    `number` is the batch's own, and greater than those of all batches before: a batch that is delivered again has the
    same, so that a pipeline can tell. `schema` has the table's columns, `key` those of its key.
    """

    number: int
    changes: Sequence[Change]
    schema: pa.Schema
    key: Sequence[str]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each change, with its kind in the column `_row_kind`, as `LocalTable.upsert` takes it."""
        return [{**one.row, ROW_KIND.name: one.kind} for one in self.changes]

    def upserted(self) -> list[dict[str, Any]]:
        """The rows that are there after the batch."""
        return [dict(one.row) for one in self.changes if one.kind != "-D"]

    def deleted(self) -> list[dict[str, Any]]:
        """The keys that are gone after the batch."""
        return [{name: one.row[name] for name in self.key} for one in self.changes if one.kind == "-D"]

    def to_arrow(self) -> pa.Table:
        """`rows()` in the table's types; `spark.createDataFrame(batch.to_arrow())` makes a DataFrame of it."""
        return pa.Table.from_pylist(self.rows(), schema=self.schema.append(pa.field(ROW_KIND.name, pa.string())))


def last_wins(stored: Row | None, change: Change) -> Row | None:
    """What a table has under a key after a change: its row, or None for none. The model of a plain upsert."""
    return None if change.kind == "-D" else change.row
