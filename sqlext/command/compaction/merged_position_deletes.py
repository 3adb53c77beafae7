"""Merging of position-delete files, into one of a partition or one of a data file; no data file is rewritten."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from pyroaring import BitMap64

from sqlext.command.change.row_level import Target, delete_rows
from sqlext.command.compaction.rewrite_options import RewriteOptions
from sqlext.command.environment import Environment
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.errors import SqlextError
from sqlext.properties import DELETE_GRANULARITY
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.filter.file_filter import FileFilter, PartitionKey, partition_key
from sqlext.scan.rewrite_candidates import sized_delete_groups
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile

_LOG = logging.getLogger("sqlext")


@dataclass(frozen=True, slots=True)
class DeleteFilesRewritten:
    """Numbers of replaced and new delete files, and their bytes."""

    replaced_files: int = 0
    added_files: int = 0
    replaced_bytes: int = 0
    added_bytes: int = 0

    def row(self) -> Sequence[int]:
        """The values of REWRITTEN_DELETES_COLUMNS."""
        return (self.replaced_files, self.added_files, self.replaced_bytes, self.added_bytes)


REWRITTEN_DELETES_COLUMNS = (
    ("rewritten_delete_files_count", "integer"),
    ("added_delete_files_count", "integer"),
    ("rewritten_bytes_count", "long"),
    ("added_bytes_count", "long"),
)


def merge_position_deletes(environment: Environment, target: Target, partitions: Set[PartitionKey]) -> bool:
    """Replaces the position-delete files of `partitions` by fewer ones, in one commit; returns whether it did.

    It does not if more than half as many would remain. Positions in data files that are removed are left out. Raises
    errors of a scan and of writing, and StaleRead if another commit removed a data file with such positions.
    """
    replaced = [file for file in _position_deletes(environment, target) if partition_key(file) in partitions]
    tasks = _tasks(environment, target)
    positions = _positions(target, replaced, tasks, PositionDeleteCache())
    by_file = DELETE_GRANULARITY.of(target.table.metadata.properties) == "file"
    files = len(positions) if by_file else len({partition_key(tasks[path].file) for path in positions})
    if 2 * files > len(replaced):
        return False
    _commit(environment, target, replaced, positions, tasks)
    return True


def rewrite_position_deletes(
    environment: Environment, target: Target, predicate: Predicate, options: RewriteOptions
) -> DeleteFilesRewritten:
    """Replaces position-delete files of partitions that may match, by groups that are due by the options' rules, and
    drops positions in data files that are gone. From format version 3 on, deletion vectors take their place.

    With partial progress a commit that fails is a warning, else its error is raised.
    """
    metadata = target.table.metadata
    matching = FileFilter(predicate, schema=metadata.schema(), specs=metadata.specs_by_id())
    partitions: dict[PartitionKey, list[ContentFile]] = defaultdict(list)
    for file in _position_deletes(environment, target):
        if matching.partition_may_match(file):
            partitions[partition_key(file)].append(file)
    groups = [group for files in partitions.values() for group in sized_delete_groups(files, options.rules)]
    if not groups:
        return DeleteFilesRewritten()
    tasks, cache, done = _tasks(environment, target), PositionDeleteCache(), DeleteFilesRewritten()
    for chunk in options.by_commit(options.in_job_order(groups, lambda group: group)):
        replaced = [file for group in chunk for file in group]
        try:
            summary = _commit(environment, target, replaced, _positions(target, replaced, tasks, cache), tasks)
        except SqlextError as failure:
            if options.commits is None:
                raise
            _LOG.warning("%d delete files of %s are not rewritten: %s", len(replaced), target.name, failure)
            continue
        done = DeleteFilesRewritten(
            done.replaced_files + len(replaced),
            done.added_files + int(summary.get("added-delete-files", 0)),
            done.replaced_bytes + _bytes(replaced),
            done.added_bytes + int(summary.get("added-files-size", 0)),
        )
    return done


def _bytes(files: Collection[ContentFile]) -> int:
    return sum(file.file_size_in_bytes for file in files)


def _position_deletes(environment: Environment, target: Target) -> Sequence[ContentFile]:
    """The live position-delete files, without deletion vectors."""
    return [
        entry.file
        for entry in environment.scans.live_entries(target.version)
        if entry.file.content == Content.POSITION_DELETES and not entry.file.is_deletion_vector
    ]


def _tasks(environment: Environment, target: Target) -> Mapping[str, FileScanTask]:
    return environment.scans.plan(target.version, AlwaysTrue(), keep_deleted=True).by_path()


def _positions(
    target: Target, replaced: Sequence[ContentFile], tasks: Mapping[str, FileScanTask], cache: PositionDeleteCache
) -> Mapping[str, BitMap64]:
    """The positions that the files delete, by path of the data files that there are."""
    positions: dict[str, BitMap64] = {}
    for file in replaced:
        for path, told in cache.positions(target.version.io, file).items():
            if path in tasks:
                applied = told & tasks[path].deleted_positions()
                if applied:
                    positions[path] = positions.get(path, BitMap64()) | applied
    return positions


def _commit(
    environment: Environment,
    target: Target,
    replaced: Sequence[ContentFile],
    positions: Mapping[str, BitMap64],
    tasks: Mapping[str, FileScanTask],
) -> Mapping[str, str]:
    """Writes and commits; returns the snapshot's summary."""
    version, snapshot = target.version, target.version.snapshot
    assert snapshot is not None
    operation = begin_write(target.table.metadata, version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        of_files = {path: (tasks[path].spec_id, tasks[path].partition) for path in positions}
        deletes = delete_rows(operation, positions, of_files)
    rewrite = RewriteDeleteFiles(replaced, snapshot.snapshot_id, deletes.files, deletes.rows, frozenset(positions))
    outcome = environment.commit(target.name.catalog, target.table, rewrite, target.destination)
    return {} if outcome.snapshot is None else outcome.snapshot.summary
