"""The rows of data files that equality deletes of a snapshot delete, as positions (spec: Scan Planning)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from pyroaring import BitMap64

from sqlext.commit.action import CommitContext
from sqlext.scan.resolved_keys import ResolvedKeys, can_resolve
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping


def rows_deleted_by_key(
    context: CommitContext,
    base: TableMetadata,
    head: Snapshot,
    paths: AbstractSet[str],
    since: int,
    resolved: ResolvedKeys,
) -> Mapping[str, BitMap64] | None:
    """Positions, by path, in the data files at `paths` that equality deletes of `head` with a sequence number above
    `since` delete; None if the keys are too many, or of a type that is not looked up here.

    `resolved` keeps what was read for a next attempt. Raises NotFoundError, CorruptionError or UnsupportedError
    naming a file.
    """
    whole = plan_scan(context.io, base, head, AlwaysTrue(), manifests=context.manifests, keep_deleted=True, paths=paths)
    # As if earlier deletes had been applied, and those by position are others' to apply.
    tasks = [
        replace(task, sequence_number=max(task.sequence_number, since), position_deletes=None, deleted_rows=0)
        for task in whole.tasks
        if task.has_equality_deletes
    ]
    plan = ScanPlan(tuple(tasks), whole.equality_groups)
    if not tasks:
        return {}
    if not can_resolve(plan, base.schema(), NameMapping.of_table(base.properties)):
        return None
    after = resolved.resolve(context.io, plan, base.schema()).by_path()
    found = {task.file.file_path: _deleted(after.get(task.file.file_path), task) for task in tasks}
    return {path: positions for path, positions in found.items() if positions}


def _deleted(task: FileScanTask | None, of: FileScanTask) -> BitMap64:
    """Deleted positions of a file; all positions if no task is left for it."""
    return BitMap64(range(of.file.record_count)) if task is None else task.deleted_positions()
