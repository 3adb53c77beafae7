"""Manifest entries as columns (spec: Manifests), with a tenth of the memory and time of one object per entry."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.spec.avro import avro_file
from sqlext.spec.avro.avro_columns import NotColumnar, decode_columns
from sqlext.spec.avro.column import Columns, Integers, Lists, Mask, Octets, Pairs
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry, ManifestFile
from sqlext.spec.manifests.manifest_codec import METRICS, Conversion, RecordReader, record_reader
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema

_CHUNK_BYTES = 4 * 1024 * 1024
_NO_VALUE_BYTES = 64
# Indexing a tuple costs a tenth of a call of an enumeration.
_CONTENTS, _STATUSES = tuple(Content), tuple(EntryStatus)
_UNPACK = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """The values of a partition field, dictionary-encoded as `values[codes[row]]`; a single code holds for all rows."""

    codes: npt.NDArray[np.integer[Any]]
    values: tuple[Any, ...]

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes) + _NO_VALUE_BYTES * len(self.values)

    def pick(self, rows: Sequence[int]) -> list[Any]:
        if len(self.codes) == 1:
            return [self.values[0]] * len(rows)
        return [self.values[code] for code in self.codes[np.asarray(rows, np.int64)].tolist()]


@dataclass(frozen=True, slots=True)
class ManifestColumns:
    """Consecutive entries of a manifest, with the values that they inherit as in `decode_manifest`.

    A column that is None has only nulls.
    """

    size: int
    spec_id: int
    status: Integers
    snapshot_id: Integers | None
    sequence_number: Integers | None
    file_sequence_number: Integers | None
    content: Integers
    file_path: Octets
    record_count: Integers
    partition: tuple[PartitionColumn, ...]
    columns: Columns

    @property
    def nbytes(self) -> int:
        own = (self.status, self.snapshot_id, self.sequence_number, self.file_sequence_number, self.content)
        held = (*own, self.file_path, self.record_count, *self.partition, *self.columns.values())
        return sum(column.nbytes for column in held if column is not None)

    @property
    def is_live(self) -> Mask:
        live: Mask = self.status.array() != EntryStatus.DELETED
        return live

    def is_at(self, paths: AbstractSet[str]) -> Mask:
        """Whether the path of each file is one of `paths`. Deletion vectors of one commit share a path."""
        wanted = pa.array([path.encode() for path in paths], pa.binary())
        found = pc.is_in(self.file_path.one_or_all(), value_set=wanted).to_numpy(zero_copy_only=False)
        return np.broadcast_to(found, (self.size,))

    def metric(self, name: str, field_id: int) -> Integers | Octets | None:
        """The metric `name`, one of METRICS, of a field in each file, with nulls; None if no file has it."""
        metrics = self.columns.get(name)
        assert metrics is None or isinstance(metrics, Pairs)
        return None if metrics is None else metrics.columns.get(field_id)

    def equality_ids(self, rows: Sequence[int]) -> list[tuple[int, ...] | None]:
        ids = self.columns.get("equality_ids")
        assert ids is None or isinstance(ids, Lists)
        return [None] * len(rows) if ids is None else ids.pick(rows)

    def entries(self, rows: Sequence[int] | None = None, *, with_metrics: bool = True) -> list[ManifestEntry]:
        """The entries at the indices `rows`, all for None. Without metrics they are much cheaper."""
        rows = range(self.size) if rows is None else rows
        if not len(rows):
            return []
        metrics = [self._pick(name, rows) if with_metrics else [None] * len(rows) for name in METRICS]
        files = map(
            ContentFile,
            map(_CONTENTS.__getitem__, self.content.pick(rows)),  # type: ignore[arg-type]
            (path.decode() for path in self.file_path.pick(rows)),  # type: ignore[union-attr]
            self._formats(rows),
            [self.spec_id] * len(rows),
            self._partitions(rows),
            self.record_count.pick(rows),
            self._pick("file_size_in_bytes", rows),
            *metrics,
            *(self._pick(name, rows) for name in ("key_metadata", "split_offsets")),
            self.equality_ids(rows),
            *(self._pick(name, rows) for name in ("sort_order_id", "first_row_id")),
            self._texts("referenced_data_file", rows),
            *(self._pick(name, rows) for name in ("content_offset", "content_size_in_bytes")),
        )
        numbers = (self.snapshot_id, self.sequence_number, self.file_sequence_number)
        return list(
            map(
                ManifestEntry,
                map(_STATUSES.__getitem__, self.status.pick(rows)),  # type: ignore[arg-type]
                *([None] * len(rows) if column is None else column.pick(rows) for column in numbers),
                files,
            )
        )

    def _pick(self, name: str, rows: Sequence[int]) -> list[Any]:
        column = self.columns.get(name)
        return [None] * len(rows) if column is None else list(column.pick(rows))

    def _texts(self, name: str, rows: Sequence[int]) -> list[str | None]:
        return [None if value is None else value.decode() for value in self._pick(name, rows)]

    def _formats(self, rows: Sequence[int]) -> Iterator[str]:
        for name in self._pick("file_format", rows):
            yield name.decode().upper()

    def _partitions(self, rows: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        if not self.partition:
            return iter([()] * len(rows))
        return zip(*(column.pick(rows) for column in self.partition), strict=True)


def decode_manifest_columns(
    data: bytes, manifest: ManifestFile, *, schema: Schema, specs: Mapping[int, PartitionSpec]
) -> tuple[ManifestColumns, ...]:
    """The entries of `decode_manifest` as columns, in parts of a few megabytes.

    Raises NotColumnar for a manifest that only `decode_manifest` can read, or whose error it reports.
    """
    spec = specs.get(manifest.spec_id)
    if spec is None:
        raise NotColumnar(f"partition spec {manifest.spec_id} is not known")
    try:
        header, start = avro_file.decode_header(data)
        reader = record_reader(header["avro.schema"])
        codec = header.get("avro.codec", b"null").decode()
        conversions = reader.partition_conversions(spec.partition_type(schema))
        parts, next_row_id = [], manifest.first_row_id
        blocks_of_file = avro_file.plain_blocks(data, start, codec=codec, smallest_record=reader.smallest_record)
        for blocks in _chunks(blocks_of_file):
            columns = decode_columns(reader.physical_schema, blocks, "file_format")
            if columns:
                part, next_row_id = _part(columns, manifest, reader, conversions, next_row_id)
                parts.append(part)
        return tuple(parts)
    except MemoryError:
        raise
    except Exception as error:  # on a damaged file zlib and pyarrow may raise nearly any exception
        raise NotColumnar(str(error)) from error


def _chunks(blocks: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Groups of blocks that fit into the caches of a processor."""
    chunk: list[tuple[int, bytes]] = []
    size = 0
    for block in blocks:
        chunk.append(block)
        size += len(block[1])
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _part(
    columns: Columns,
    manifest: ManifestFile,
    reader: RecordReader,
    conversions: Sequence[tuple[str, Conversion | None]],
    next_row_id: int | None,
) -> tuple[ManifestColumns, int | None]:
    """The columns of a chunk, and the first row id that the next chunk's first file without one inherits."""
    types = reader.field_types
    columns = dict(columns)
    for name, column in columns.items():
        if isinstance(column, Octets) and types.get(name) == "string":
            column.one_or_all().cast(pa.string())  # raises for bytes that are no text
    status, path, rows = (columns.pop(name) for name in ("status", "file_path", "record_count"))
    if not (isinstance(status, Integers) and isinstance(path, Octets) and isinstance(rows, Integers)):
        raise NotColumnar("a required field is null")
    size = status.size
    content = columns.pop("content", None) or Integers(size, np.zeros(1, np.int64))
    assert isinstance(content, Integers)
    for column, known in ((status, len(EntryStatus)), (content, len(Content))):
        if column.valid is not None or column.values.min() < 0 or column.values.max() >= known:
            raise NotColumnar("a status or content is not known")
    if "file_format" not in columns or "file_size_in_bytes" not in columns or path.valid or rows.valid:
        raise NotColumnar("a required field is null")
    own = np.ones(size, np.bool_) if manifest.sequence_number == 0 else status.array() == EntryStatus.ADDED
    first_row_id, next_row_id = _row_ids(columns.pop("first_row_id", None), status, rows, next_row_id)
    sequence_number = _filled(columns.pop("sequence_number", None), manifest.sequence_number, own)
    if sequence_number is None or sequence_number.valid is not None:
        raise NotColumnar("an entry has no sequence number")
    part = ManifestColumns(
        size,
        manifest.spec_id,
        status,
        _filled(columns.pop("snapshot_id", None), manifest.added_snapshot_id, np.ones(size, np.bool_)),
        sequence_number,
        _filled(columns.pop("file_sequence_number", None), manifest.sequence_number, own),
        content,
        path,
        rows,
        tuple(partition_column(columns.pop(key, None), types.get(key), convert, size) for key, convert in conversions),
        {**columns, "first_row_id": first_row_id},
    )
    return part, next_row_id


