"""Position-delete and equality-delete files of format version 2 (spec: Delete Formats)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyroaring import BitMap64

from sqlext.errors import UnsupportedError
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.storage.file_io import FileIO
from sqlext.write.data_writer import ContentWriter
from sqlext.write.encoding import Encodings
from sqlext.write.metrics import FULL, MetricsConfig
from sqlext.write.parquet_file import ParquetFile, ParquetLayout
from sqlext.write.write_plan import WritePlan

FILE_PATH_ID = 2147483546
POS_ID = 2147483545
POSITION_DELETE_SCHEMA = Schema(
    (
        NestedField(FILE_PATH_ID, "file_path", StringType(), required=True),
        NestedField(POS_ID, "pos", LongType(), required=True),
    )
)
# Bounds of paths are not truncated: readers find the data file of the deletes by them.
_FULL_METRICS = MetricsConfig(FULL)
_POSITION_ENCODINGS = Encodings(dictionary=("file_path",), delta=("pos",))
_GROUP_ROWS = 1_000_000


def write_position_deletes(
    io: FileIO,
    plan: WritePlan,
    positions: Mapping[str, BitMap64],
    partitions: Mapping[str, tuple[int, tuple[Any, ...]]],
) -> list[ContentFile]:
    """Writes deleted `positions`, by data file path; `partitions` has each path's spec id and partition.

    One file per partition or per data file, by the plan's granularity, sorted by path and position. Raises
    StorageError; then no file is left.
    """
    groups: dict[tuple[tuple[int, tuple[Any, ...]], str], list[str]] = defaultdict(list)
    for path in sorted(positions):
        if positions[path]:
            groups[partitions[path], path if plan.delete_granularity == "file" else ""].append(path)
    layout = ParquetLayout.of(
        POSITION_DELETE_SCHEMA,
        _FULL_METRICS,
        plan.compression,
        plan.compression_level,
        chunks=plan.chunks.without_columns(),
    )
    written: list[ContentFile] = []
    try:
        for number, (((spec_id, partition), _), paths) in enumerate(groups.items(), 1):
            location = plan.file_location(spec_id, partition, f"{plan.operation_id}-{number:05d}-deletes.parquet")
            rows = {path: positions[path] for path in paths}
            written.append(_write_position_delete_file(io, location, layout, rows, spec_id, partition))
    except BaseException:
        for file in written:
            io.delete(file.file_path)
        raise
    return written


def _write_position_delete_file(
    io: FileIO,
    location: str,
    layout: ParquetLayout,
    positions: Mapping[str, BitMap64],
    spec_id: int,
    partition: tuple[Any, ...],
) -> ContentFile:
    file = ParquetFile(io, location, layout, _POSITION_ENCODINGS)
    try:
        for group in _row_groups(_position_batches(layout, positions)):
            file.write_row_group(group)
        return _referencing(file.finish(Content.POSITION_DELETES, spec_id, partition), tuple(positions))
    except BaseException:
        file.abort()
        raise


def _referencing(file: ContentFile, paths: Sequence[str]) -> ContentFile:
    return replace(file, referenced_data_file=paths[0]) if len(paths) == 1 else file


def _position_batches(layout: ParquetLayout, positions: Mapping[str, BitMap64]) -> Iterator[pa.RecordBatch]:
    """Batches of one path and at most `_GROUP_ROWS` rows: each row has the path, in memory too."""
    for path, bitmap in positions.items():
        values = position_array(bitmap)
        for start in range(0, len(values), _GROUP_ROWS):
            some = values[start : start + _GROUP_ROWS]
            columns = [pa.repeat(path, len(some)), pa.array(some)]
            yield pa.RecordBatch.from_arrays(columns, schema=layout.arrow_schema)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """The batches in groups of at least `_GROUP_ROWS` rows, but for the last, and less than twice as many."""
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        group.append(batch)
        rows += batch.num_rows
        if rows >= _GROUP_ROWS:
            yield group
            group, rows = [], 0
    if group:
        yield group


class EqualityDeleteWriter:
    """Writes keys whose rows are deleted from data files of lower sequence numbers (spec: Equality Delete Files).

    Delete files lie in the partition of the rows that they delete, so the partition must follow from the key. Raises
    as `DataWriter`; after any error call `abort`.
    """

    def __init__(self, io: FileIO, plan: WritePlan, equality_ids: Sequence[int], task_id: int, attempt: int) -> None:
        """Raises UnsupportedError UNSUPPORTED_WRITE for a key field inside a struct."""
        positions = {field.id: position for position, field in enumerate(plan.schema.fields)}
        for id in equality_ids:
            if id not in positions:
                feature = f"equality deletes by the nested field {plan.schema.column_name(id)}"
                raise UnsupportedError("UNSUPPORTED_WRITE", feature=feature)
        self.positions = sorted(positions[id] for id in equality_ids)
        schema = Schema(tuple(plan.schema.fields[position] for position in self.positions), plan.schema.schema_id)
        self.names = [field.name for field in schema.fields]
        prefix = f"{task_id:05d}-{attempt}"
        self._writer = ContentWriter(io, plan, schema, Content.EQUALITY_DELETES, prefix, tuple(sorted(equality_ids)))

    def write(self, keys: pa.RecordBatch) -> None:
        """Takes keys: the columns of the equality ids, in the order of the table's columns."""
        self._writer.write(keys.columns)

    def close(self) -> list[ContentFile]:
        """Writes the remaining keys and returns all files, which are durable."""
        return self._writer.close()

    def abort(self) -> None:
        """Removes every file of this writer."""
        self._writer.abort()
