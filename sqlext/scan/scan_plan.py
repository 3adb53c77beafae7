"""The files that may match a predicate at a snapshot, with the deletes that apply to each (spec: "Scan Planning").

Position deletes are resolved to one bitmap per data file. Equality deletes are left as groups: `resolved_keys` makes
positions of them if they are few, else Spark joins. A row of a task is deleted by a file of one of the task's equality
groups if keys are equal (also null and null), the file's sequence number is larger than the task's and, unless the
group is global, their partition ordinals are equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap64

from sqlext.errors import CorruptionError
from sqlext.scan.deletes.delete_file_index import DeleteFileIndex, sequence_number
from sqlext.scan.deletes.deleted_positions import deleted_positions, leaves_no_row
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.files.readable_files import require_readable
from sqlext.scan.filter.file_filter import FileFilter, PartitionKey, partition_key
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.spec.expression import AlwaysTrue, Predicate, referenced_field_ids
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class FileScanTask:
    """A data file to read; tasks of one partition share an ordinal.

    `position_deletes` is a portable 64-bit roaring bitmap of `deleted_rows` row positions. `equality_groups` are
    indices of the `ScanPlan.equality_groups` that may delete rows of the file.
    """

    file: ContentFile
    sequence_number: int
    partition_ordinal: int
    position_deletes: bytes | None = None
    deleted_rows: int = 0
    equality_groups: tuple[int, ...] = ()

    @property
    def spec_id(self) -> int:
        return self.file.spec_id

    @property
    def partition(self) -> tuple[Any, ...]:
        """Stored values, in the order of the fields of spec `spec_id`."""
        return self.file.partition

    @property
    def has_equality_deletes(self) -> bool:
        return bool(self.equality_groups)

    def deleted_positions(self) -> BitMap64:
        """`position_deletes` as a set, without equality deletes."""
        return BitMap64() if self.position_deletes is None else BitMap64.deserialize(self.position_deletes)


def deletes_all_rows(task: FileScanTask, positions: Mapping[str, BitMap64]) -> bool:
    """Whether the file has no live row left once `positions`, live rows by path of the file, are deleted."""
    going = positions.get(task.file.file_path, BitMap64())
    if task.deleted_rows + len(going) < task.file.record_count:
        return False
    return leaves_no_row(task.file, DeletedPositions.of(task.deleted_positions() | going))


@dataclass(frozen=True, slots=True)
class EqualityDeleteFile:
    """An equality-delete file for tasks of `partition_ordinal`, or None for all partitions."""

    file: ContentFile
    sequence_number: int
    partition_ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class EqualityDeleteGroup:
    """Equality-delete files that one join can apply: of one list of key columns (ascending field ids), and all global
    or all not."""

    equality_ids: tuple[int, ...]
    is_global: bool
    files: tuple[EqualityDeleteFile, ...]


@dataclass(frozen=True, slots=True)
class ScanPlan:
    tasks: tuple[FileScanTask, ...] = ()
    equality_groups: tuple[EqualityDeleteGroup, ...] = ()

    @property
    def record_count(self) -> int:
        """Rows of all tasks after position deletes, before equality deletes."""
        return sum(task.file.record_count - task.deleted_rows for task in self.tasks)

    def by_path(self) -> Mapping[str, FileScanTask]:
        """The tasks by the path of their file."""
        return {task.file.file_path: task for task in self.tasks}


def plan_scan(
    io: FileIO,
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    predicate: Predicate,
    *,
    manifests: ManifestCache,
    position_deletes: PositionDeleteCache | None = None,
    keep_deleted: bool = False,
    with_metrics: bool = True,
    all_deletes: bool = False,
    paths: AbstractSet[str] | None = None,
) -> ScanPlan:
    """The files of `snapshot` that may have rows matching `predicate`, which must still be filtered; none for None.

    `position_deletes` caches decoded delete files. With `keep_deleted` files whose rows are all deleted by position are
    included. Without `with_metrics` files may lack metrics. Equality groups have the deletes that may delete a row
    matching `predicate`, with `all_deletes` any row. With `paths` only data files at these are included. Raises
    UnsupportedError for files that cannot be read, NotFoundError or CorruptionError for manifests and delete files.
    """
    if snapshot is None:
        return ScanPlan()
    schema = scan_schema(metadata, snapshot, predicate)
    specs = metadata.specs_by_id()
    files = FileFilter(predicate, schema=schema, specs=specs, paths=paths)
    for_deletes = FileFilter(AlwaysTrue(), schema=schema, specs=specs) if all_deletes else files
    listed = manifests.manifests(io, snapshot)
    data_manifests = matching_manifests(ManifestContent.DATA, listed, files)
    delete_manifests = matching_manifests(ManifestContent.DELETES, listed, for_deletes)

    needs_metrics = with_metrics or bool(delete_manifests)
    data = manifests.matching_entries(io, data_manifests, metadata, files, with_metrics=needs_metrics)
    for entry in data:
        require_readable(entry.file)
    index = applied_deletes(io, metadata, data, delete_manifests, for_deletes, manifests=manifests)
    deleted = deleted_positions(io, data, index, position_deletes or PositionDeleteCache(0))
    if not keep_deleted:
        data = [entry for entry in data if not leaves_no_row(entry.file, deleted.get(entry.file.file_path))]
    return _assemble(data, index, deleted)


def scan_schema(metadata: TableMetadata, snapshot: Snapshot, predicate: Predicate) -> Schema:
    """The schema that `predicate` refers to: the current one if it has all its fields, otherwise the snapshot's."""
    current = metadata.schema()
    if all(current.field_or_none(field_id) is not None for field_id in referenced_field_ids(predicate)):
        return current
    return metadata.schemas_by_id().get(snapshot.schema_id, current) if snapshot.schema_id is not None else current