def _filled(column: Any, value: int, where: Mask) -> Integers | None:
    """`column` with `value` in place of nulls in `where`; None if only nulls remain."""
    if column is None:
        if not where.any():
            return None
        return Integers(len(where), np.asarray([value]), None if where.all() else where)
    assert isinstance(column, Integers)
    if column.valid is None:
        return column
    filled = where & ~column.valid
    valid = column.valid | filled
    return Integers(column.size, np.where(filled, value, column.array()), None if valid.all() else valid)


def _row_ids(column: Any, status: Integers, rows: Integers, next_row_id: int | None) -> tuple[Any, int | None]:
    """First row ids, assigned in order to live files without one, and the next (spec: First Row ID Inheritance)."""
    if next_row_id is None:
        return column, None
    without = np.ones(status.size, np.bool_) if column is None else ~_present(column)
    new = without & (status.array() != EntryStatus.DELETED)
    if not new.any():
        return column, next_row_id
    counts = np.where(new, rows.array(), 0)
    ends = np.cumsum(counts)
    assigned = next_row_id + ends - counts
    known = np.zeros(status.size, np.int64) if column is None else column.array()
    valid = ~without | new
    ids = Integers(status.size, np.where(new, assigned, known), None if valid.all() else valid)
    return ids, next_row_id + int(ends[-1])


