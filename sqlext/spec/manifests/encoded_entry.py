"""Manifest entries whose `data_file` stays encoded (spec: Manifests).

A manifest that is made of other manifests' entries has new values before `data_file`, and the same bytes in it. To copy
them takes a fiftieth of the time of decoding and encoding them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlext.spec.avro import avro_file
from sqlext.spec.avro.avro_columns import LocatedRecords, NotColumnar, locate_records
from sqlext.spec.avro.column import Columns, Integers, Mask, Octets
from sqlext.spec.manifests.content_file import ContentKey
from sqlext.spec.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    file_record,
    manifest_header,
)
from sqlext.spec.manifests.manifest_codec import (
    FileWriter,
    RecordReader,
    RecordWriter,
    entry_writer,
    file_writer,
    record_reader,
)
from sqlext.spec.manifests.manifest_columns import partition_column
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema

_CHUNK_BYTES = 4 * 1024 * 1024
_STATUSES = tuple(EntryStatus)
_FIRST_ROW_ID = "first_row_id"
_WANTED = frozenset(
    (
        *("status", "snapshot_id", "sequence_number", "file_sequence_number"),
        *("file_path", "record_count", _FIRST_ROW_ID, "content_offset"),
    )
)
_NULL, _PRESENT = b"\x00", b"\x02"


@dataclass(frozen=True, slots=True)
class EncodedEntry:
    """An entry as `ManifestEntry`; `data_file` has the bytes of its file, with the `first_row_id` that is stated."""

    status: EntryStatus
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    key: ContentKey
    partition: tuple[Any, ...]
    record_count: int
    first_row_id: int | None
    data_file: bytes

    @property
    def is_live(self) -> bool:
        return self.status != EntryStatus.DELETED

    def with_status(self, status: EntryStatus, snapshot_id: int | None) -> EncodedEntry:
        """The entry as of what snapshot `snapshot_id` did with its file."""
        if self.status == status and self.snapshot_id == snapshot_id:
            return self
        return EncodedEntry(
            status,
            snapshot_id,
            self.sequence_number,
            self.file_sequence_number,
            self.key,
            self.partition,
            self.record_count,
            self.first_row_id,
            self.data_file,
        )

    @property
    def existing(self) -> EncodedEntry:
        """The entry in a manifest of a later snapshot."""
        return self.with_status(EntryStatus.EXISTING, self.snapshot_id)


@dataclass(frozen=True, slots=True)
class EntryFormat:
    """What the bytes of a manifest of a table depend on. Source columns that `schema` lacks are looked up in
    `others`."""

    format_version: int
    schema: Schema
    spec: PartitionSpec
    others: Sequence[Schema] = ()

    @property
    def writer(self) -> RecordWriter:
        return entry_writer(self.format_version, self.spec.partition_type(self.schema, self.others))

    @property
    def file_writer(self) -> FileWriter:
        return file_writer(self.format_version, self.spec.partition_type(self.schema, self.others))


def encoded_entry(entry: ManifestEntry, to: EntryFormat) -> EncodedEntry:
    """Raises ValueError for a partition value that is not of its field's type."""
    file = entry.file
    return EncodedEntry(
        entry.status,
        entry.snapshot_id,
        entry.sequence_number,
        entry.file_sequence_number,
        file.key,
        file.partition,
        file.record_count,
        file.first_row_id,
        avro_file.encoded_value(file_record(file, to.writer.partition), to.file_writer.record_schema),
    )


def encoded_entries(manifests: Iterable[tuple[ManifestFile, bytes]], to: EntryFormat) -> Iterator[EncodedEntry]:
    """All entries of manifests of one spec, in the encoding of `to`, with inherited values as in `decode_manifest`.

    Sequence numbers that a manifest without its own would give are None. Bytes are copied if their file's schema allows
    it. Raises CorruptionError CORRUPT_FILE.
    """
    chunk: list[_Plain] = []
    room = _CHUNK_BYTES
    for manifest, data in manifests:
        plain = _Plain.of(manifest, data, to)
        if chunk and (plain is None or plain.reader is not chunk[0].reader or room <= 0):
            yield from _of_chunk(chunk, to)
            chunk, room = [], _CHUNK_BYTES
        if plain is None:
            yield from _re_encoded(manifest, data, to)
        else:
            chunk.append(plain)
            room -= sum(len(block) for _, block in plain.blocks)
    yield from _of_chunk(chunk, to)


def encode_entries(entries: Iterable[EncodedEntry], content: ManifestContent, to: EntryFormat) -> bytes:
    """The bytes of a manifest. An entry with None as snapshot id or sequence number inherits it at the commit."""

    @cache
    def before_file(status: int, *numbers: int | None) -> bytes:
        return avro_file.encoded_long(status) + b"".join(map(_optional_long, numbers))

    return avro_file.encode_pieces(
        (before_file(*_numbers(entry, to.format_version)) + entry.data_file for entry in entries),
        schema_text=to.writer.schema_text,
        metadata=manifest_header(to.schema, to.spec, content, to.format_version),
        codec="deflate",
    )


