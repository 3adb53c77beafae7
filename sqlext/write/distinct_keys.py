"""The rule that upserted rows hold a key once, and whether the table does."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import DataError
from sqlext.spec.schema import Schema
from sqlext.write.alignment import Aligner
from sqlext.write.row_operation import DELETE
from sqlext.write.write_plan import WritePlan

NAMED_KEYS = 5

_OPERATION = "__operation"
_CHANGE = (_OPERATION, "_file", "_pos")


class DistinctKeys:
    """Gathers the keys of one task's rows; all rows of a key must come to one task.

    A source row comes once for each row of the table that has its key, as a key is not enforced: these are told apart
    by the place of that row, its file and position.
    """

    def __init__(self, plan: WritePlan) -> None:
        """Of the columns of the plan's schema the identifier fields are the key; they are not nested."""
        ids = frozenset(plan.identifier_field_ids)
        self._positions = [number for number, field in enumerate(plan.schema.fields) if field.id in ids]
        self._table_name = plan.table_name
        self._aligner = Aligner(Schema(tuple(plan.schema.fields[n] for n in self._positions)), plan.table_name)
        self._keys: list[pa.RecordBatch] = []
        self._places: list[pa.RecordBatch] = []

    def add(self, columns: Sequence[pa.Array], changes: Sequence[pa.Array] = ()) -> None:
        """Takes rows in the table's columns, and of each its operation and the file and position of the row that it
        replaces or deletes."""
        self._keys.append(_copied(self._aligner.align([columns[number] for number in self._positions])))
        if changes:
            self._places.append(_copied(pa.RecordBatch.from_arrays(list(changes), list(_CHANGE))))

    def require(self) -> int:
        """DataError DUPLICATE_KEY, which names up to five keys, when two source rows have one key.

        Gives how many rows come in beyond one for each key, as the table has the key more than once.
        """
        if not self._keys:
            return 0
        keys = pa.Table.from_batches(self._keys)
        repeated = _repeated(keys, keys.column_names)
        if not repeated.num_rows or not self._places:
            _refuse(repeated, self._table_name)
            return 0
        names = [f"key {number}" for number in range(keys.num_columns)]
        changes = pa.Table.from_batches(self._places)
        placed = pa.table([*keys.columns, *changes.columns], [*names, *_CHANGE])
        _refuse(_repeated(placed.drop_columns([_OPERATION]), names).rename_columns(keys.column_names), self._table_name)
        coming = placed.filter(pc.not_equal(placed.column(_OPERATION), DELETE)).select(names)
        return int(coming.num_rows - coming.group_by(names, use_threads=False).aggregate([]).num_rows)


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