def applied_deletes(
    io: FileIO,
    metadata: TableMetadata,
    data: Sequence[ManifestEntry],
    delete_manifests: Iterable[ManifestFile],
    files: FileFilter,
    *,
    manifests: ManifestCache,
) -> DeleteFileIndex:
    """The delete files that match `files`, of those manifests that are not older than all of `data`. Raises as
    `ManifestCache.entries`."""
    oldest = min(map(sequence_number, data), default=None)
    newer = () if oldest is None else [one for one in delete_manifests if one.sequence_number >= oldest]
    columns = metrics_columns((metadata.schema(), *reversed(metadata.schemas)))
    entries = manifests.matching_entries(io, newer, metadata, files)
    return DeleteFileIndex(entries, specs=metadata.specs_by_id(), columns=columns)


def matching_manifests(
    content: ManifestContent, manifests: Iterable[ManifestFile], files: FileFilter
) -> list[ManifestFile]:
    """The manifests of that content which may have files that match."""
    return [one for one in manifests if one.content == content and files.manifest_may_match(one)]


def _assemble(
    data: Sequence[ManifestEntry], index: DeleteFileIndex, deleted: Mapping[str, DeletedPositions]
) -> ScanPlan:
    ordinals: dict[PartitionKey, int] = {}
    groups = _EqualityGroups()
    has_deletes = bool(index)
    tasks = []
    for entry in data:
        ordinal = ordinals.setdefault(partition_key(entry.file), len(ordinals))
        positions = deleted.get(entry.file.file_path)
        tasks.append(
            FileScanTask(
                entry.file,
                sequence_number(entry),
                ordinal,
                positions.bitmap if positions else None,
                positions.count if positions else 0,
                groups.applying(index.equality_deletes(entry), index, ordinal) if has_deletes else (),
            )
        )
    return ScanPlan(tuple(tasks), groups.freeze())


class _EqualityGroups:
    """Collects the equality deletes that apply to any task, in order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[tuple[int, ...], bool], int] = {}
        self._files: dict[int, dict[str, EqualityDeleteFile]] = defaultdict(dict)

    def applying(
        self, deletes: Iterable[ManifestEntry], index: DeleteFileIndex, partition_ordinal: int
    ) -> tuple[int, ...]:
        """Adds deletes that may apply to a task of the partition; returns the indices of their groups."""
        met = set()
        for delete in deletes:
            is_global = index.is_global(delete)
            number = self._number(delete.file, is_global)
            met.add(number)
            if delete.file.file_path not in self._files[number]:
                require_readable(delete.file)
                self._files[number][delete.file.file_path] = EqualityDeleteFile(
                    delete.file, sequence_number(delete), None if is_global else partition_ordinal
                )
        return tuple(sorted(met))

    def freeze(self) -> tuple[EqualityDeleteGroup, ...]:
        return tuple(
            EqualityDeleteGroup(equality_ids, is_global, tuple(self._files[number].values()))
            for (equality_ids, is_global), number in self._numbers.items()
        )

    def _number(self, file: ContentFile, is_global: bool) -> int:
        if not file.equality_ids:
            raise CorruptionError(
                "CORRUPT_FILE", path=file.file_path, kind="equality delete file", reason="its entry has no equality ids"
            )
        return self._numbers.setdefault((tuple(sorted(file.equality_ids)), is_global), len(self._numbers))
