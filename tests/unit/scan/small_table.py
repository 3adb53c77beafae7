"""A table of hand-made manifests over a folder, and an I/O that records what is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Barrier, get_ident
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import (
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    encode_manifest,
    encode_manifest_list,
    summarise_partitions,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import IntegerType, NestedField, StringType
from sqlext.storage.file_io import LocalFileIO

SCHEMA = Schema((NestedField(1, "id", IntegerType()), NestedField(2, "p", StringType())))
BY_P = PartitionSpec(1, (PartitionField(2, 1000, "p", parse_transform("identity")),))


class RecordingIO(LocalFileIO):
    """Records the names of opened files, and the threads that read whole ones."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.threads: set[int] = set()

    def read(self, location: str) -> bytes:
        self.opened.append(Path(location).name)
        self.threads.add(get_ident())
        return super().read(location)

    def open_input(self, location: str) -> BinaryIO:
        self.opened.append(Path(location).name)
        return super().open_input(location)


class MeetingIO(LocalFileIO):
    """Lets no file be opened before another thread opens one, too. Objects of the bucket `bucket` are files below
    `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._barrier = Barrier(2, timeout=20)

    def read(self, location: str) -> bytes:
        self._barrier.wait()
        return super().read(self._file(location))

    def open_input(self, location: str) -> BinaryIO:
        self._barrier.wait()
        return super().open_input(self._file(location))

    def _file(self, location: str) -> str:
        return location.replace("s3://bucket", str(self._folder))


@dataclass
class SmallTable:
    folder: Path
    manifests: list[ManifestFile] = field(default_factory=list)

    @property
    def metadata(self) -> TableMetadata:
        made = new_table_metadata(SCHEMA, BY_P, UNSORTED, str(self.folder), {}, 2, "uuid", 0)
        return replace(made, partition_specs=(UNPARTITIONED, BY_P))

    def add_manifest(
        self,
        name: str,
        entries: Iterable[ManifestEntry],
        sequence_number: int,
        content: ManifestContent = ManifestContent.DATA,
        spec: PartitionSpec = BY_P,
        **changes: Any,
    ) -> None:
        """Writes a manifest, whose entries may inherit their sequence numbers."""
        entries = list(entries)
        data = encode_manifest(entries, schema=SCHEMA, spec=spec, content=content, format_version=2)
        path = self.folder / name
        path.write_bytes(data)
        rows = sum(entry.file.record_count for entry in entries)
        summaries = summarise_partitions([one.file.partition for one in entries], spec, SCHEMA)
        manifest = ManifestFile(
            str(path), len(data), spec.spec_id, content, sequence_number, sequence_number, 1,
            len(entries), 0, 0, rows, 0, 0, summaries,
        )  # fmt: skip
        self.manifests.append(replace(manifest, **changes))

    def snapshot(self) -> Snapshot:
        data = encode_manifest_list(
            self.manifests, snapshot_id=1, parent_snapshot_id=None, sequence_number=9, format_version=2
        )
        path = self.folder / "list.avro"
        path.write_bytes(data)
        return Snapshot(1, None, 9, 0, str(path), {}, 0)

    def position_deletes(self, name: str, deletes: Mapping[str, Iterable[int]]) -> str:
        """Writes a position-delete file; returns its path."""
        rows = [(path, position) for path, positions in deletes.items() for position in positions]
        columns = {
            "file_path": pa.array([row[0] for row in rows], pa.string()),
            "pos": pa.array([row[1] for row in rows], pa.int64()),
        }
        path = self.folder / name
        pq.write_table(pa.table(columns), path)
        return str(path)


def added(file: ContentFile, sequence_number: int | None = None) -> ManifestEntry:
    return ManifestEntry(EntryStatus.ADDED, None, sequence_number, sequence_number, file)


def data_file(path: str, p: str | None = "a", rows: int = 10, **changes: Any) -> ContentFile:
    return replace(ContentFile(Content.DATA, path, "PARQUET", 1, (p,), rows, 100), **changes)


def position_delete_file(path: str, p: str | None = "a", **changes: Any) -> ContentFile:
    return replace(ContentFile(Content.POSITION_DELETES, path, "PARQUET", 1, (p,), 1, 100), **changes)


def equality_delete_file(path: str, p: str | None = "a", **changes: Any) -> ContentFile:
    file = ContentFile(Content.EQUALITY_DELETES, path, "PARQUET", 1, (p,), 1, 100, equality_ids=(1,))
    return replace(file, **changes)


def bounds(low: int, high: int) -> dict[str, Any]:
    """Metrics of column `id` without nulls."""
    return {
        "value_counts": {1: 10},
        "null_value_counts": {1: 0},
        "lower_bounds": {1: low.to_bytes(4, "little", signed=True)},
        "upper_bounds": {1: high.to_bytes(4, "little", signed=True)},
    }
