"""The rule that upserted rows hold a key once."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import DataError
from sqlext.spec.schema import Schema
from sqlext.write.alignment import Aligner
from sqlext.write.write_plan import WritePlan

NAMED_KEYS = 5


class DistinctKeys:
    """Gathers the keys of one task's rows; all rows of a key must come to one task.

    A source row comes once for each row of the table that it replaces, as a key is not enforced: these are told apart
    by the replaced row's place, its file and position.
    """

    def __init__(self, plan: WritePlan) -> None:
        """Of the columns of the plan's schema the identifier fields are the key; they are not nested."""
        ids = frozenset(plan.identifier_field_ids)
        self._positions = [number for number, field in enumerate(plan.schema.fields) if field.id in ids]
        self._table_name = plan.table_name
        self._aligner = Aligner(Schema(tuple(plan.schema.fields[n] for n in self._positions)), plan.table_name)
        self._keys: list[pa.RecordBatch] = []
        self._places: list[pa.RecordBatch] = []

    def add(self, columns: Sequence[pa.Array], place: Sequence[pa.Array] = ()) -> None:
        """Takes rows in the table's columns, and of each the file and position of the row that it replaces."""
        self._keys.append(_copied(self._aligner.align([columns[number] for number in self._positions])))
        if place:
            file, position = place
            self._places.append(_copied(pa.RecordBatch.from_arrays([file, position], ["_file", "_pos"])))

    def require(self) -> None:
        """DataError DUPLICATE_KEY, which names up to five keys, when two source rows have one key."""
        if not self._keys:
            return
        keys = pa.Table.from_batches(self._keys)
        repeated = _repeated(keys, keys.column_names)
        if repeated.num_rows and self._places:
            names = [f"key {number}" for number in range(keys.num_columns)]
            places = pa.Table.from_batches(self._places)
            placed = pa.table([*keys.columns, *places.columns], [*names, *places.column_names])
            repeated = _repeated(placed, names).rename_columns(keys.column_names)
        _refuse(repeated, self._table_name)


def require_distinct(keys: pa.Table, table_name: str) -> None:
    """DataError DUPLICATE_KEY, which names up to five keys, when a row of `keys` comes twice."""
    _refuse(_repeated(keys, keys.column_names), table_name)


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    # A column on its own would keep all columns of the batch that it came in.
    return pa.concat_batches([batch, batch.slice(0, 0)])


def _repeated(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """The columns `names` of what comes more than once, once each."""
    groups = rows.group_by(rows.column_names, use_threads=False).aggregate([([], "count_all")])
    if groups.num_rows == rows.num_rows:
        return groups.slice(0, 0).select(names)
    repeated = groups.filter(pc.greater(groups.column("count_all"), 1)).select(names)
    return repeated.group_by(names, use_threads=False).aggregate([])


def _refuse(repeated: pa.Table, table_name: str) -> None:
    if repeated.num_rows == 0:
        return
    raise DataError("DUPLICATE_KEY", table=table_name, keys=named_keys(repeated))


def named_keys(keys: pa.Table) -> str:
    """Up to five keys as a message names them."""
    rows = keys.slice(0, NAMED_KEYS).to_pylist()
    return ", ".join(json.dumps(key, default=str, ensure_ascii=False) for key in rows)
