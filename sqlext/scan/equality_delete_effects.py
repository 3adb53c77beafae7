"""The equality-delete files of a snapshot that may still delete rows, and the data files that they apply to."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.scan.deletes.delete_file_index import DeleteFileIndex
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, scan_schema
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class ApplicableEqualityDeletes:
    """`live` may delete rows of `data_files` (paths), and of no others. `dead` have no effect: no data file in their
    scope has a smaller sequence number, overlapping bounds, and a row that is not deleted by position."""

    live: tuple[ContentFile, ...] = ()
    dead: tuple[ContentFile, ...] = ()
    data_files: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.live or self.dead)


def applicable_equality_deletes(
    io: FileIO,
    metadata: TableMetadata,
    snapshot: Snapshot,
    whole: ScanPlan,
    condition: Predicate,
    *,
    manifests: ManifestCache,
) -> ApplicableEqualityDeletes:
    """The use of the equality-delete files of `snapshot` that may delete a row matching `condition`, by partitions and
    metrics; `whole` is the snapshot's plan without predicate.

    Raises NotFoundError, CorruptionError or UnsupportedError for manifests.
    """
    specs = metadata.specs_by_id()
    files = FileFilter(condition, schema=scan_schema(metadata, snapshot, condition), specs=specs)
    deletes = [one for one in manifests.manifests(io, snapshot) if one.content == ManifestContent.DELETES]
    in_files = manifests.live_entries_of(io, deletes, metadata)
    entries = [entry for entry in in_files if entry.file.content == Content.EQUALITY_DELETES]
    columns = metrics_columns((metadata.schema(), *reversed(metadata.schemas)))
    index = DeleteFileIndex((entry for entry in entries if entry.file.record_count), specs=specs, columns=columns)
    applying = [
        (task.file, frozenset(one.file.key for one in index.equality_deletes(_entry(task)))) for task in whole.tasks
    ]
    applied = frozenset[ContentKey]().union(*(keys for _, keys in applying))
    wanted = frozenset[ContentKey]().union(*(keys for file, keys in applying if keys and files.file_may_match(file)))
    chosen = [one.file for one in entries if not one.file.record_count or files.file_may_match(one.file)]
    live = tuple(file for file in chosen if file.key in wanted)
    keys_of_live = {file.key for file in live}
    return ApplicableEqualityDeletes(
        live,
        tuple(file for file in chosen if file.key not in applied),
        frozenset(file.file_path for file, keys in applying if not keys.isdisjoint(keys_of_live)),
    )


def _entry(task: FileScanTask) -> ManifestEntry:
    return ManifestEntry(EntryStatus.EXISTING, None, task.sequence_number, task.sequence_number, task.file)
