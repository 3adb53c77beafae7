"""Merging of position-delete files, into one of a partition or one of a data file; no data file is rewritten."""

from __future__ import annotations

from collections.abc import Set

from pyroaring import BitMap64

from sqlext.command.change.row_level import Target, delete_rows
from sqlext.command.environment import Environment
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.properties import DELETE_GRANULARITY
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import Content


def merge_position_deletes(environment: Environment, target: Target, partitions: Set[PartitionKey]) -> bool:
    """Replaces the position-delete files of `partitions` by fewer ones, in one commit; returns whether it did.

    It does not if more than half as many would remain. Positions in data files that are removed are left out. Raises
    errors of a scan and of writing, and StaleRead if another commit removed a data file with such positions.
    """
    version, snapshot = target.version, target.version.snapshot
    assert snapshot is not None
    replaced = [
        entry.file
        for entry in environment.scans.live_entries(version)
        if entry.file.content == Content.POSITION_DELETES
        and not entry.file.is_deletion_vector
        and partition_key(entry.file) in partitions
    ]
    tasks = environment.scans.plan(version, AlwaysTrue(), keep_deleted=True).by_path()
    cache = PositionDeleteCache()
    positions: dict[str, BitMap64] = {}
    for file in replaced:
        for path, told in cache.positions(version.io, file).items():
            if path in tasks:
                positions[path] = positions.get(path, BitMap64()) | told & tasks[path].deleted_positions()
    by_file = DELETE_GRANULARITY.of(target.table.metadata.properties) == "file"
    files = len(positions) if by_file else len({partition_key(tasks[path].file) for path in positions})
    if 2 * files > len(replaced):
        return False
    operation = begin_write(target.table.metadata, version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        of_files = {path: (tasks[path].spec_id, tasks[path].partition) for path in positions}
        deletes = delete_rows(operation, positions, of_files)
    rewrite = RewriteDeleteFiles(replaced, snapshot.snapshot_id, deletes.files, deletes.rows, frozenset(positions))
    environment.commit(target.name.catalog, target.table, rewrite, target.destination)
    return True
