"""health: what a snapshot consists of, as numbers from which one sees what it costs to read and to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.properties import TARGET_FILE_SIZE_BYTES
from sqlext.scan.filter.file_filter import partition_key
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState, fixed
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestFile
from sqlext.storage.location import metadata_location

_HEALTH = pa.schema(
    [
        pa.field("measure", pa.string(), nullable=False),
        pa.field("value", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("about", pa.string()),
    ]
)
# Upper ends of size classes, as parts of the target size: 0.75 and 1.8 are Iceberg's least and largest sizes of files
# that need no rewrite.
_CLASSES = ((1 / 32, "1/32"), (1 / 8, "1/8"), (3 / 4, "3/4"), (9 / 5, "9/5"))


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the table: a number of things, and the bytes that they take. None is not known."""

    name: str
    value: int | None
    bytes: int | None = None
    about: str | None = None


def measures(state: TableState) -> Iterator[Measure]:
    """All measures of the snapshot, and of the table's metadata."""
    listed: Sequence[ManifestFile] = ()
    files: list[ContentFile] = []
    if state.snapshot is not None:
        listed = state.manifests.manifests(state.io, state.snapshot)
        files += [entry.file for entry in state.manifests.live_entries_of(state.io, listed, state.metadata)]
    yield from _of_data(state, [file for file in files if file.content == Content.DATA])
    yield from _of_deletes(files)
    yield Measure("manifests", len(listed), sum(manifest.length for manifest in listed))
    yield from _of_metadata(state)


def _of_data(state: TableState, data: Sequence[ContentFile]) -> Iterator[Measure]:
    yield Measure("data files", len(data), _bytes(data))
    target = TARGET_FILE_SIZE_BYTES.of(state.metadata.properties)
    below = 0
    for part, name in _CLASSES:
        end = int(target * part)
        of_class = [file for file in data if below <= file.file_size_in_bytes < end]
        yield Measure(f"data files below {name} of the target size", len(of_class), _bytes(of_class), f"< {end} bytes")
        below = end
    large = [file for file in data if file.file_size_in_bytes >= below]
    yield Measure("larger data files", len(large), _bytes(large), f">= {below} bytes")
    yield Measure("partitions", len({partition_key(file) for file in data}))
    yield Measure("rows in data files", sum(file.record_count for file in data))


def _of_deletes(files: Sequence[ContentFile]) -> Iterator[Measure]:
    sizes: Mapping[str, int] = {file.file_path: file.file_size_in_bytes for file in files}
    rows = {file.file_path: file.record_count for file in files if file.content == Content.DATA}
    vectors = [file for file in files if file.is_deletion_vector]
    positions = [file for file in files if file.content == Content.POSITION_DELETES and not file.is_deletion_vector]
    keys = [file for file in files if file.content == Content.EQUALITY_DELETES]
    by_position = sum(file.record_count for file in (*vectors, *positions))
    dead = sum(
        sizes.get(file.referenced_data_file or "", 0) * file.record_count // max(1, _rows(rows, file))
        for file in vectors
    )
    exact = "at most: position-delete files may name a row twice" if positions else None
    yield Measure("rows deleted by position", by_position, dead if vectors and not positions else None, exact)
    yield Measure(
        "keys deleted by equality", sum(file.record_count for file in keys), None, "each deletes any older rows"
    )
    for name, deletes in (
        ("deletion vectors", vectors),
        ("position-delete files", positions),
        ("equality-delete files", keys),
    ):
        yield Measure(name, len(deletes), sum(file.content_bytes for file in deletes))


def _rows(rows: Mapping[str, int], vector: ContentFile) -> int:
    return rows.get(vector.referenced_data_file or "", 1)


def _of_metadata(state: TableState) -> Iterator[Measure]:
    metadata = state.metadata
    times = [one.timestamp_ms for one in metadata.snapshots]
    span = f"the oldest of {np.datetime64(min(times), 'ms')}Z" if times else None
    yield Measure("snapshots", len(times), None, span)
    for kind in ("branch", "tag"):
        count = sum(one.type == kind for one in metadata.refs.values())
        yield Measure("branches" if kind == "branch" else "tags", count)
    yield Measure("versions in the metadata log", len(metadata.metadata_log))
    listed = list(state.io.list(metadata_location(metadata)))
    yield Measure("files in the metadata folder", len(listed), sum(one.size for one in listed))
    current = [one.size for one in listed if one.path.rpartition("/")[2] == state.location.rpartition("/")[2]]
    yield Measure("bytes of the current metadata file", None, current[0] if current else None)


def _bytes(files: Iterable[ContentFile]) -> int:
    return sum(file.file_size_in_bytes for file in files)


def _table(state: TableState) -> pa.Table:
    rows = [
        {"measure": one.name, "value": one.value, "bytes": one.bytes, "about": one.about} for one in measures(state)
    ]
    return pa.Table.from_pylist(rows, _HEALTH)


HEALTH = MetadataTable(fixed(_HEALTH), _table)
