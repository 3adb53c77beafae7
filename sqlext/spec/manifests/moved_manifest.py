"""Manifests and manifest lists of a table that is copied elsewhere: as they were written, but for locations.

The file's own schema, header and codec are kept, so that no field of another writer is lost. Of data manifests all
bytes but those of the locations are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sqlext.errors import CorruptionError
from sqlext.spec.avro import avro_file
from sqlext.spec.avro.avro_columns import NotColumnar, locate_records
from sqlext.spec.avro.column import Integers, Octets
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.manifests.manifest import EntryStatus
from sqlext.spec.manifests.manifest_codec import RecordReader, record_reader
from sqlext.spec.manifests.path_prefix import PathOutsidePrefix, PathPrefix

_FILE_PATH_ID = 2147483546
_OF_HEADER = frozenset({"avro.schema", "avro.codec"})
_T = TypeVar("_T")
_PATH, _FORMAT = "file_path", "file_format"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A content file of a manifest. `offset` is that of a deletion vector in its file."""

    path: str
    content: Content
    is_live: bool
    file_format: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class MovedManifest:
    """The bytes of a manifest, and the files that the manifest lists, at their old locations."""

    data: bytes
    files: tuple[ListedFile, ...]


def moved_data_manifest(data: bytes, path: str, prefix: PathPrefix) -> MovedManifest:
    """The manifest at `path` with the locations of its data files replaced.

    Raises PathOutsidePrefix, and CorruptionError CORRUPT_FILE.
    """
    file = _AvroFile.of(data, path)
    try:
        return file.spliced(prefix)
    except NotColumnar:
        return file.changed(lambda record: _move_data_file(record["data_file"], prefix))


def listed_deletes(data: bytes, path: str) -> tuple[ListedFile, ...]:
    """The files of a delete manifest. Raises CorruptionError CORRUPT_FILE."""
    return tuple(map(_listed, _AvroFile.of(data, path).records))


def moved_delete_manifest(data: bytes, path: str, prefix: PathPrefix, sizes: Mapping[str, int]) -> MovedManifest:
    """The manifest at `path` with the locations in it replaced, also those of the data files that deletes are of.

    `sizes` has the new sizes in bytes of live files that name data files themselves, by old locations. Raises as
    `moved_data_manifest`.
    """
    return _AvroFile.of(data, path).changed(lambda record: _move_delete_file(record, prefix, sizes))


def moved_manifest_list(data: bytes, path: str, prefix: PathPrefix, lengths: Mapping[str, int]) -> bytes:
    """The manifest list at `path` with the locations of manifests replaced, whose new `lengths` in bytes are by old
    locations. Raises as `moved_data_manifest`."""

    def move(record: dict[str, Any]) -> None:
        old = record["manifest_path"]
        record["manifest_path"] = prefix.moved(old)
        record["manifest_length"] = lengths[old]

    file = _AvroFile.of(data, path)
    records = file.records
    for record in records:
        move(record)
    return file.encoded(records)


