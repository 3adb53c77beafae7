"""The rule that source rows of an upsert have distinct keys."""

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

# The number of parts into which spilled keys are divided.
_PARTS = 32
_OPERATION = "__operation"
_CHANGE = (_OPERATION, "_file", "_pos")


class DistinctKeys:
    """Collects the keys of one task's rows; all rows of a key must come to one task.

    A key is not enforced, so a source row comes once for each target row of its key: such copies differ in the file and
    position of the target row. Keys beyond the plan's buffer are spilled to the local disk, in parts that are checked
    one by one.
    """

    def __init__(self, plan: WritePlan) -> None:
        """The key is the identifier fields of the plan's schema, none of them nested."""
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
        """Takes rows in the table's columns; `changes` are their operations, and the files and positions of the target
        rows that they replace or delete."""
        kept = [self._aligner.align([columns[number] for number in self._positions])]
        if changes:
            kept.append(pa.RecordBatch.from_arrays([_decoded(column) for column in changes], list(_CHANGE)))
        for one, batches in zip(map(_copied, kept), (self._keys, self._places), strict=False):
            batches.append(one)
            self._held_bytes += one.get_total_buffer_size()
        if self._most is not None and self._held_bytes > self._most:
            self._spill_rows()

    def require(self) -> int:
        """The number of new rows beyond one per key, which come of keys that the target has more than once.

        Raises DataError DUPLICATE_KEY, which names up to five keys, if two source rows have one key.
        """
        try:
            if not self._parts:
                return self._copies(self._keys, self._places)
            self._spill_rows()
            return sum(self._copies(*self._taken(rows)) for rows in self._parts.values())
        finally:
            self.close()

    def close(self) -> None:
        """Frees the disk space of spilled keys."""
        self._spill.close()

    def _spill_rows(self) -> None:
        """Spills the rows in parts: all rows of a key are in one."""
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
        """As `require`, for the rows of one part."""
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
    """Raises DataError DUPLICATE_KEY, which names up to five keys, if `keys` has a row twice."""
    _refuse(_repeated(keys, keys.column_names), table_name)


def are_distinct(keys: pa.Table) -> bool:
    """Whether `keys` has no row twice."""
    return not _repeated(keys, keys.column_names)


def _decoded(column: pa.Array) -> pa.Array:
    # Each batch may have a dictionary of its own, whose codes cannot be compared with those of another.
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    # Without a copy a column would keep the memory of its whole batch.
    return pa.concat_batches([batch, batch.slice(0, 0)])


def _repeated(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """The columns `names` of rows that are there more than once, each value once."""
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
    """Up to five keys, as the text of a message."""
    rows = keys.slice(0, NAMED_KEYS).to_pylist()
    return ", ".join(json.dumps(key, default=str, ensure_ascii=False) for key in rows)
