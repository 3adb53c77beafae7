"""The rule that upserted rows hold a key once, and whether the table does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import DataError
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform
from sqlext.write.alignment import Aligner
from sqlext.write.partitioner import Partitioner
from sqlext.write.row_operation import DELETE
from sqlext.write.spill_file import SpilledRows, SpillFile
from sqlext.write.write_plan import WritePlan

NAMED_KEYS = 5

# The keys of a task are looked at in so many parts once they are spilled.
_PARTS = 32
_OPERATION = "__operation"
_CHANGE = (_OPERATION, "_file", "_pos")


class DistinctKeys:
    """Gathers the keys of one task's rows; all rows of a key must come to one task.

    A source row comes once for each row of the table that has its key, as a key is not enforced: these are told apart
    by the place of that row, its file and position. Keys that are too many for the plan's buffer wait on the local
    disk, in parts that are looked at one by one.
    """

    def __init__(self, plan: WritePlan) -> None:
        """Of the columns of the plan's schema the identifier fields are the key; they are not nested."""
        ids = frozenset(plan.identifier_field_ids)
        self._positions = [number for number, field in enumerate(plan.schema.fields) if field.id in ids]
        self._table_name = plan.table_name
        self._schema = Schema(tuple(plan.schema.fields[n] for n in self._positions))
        self._aligner = Aligner(self._schema, plan.table_name)
        self._keys: list[pa.RecordBatch] = []
        self._places: list[pa.RecordBatch] = []
        self._most = plan.buffer_size if plan.spills else None
        self._held_bytes = 0
        self._spill = SpillFile()
        self._parts: dict[object, list[SpilledRows]] = {}

    def add(self, columns: Sequence[pa.Array], changes: Sequence[pa.Array] = ()) -> None:
        """Takes rows in the table's columns, and of each its operation and the file and position of the row that it
        replaces or deletes."""
        kept = [self._aligner.align([columns[number] for number in self._positions])]
        if changes:
            kept.append(pa.RecordBatch.from_arrays([_decoded(column) for column in changes], list(_CHANGE)))
        for one, batches in zip(map(_copied, kept), (self._keys, self._places), strict=False):
            batches.append(one)
            self._held_bytes += one.get_total_buffer_size()
        if self._most is not None and self._held_bytes > self._most:
            self._spill_rows()

    def require(self) -> int:
        """DataError DUPLICATE_KEY, which names up to five keys, when two source rows have one key.

        Gives how many rows come in beyond one for each key, as the table has the key more than once.
        """
        try:
            if not self._parts:
                return self._copies(self._keys, self._places)
            self._spill_rows()
            return sum(self._copies(*self._taken(rows)) for rows in self._parts.values())
        finally:
            self.close()

    def close(self) -> None:
        """Gives back what the keys take on disk."""
        self._spill.close()

    def _spill_rows(self) -> None:
        """Puts the rows on disk in parts: all rows of a key are in one."""
        if not self._keys:
            return
        keys = pa.Table.from_batches(self._keys)
        places = pa.Table.from_batches(self._places).columns if self._places else []
        names = [str(number) for number in range(keys.num_columns + len(places))]
        rows = pa.table([*keys.columns, *places], names).combine_chunks()
        for batch in rows.to_batches():
            for part, of_part in self._divided(batch):
                held = of_part.get_total_buffer_size()
                self._parts.setdefault(part, []).append(self._spill.put([of_part], held))
        self._keys, self._places, self._held_bytes = [], [], 0

    def _divided(self, batch: pa.RecordBatch) -> Iterable[tuple[object, pa.RecordBatch]]:
        transform = BucketTransform(_PARTS)
        divisible = (field for field in self._schema.fields if transform.can_transform(field.type))
        field = next(divisible, None)
        if field is None:
            return [((), batch)]
        return Partitioner(self._schema, PartitionSpec(0, (PartitionField(field.id, 0, "part", transform),))).split(
            batch
        )

    def _taken(self, rows: Sequence[SpilledRows]) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
        count = len(self._positions)
        taken = [batch for one in rows for batch in self._spill.take(one)]
        keys = [batch.select(range(count)).rename_columns(self._names()) for batch in taken]
        if taken[0].num_columns == count:
            return keys, []
        return keys, [batch.select(range(count, batch.num_columns)).rename_columns(list(_CHANGE)) for batch in taken]

    def _names(self) -> list[str]:
        return [field.name for field in self._schema.fields]

    def _copies(self, key_batches: Sequence[pa.RecordBatch], place_batches: Sequence[pa.RecordBatch]) -> int:
        """See `require`, of all rows of some keys."""
        if not key_batches:
            return 0
        keys = pa.Table.from_batches(key_batches)
        repeated = _repeated(keys, keys.column_names)
        if not repeated.num_rows or not place_batches:
            _refuse(repeated, self._table_name)
            return 0
        names = [f"key {number}" for number in range(keys.num_columns)]
        changes = pa.Table.from_batches(place_batches)
        placed = pa.table([*keys.columns, *changes.columns], [*names, *_CHANGE])
        _refuse(_repeated(placed.drop_columns([_OPERATION]), names).rename_columns(keys.column_names), self._table_name)
        coming = placed.filter(pc.not_equal(placed.column(_OPERATION), DELETE)).select(names)
        return int(coming.num_rows - coming.group_by(names, use_threads=False).aggregate([]).num_rows)


def require_distinct(keys: pa.Table, table_name: str) -> None:
    """DataError DUPLICATE_KEY, which names up to five keys, when a row of `keys` comes twice."""
    _refuse(_repeated(keys, keys.column_names), table_name)


def are_distinct(keys: pa.Table) -> bool:
    """Whether no row of `keys` comes twice."""
    return not _repeated(keys, keys.column_names)


def _decoded(column: pa.Array) -> pa.Array:
    # Batches may have dictionaries of their own, whose values neither groups nor a file of batches can compare.
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


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