def _numbers(entry: EncodedEntry, format_version: int) -> tuple[Any, ...]:
    if format_version == 1:
        return entry.status, entry.snapshot_id
    return entry.status, entry.snapshot_id, entry.sequence_number, entry.file_sequence_number


def _optional_long(value: int | None) -> bytes:
    return _NULL if value is None else _PRESENT + avro_file.encoded_long(value)


@dataclass(frozen=True, slots=True)
class _Plain:
    """A manifest's uncompressed blocks, whose files' bytes may be copied."""

    manifest: ManifestFile
    file: bytes
    reader: RecordReader
    blocks: Sequence[tuple[int, bytes]]

    @classmethod
    def of(cls, manifest: ManifestFile, data: bytes, to: EntryFormat) -> _Plain | None:
        """None if the schema is another, or the file is damaged."""
        try:
            header, start = avro_file.decode_header(data)
            reader = record_reader(header["avro.schema"])
            if not reader.copies_files(to.file_writer):
                return None
            codec = header.get("avro.codec", b"null").decode()
            blocks = avro_file.plain_blocks(data, start, codec=codec, smallest_record=reader.smallest_record)
            return cls(manifest, data, reader, tuple(blocks))
        except MemoryError:
            raise
        except Exception:  # on a damaged file fastavro, zlib and pyarrow may raise nearly any exception
            return None

    @property
    def count(self) -> int:
        return sum(count for count, _ in self.blocks)


def _of_chunk(chunk: Sequence[_Plain], to: EntryFormat) -> Iterator[EncodedEntry]:
    """The entries of manifests of one schema; each manifest alone if together they cannot be read as columns."""
    if not chunk:
        return
    located = _located_if_columnar(chunk, to)
    if located is not None:
        yield from located
    elif len(chunk) == 1:
        yield from _re_encoded(chunk[0].manifest, chunk[0].file, to)
    else:
        for one in chunk:
            yield from _of_chunk([one], to)


def _located_if_columnar(chunk: Sequence[_Plain], to: EntryFormat) -> Sequence[EncodedEntry] | None:
    """As `_located`; None if the entries cannot be read as columns."""
    try:
        return _located(chunk, to)
    except MemoryError:
        raise
    except Exception:  # NotColumnar, and what conversions of partition values raise on a damaged file
        return None


def _re_encoded(manifest: ManifestFile, data: bytes, to: EntryFormat) -> Iterator[EncodedEntry]:
    """The entries of a manifest, decoded and encoded. Raises CorruptionError."""
    for entry in decode_manifest(data, manifest, schema=to.schema, specs={to.spec.spec_id: to.spec}):
        encoded = encoded_entry(entry, to)
        if manifest.sequence_number == UNASSIGNED_SEQUENCE_NUMBER:
            number, file_number = _assigned(entry.sequence_number), _assigned(entry.file_sequence_number)
            encoded = replace(encoded, sequence_number=number, file_sequence_number=file_number)
        yield encoded


def _assigned(number: int | None) -> int | None:
    return None if number == UNASSIGNED_SEQUENCE_NUMBER else number


def _located(chunk: Sequence[_Plain], to: EntryFormat) -> list[EncodedEntry]:
    """The entries of manifests whose records are found in one pass. Raises NotColumnar."""
    reader = chunk[0].reader
    conversions = reader.partition_conversions(to.spec.partition_type(to.schema))
    wanted = _WANTED | {key for key, _ in conversions}
    blocks = [block for one in chunk for block in one.blocks]
    records = locate_records(reader.physical_schema, blocks, "file_format", wanted)
    columns, size = records.columns, len(records.ends)
    if not size:
        return []
    status, paths, counts = columns["status"], columns["file_path"], columns["record_count"]
    if not (isinstance(status, Integers) and isinstance(paths, Octets) and isinstance(counts, Integers)):
        raise NotColumnar("a required field is null")
    statuses, record_counts = status.array(), counts.array()
    if status.valid is not None or statuses.min() < 0 or statuses.max() >= len(EntryStatus):
        raise NotColumnar("a status is not known")
    if paths.valid is not None or counts.valid is not None:
        raise NotColumnar("a required field is null")
    inherited = _Inherited([one.manifest for one in chunk], [one.count for one in chunk], statuses)
    partition = [
        partition_column(columns.get(key), reader.field_types.get(key), convert, size).pick(range(size))
        for key, convert in conversions
    ]
    row_ids, given = inherited.row_ids(columns, record_counts)
    return list(
        map(
            EncodedEntry,
            map(_STATUSES.__getitem__, statuses.tolist()),
            inherited.snapshot_ids(columns),
            inherited.sequence_numbers(columns),
            inherited.file_sequence_numbers(columns),
            zip(_texts(paths, size), _numbers_or_nulls(columns, "content_offset", size), strict=True),
            zip(*partition, strict=True) if partition else [()] * size,
            record_counts.tolist(),
            row_ids,
            _pieces(records, reader, given),
        )
    )