@dataclass(frozen=True, slots=True)
class _AvroFile:
    """A file with its own schema and header."""

    data: bytes
    path: str
    header: Mapping[str, bytes]
    start: int
    reader: RecordReader

    @classmethod
    def of(cls, data: bytes, path: str) -> _AvroFile:
        def read() -> _AvroFile:
            header, start = avro_file.decode_header(data)
            return cls(data, path, header, start, record_reader(header["avro.schema"]))

        return _decoding(read, path)

    @property
    def codec(self) -> str:
        return self.header.get("avro.codec", b"null").decode()

    @property
    def records(self) -> list[dict[str, Any]]:
        return _decoding(lambda: self.reader.records(self.data, self.start, self.codec), self.path)

    def encoded(self, records: list[dict[str, Any]]) -> bytes:
        return avro_file.encode(records, record_schema=self.reader.record_schema, **self._kept)

    def changed(self, move: Callable[[dict[str, Any]], None]) -> MovedManifest:
        """Each record decoded, changed and encoded."""
        records = self.records
        files = tuple(map(_listed, records))
        for record in records:
            move(record)
        return MovedManifest(self.encoded(records), files)

    def spliced(self, prefix: PathPrefix) -> MovedManifest:
        """The bytes of all records but for their locations. Raises NotColumnar."""
        blocks = _decoding(
            lambda: list(
                avro_file.plain_blocks(
                    self.data, self.start, codec=self.codec, smallest_record=self.reader.smallest_record
                )
            ),
            self.path,
        )
        wanted = frozenset(("status", _PATH))
        records = locate_records(self.reader.physical_schema, blocks, _FORMAT, wanted)
        size = len(records.ends)
        paths, statuses = records.columns.get(_PATH), records.columns.get("status")
        if size and not (isinstance(paths, Octets) and isinstance(statuses, Integers) and paths.valid is None):
            raise NotColumnar("a required field is null")
        if not size:
            return MovedManifest(avro_file.encode_pieces((), **self._kept), ())
        assert isinstance(paths, Octets)
        assert isinstance(statuses, Integers)
        texts = [_text(value) for value in paths.pick(range(size))]
        moved = [prefix.moved(text).encode() for text in texts]
        live = statuses.array() != EntryStatus.DELETED
        files = tuple(
            ListedFile(text, Content.DATA, is_live, "") for text, is_live in zip(texts, live.tolist(), strict=True)
        )

        def pieces() -> Iterator[bytes]:
            firsts = np.concatenate(([0], records.ends[:-1])).tolist()
            places = zip(
                firsts,
                records.starts[_PATH].tolist(),
                records.starts[_FORMAT].tolist(),
                records.ends.tolist(),
                strict=True,
            )
            for new, (first, path, behind, end) in zip(moved, places, strict=True):
                yield records.data[first:path] + avro_file.encoded_long(len(new)) + new + records.data[behind:end]

        return MovedManifest(avro_file.encode_pieces(pieces(), **self._kept), files)

    @property
    def _kept(self) -> dict[str, Any]:
        others = {key: value.decode() for key, value in self.header.items() if key not in _OF_HEADER}
        return {"schema_text": self.header["avro.schema"].decode(), "metadata": others, "codec": self.codec}


def _listed(record: Mapping[str, Any]) -> ListedFile:
    file = record["data_file"]
    return ListedFile(
        file[_PATH],
        Content(file.get("content", 0)),
        record["status"] != EntryStatus.DELETED,
        file[_FORMAT].upper(),
        file.get("content_offset"),
    )


def _move_data_file(file: dict[str, Any], prefix: PathPrefix) -> None:
    file[_PATH] = prefix.moved(file[_PATH])


def _move_delete_file(record: dict[str, Any], prefix: PathPrefix, sizes: Mapping[str, int]) -> None:
    file = record["data_file"]
    if record["status"] != EntryStatus.DELETED:
        # A removed file keeps its old size. It may be in no manifest that a later copy lists as live, or be deleted,
        # and the manifest must become the same bytes as before.
        file["file_size_in_bytes"] = sizes.get(file[_PATH], file["file_size_in_bytes"])
    file[_PATH] = prefix.moved(file[_PATH])
    if file.get("referenced_data_file") is not None:
        file["referenced_data_file"] = prefix.moved(file["referenced_data_file"])
    if Content(file.get("content", 0)) == Content.POSITION_DELETES:
        _move_bounds(file, prefix)


def _move_bounds(file: dict[str, Any], prefix: PathPrefix) -> None:
    """Replaces the bounds of the locations in position deletes, or removes them, if a truncated one is outside."""
    bounds = [
        pair
        for name in ("lower_bounds", "upper_bounds")
        for pair in file.get(name) or ()
        if pair["key"] == _FILE_PATH_ID
    ]
    try:
        moved = [prefix.moved(pair["value"].decode()).encode() for pair in bounds]
    except (PathOutsidePrefix, UnicodeDecodeError):
        for name in ("lower_bounds", "upper_bounds"):
            if file.get(name) is not None:
                file[name] = [pair for pair in file[name] if pair["key"] != _FILE_PATH_ID]
        return
    for pair, value in zip(bounds, moved, strict=True):
        pair["value"] = value


def _text(value: bytes | None) -> str:
    try:
        return (value or b"").decode()
    except UnicodeDecodeError as error:
        raise NotColumnar(str(error)) from error


def _decoding(read: Callable[[], _T], path: str) -> _T:
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # on a damaged file fastavro, zlib and pyarrow may raise nearly any exception
        reason = str(error) or type(error).__name__
        raise CorruptionError("CORRUPT_FILE", path=path, kind="manifest", reason=reason) from error