def _present(column: Integers) -> Mask:
    return np.ones(column.size, np.bool_) if column.valid is None else column.valid


def partition_column(column: Any, type: Any, convert: Conversion | None, size: int) -> PartitionColumn:
    """The stored values of a partition field, of which `column` has those of Avro type `type`, or None for nulls."""
    if column is None:
        return PartitionColumn(np.zeros(1, np.uint8), (None,))
    assert isinstance(column, (Integers, Octets))
    if isinstance(column, Integers):
        distinct, codes = np.unique(column.values, return_inverse=True)
        values: list[Any] = [bool(value) if type == "boolean" else value for value in distinct.tolist()]
    else:
        encoded = column.one_or_all().dictionary_encode()
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        values = [_plain(value, type) for value in encoded.dictionary.to_pylist()]
    stored = [value if convert is None else convert(value) for value in values]
    if column.valid is not None:
        codes = np.where(column.valid, np.broadcast_to(codes, (size,)), len(stored))
        stored.append(None)
    if len(stored) == 1:
        codes = np.zeros(1, np.uint8)
    return PartitionColumn(codes.astype(np.min_scalar_type(len(stored))), tuple(stored))


def _plain(value: bytes, type: Any) -> Any:
    """The value of Avro type `type` in the bytes of a column of octets."""
    if type == "string":
        return value.decode()
    return _UNPACK[type].unpack(value)[0] if isinstance(type, str) and type in _UNPACK else value