def _texts(column: Octets, size: int) -> list[str]:
    try:
        return [path.decode() for path in column.pick(range(size))]  # type: ignore[union-attr]
    except UnicodeDecodeError as error:
        raise NotColumnar(str(error)) from error


def _numbers_or_nulls(columns: Columns, name: str, size: int) -> list[int | None]:
    column = columns.get(name)
    assert column is None or isinstance(column, Integers)
    return [None] * size if column is None else column.pick(range(size))


def _pieces(records: LocatedRecords, reader: RecordReader, given: Mapping[int, int]) -> Iterator[bytes]:
    """The bytes of each `data_file`, the first row id of some rows being put in place of a null."""
    fields = [field["name"] for field in reader.physical_schema["fields"][-1]["type"]["fields"]]
    starts = records.starts[fields[0]].tolist()
    data = records.data
    at_ids = records.starts[_FIRST_ROW_ID].tolist() if given else []
    for row, (start, end) in enumerate(zip(starts, records.ends.tolist(), strict=True)):
        if row in given:
            null = at_ids[row]
            yield data[start:null] + _optional_long(given[row]) + data[null + 1 : end]
        else:
            yield data[start:end]


class _Inherited:
    """Values that entries of several manifests inherit from their manifests (spec: Sequence Number Inheritance; First
    Row ID Inheritance)."""

    def __init__(
        self, manifests: Sequence[ManifestFile], counts: Sequence[int], statuses: npt.NDArray[np.int64]
    ) -> None:
        self._manifests = manifests
        self._of = np.repeat(np.arange(len(manifests)), counts)
        self._firsts = np.cumsum([0, *counts[:-1]])
        self._is_live: Mask = statuses != EntryStatus.DELETED
        self._numbers = np.asarray([one.sequence_number for one in manifests])[self._of]
        self._own: Mask = (statuses == EntryStatus.ADDED) | (self._numbers == 0)

    def snapshot_ids(self, columns: Columns) -> list[Any]:
        values, there = self._column(columns, "snapshot_id")
        of_manifest = np.asarray([one.added_snapshot_id for one in self._manifests])[self._of]
        ids: list[Any] = np.where(there, values, of_manifest).tolist()
        return ids

    def sequence_numbers(self, columns: Columns) -> list[int | None]:
        """Raises NotColumnar if an entry has none."""
        values, there = self._column(columns, "sequence_number")
        if not (there | self._own).all():
            raise NotColumnar("an entry has no sequence number")
        return self._filled(values, there)

    def file_sequence_numbers(self, columns: Columns) -> list[int | None]:
        return self._filled(*self._column(columns, "file_sequence_number"))

    def row_ids(
        self, columns: Columns, record_counts: npt.NDArray[np.int64]
    ) -> tuple[list[int | None], dict[int, int]]:
        """The first row id of each entry, and by row those that the entry does not have itself."""
        values, there = self._column(columns, _FIRST_ROW_ID)
        first = np.asarray([one.first_row_id or 0 for one in self._manifests])[self._of]
        gives = np.asarray([one.first_row_id is not None for one in self._manifests])[self._of]
        new = ~there & self._is_live & gives
        before = np.cumsum(np.where(new, record_counts, 0)) - np.where(new, record_counts, 0)
        assigned = first + before - before[np.minimum(self._firsts, len(before) - 1)][self._of]
        ids = np.where(new, assigned, values)
        rows = np.flatnonzero(new)
        return _with_nulls(ids, there | new), dict(zip(rows.tolist(), assigned[rows].tolist(), strict=True))

    def _column(self, columns: Columns, name: str) -> tuple[npt.NDArray[np.int64], Mask]:
        column = columns.get(name)
        if column is None:
            return np.zeros(len(self._of), np.int64), np.zeros(len(self._of), np.bool_)
        assert isinstance(column, Integers)
        return column.array(), np.ones(len(self._of), np.bool_) if column.valid is None else column.valid

    def _filled(self, values: npt.NDArray[np.int64], there: Mask) -> list[int | None]:
        gives = self._own & (self._numbers != UNASSIGNED_SEQUENCE_NUMBER)
        return _with_nulls(np.where(there, values, self._numbers), there | gives)


def _with_nulls(values: npt.NDArray[np.int64], there: Mask) -> list[int | None]:
    numbers: list[int | None] = values.tolist()
    if there.all():
        return numbers
    return [number if has else None for number, has in zip(numbers, there.tolist(), strict=True)]
