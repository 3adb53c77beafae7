"""Rewrites of data files on demand: bin-packed as they are, sorted, or in the order of z-values.

Each group of files becomes new files of about the target size. Rows of files of other partition specs move to the spec
of the new files.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.compaction.rewrite_commit import Landed, commit_rewrite
from sqlext.command.compaction.rewrite_options import RewriteOptions, chunks
from sqlext.command.compaction.rewritten_by_query import rewrite_by_query
from sqlext.command.compaction.rewritten_parts import Part, Rewritten, rewrite_parts
from sqlext.command.compaction.row_sort import RowSort, ZOrder
from sqlext.command.environment import Environment
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.actions.order_change import numbered_order
from sqlext.errors import SqlextError
from sqlext.properties import DISTRIBUTION_MODE
from sqlext.scan.deletes.dangling_deletes import dangling_deletes
from sqlext.scan.deletes.delete_file_index import DeleteFileIndex
from sqlext.scan.even_parts import divided
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.rewrite_candidates import RewriteGroup, sized_groups
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.sort_order import SortOrder

_LOG = logging.getLogger("sqlext")


@dataclass(frozen=True, slots=True)
class DataFilesRewritten:
    """What a rewrite did; failed groups and files are those that others prevented, or whose commit failed."""

    replaced_files: int = 0
    added_files: int = 0
    replaced_bytes: int = 0
    failed_files: int = 0
    removed_delete_files: int = 0
    groups: int = 0
    failed_groups: int = 0

    def row(self) -> Sequence[int]:
        """The values of REWRITTEN_COLUMNS."""
        return (
            self.replaced_files,
            self.added_files,
            self.replaced_bytes,
            self.failed_files,
            self.removed_delete_files,
        )


REWRITTEN_COLUMNS = (
    ("rewritten_data_files_count", "integer"),
    ("added_data_files_count", "integer"),
    ("rewritten_bytes_count", "long"),
    ("failed_data_files_count", "integer"),
    ("removed_delete_files_count", "integer"),
)


def rewrite_data_files(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    predicate: Predicate,
    options: RewriteOptions,
    by: SortOrder | ZOrder | None,
) -> DataFilesRewritten:
    """Rewrites the groups of files that may match the predicate and are due by the options, sorted by `by` if not None.

    Without partial progress there is one commit, and an error of it is raised: StaleRead if others have prevented all
    groups. Raises errors of reading and writing, and SqlextError REWRITE_COMMITS_FAILED.
    """
    groups = options.in_job_order(_groups(environment, target, predicate, options), lambda group: group.files)
    done, failures = DataFilesRewritten(), 0
    reason = ""
    for chunk in options.by_commit(groups):
        try:
            landed = _rewritten(environment, spark, target, chunk, options, by)
        except SqlextError as failure:
            if options.commits is None:
                raise
            _LOG.warning("%d groups of files of %s are not rewritten: %s", len(chunk), target.name, failure)
            failures, reason = failures + 1, str(failure)
            landed = Landed((), ())
        done = _added(done, chunk, landed)
    if failures > options.failed_commits:
        raise SqlextError(
            "REWRITE_COMMITS_FAILED", name=target.name, failed=failures, allowed=options.failed_commits, reason=reason
        )
    if options.removes_dangling:
        removed = _remove_dangling_deletes(environment, target)
        done = replace(done, removed_delete_files=done.removed_delete_files + removed)
    return done


def _remove_dangling_deletes(environment: Environment, target: Target) -> int:
    """Removes the delete files at the head of the target's branch that can apply to no row; returns how many."""
    catalog, branch = target.name.catalog, target.destination.branch
    table = environment.catalogs.load(target.name.parts)
    version = environment.version(catalog, table, None if branch == MAIN_BRANCH else branch)
    entries = environment.scans.live_entries(version)
    data = (entry for entry in entries if entry.file.content == Content.DATA)
    deletes = [entry for entry in entries if entry.file.content != Content.DATA]
    dangling = [entry.file for entry, _ in dangling_deletes(data, deletes, table.metadata.specs_by_id())]
    if dangling and version.snapshot is not None:
        action = RewriteDeleteFiles(dangling, version.snapshot.snapshot_id)
        environment.commit(catalog, table, action, target.destination)
    return len(dangling)


def _groups(
    environment: Environment, target: Target, predicate: Predicate, options: RewriteOptions
) -> Sequence[RewriteGroup]:
    version = target.version
    plan = environment.scans.plan(version, predicate, keep_deleted=True)
    counts: Counter[str] = Counter()
    if options.rules.delete_files is not None:
        entries = environment.scans.live_entries(version)
        metadata = target.table.metadata
        index = DeleteFileIndex(
            (entry for entry in entries if entry.file.content != Content.DATA),
            specs=metadata.specs_by_id(),
            columns=metrics_columns((metadata.schema(), *reversed(metadata.schemas))),
        )
        for entry in (entry for entry in entries if entry.file.content == Content.DATA):
            counts[entry.file.file_path] = len(index.position_deletes(entry)) + len(index.equality_deletes(entry))
    return sized_groups(plan.tasks, target.table.metadata.default_spec_id, options.rules, counts)


def _rewritten(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    groups: Sequence[RewriteGroup],
    options: RewriteOptions,
    by: SortOrder | ZOrder | None,
) -> Landed:
    """Writes groups, and commits them together."""
    metadata = _written_as(target.table.metadata, options, by)
    operation = begin_write(metadata, target.version.io, str(target.name), environment.rng)
    known = isinstance(by, SortOrder) and by in target.table.metadata.sort_orders
    plan = replace(
        operation.plan,
        target_file_size=options.rules.largest_new_file,
        sort_order_id=by.order_id if known and isinstance(by, SortOrder) else 0,
    )
    operation = replace(operation, plan=plan)
    found = Rewritten([], {})
    with operation.cleaned_on_failure():
        for moves in (False, True):
            some = [one for one in groups if _moves(one, options.spec_id) is moves]
            for together in chunks(some, options.together or len(some)):
                found += _written(environment, spark, target, operation, together, options, by, metadata, moves)
    files = [file for group in groups for file in group.files]
    return commit_rewrite(
        environment, target, operation, files, found, keeps_sequence_number=options.keeps_sequence_number
    )


def _moves(group: RewriteGroup, spec_id: int) -> bool:
    return any(file.spec_id != spec_id for file in group.files)


def _written(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    groups: Sequence[RewriteGroup],
    options: RewriteOptions,
    by: SortOrder | ZOrder | None,
    metadata: TableMetadata,
    moves: bool,
) -> Rewritten:
    sort = None if by is None else RowSort(metadata.schema(), by)
    if sort is None and not moves:
        parts = [
            Part(paths) for one in groups for paths in divided(one.files, one.written_as, attrgetter("record_count"))
        ]
    else:
        parts = [Part(frozenset(file.file_path for file in one.files), one.written_as) for one in groups]
    rewritten = rewrite_parts(environment, spark, target, operation, parts, sort, moves=moves)
    if rewritten is not None:
        return rewritten
    found = Rewritten([], {})
    z_order = sort if sort is not None and sort.is_z_order else None
    for one in groups:
        tasks = one.written_as * options.tasks_per_file
        paths = [file.file_path for file in one.files]
        found += rewrite_by_query(environment, spark, target, operation, paths, metadata, tasks, z_order)
    return found


def _written_as(metadata: TableMetadata, options: RewriteOptions, by: SortOrder | ZOrder | None) -> TableMetadata:
    """The table's metadata as if new rows belonged to the spec and were sorted by `by`, in any distribution mode."""
    order = numbered_order(by if isinstance(by, SortOrder) else SortOrder(0, ()), metadata)
    return replace(
        metadata,
        default_spec_id=options.spec_id,
        sort_orders=tuple({one.order_id: one for one in (*metadata.sort_orders, order)}.values()),
        default_sort_order_id=order.order_id,
        properties={name: value for name, value in metadata.properties.items() if name != DISTRIBUTION_MODE.name},
    )


def _added(done: DataFilesRewritten, groups: Sequence[RewriteGroup], landed: Landed) -> DataFilesRewritten:
    files = sum(len(group.files) for group in groups)
    whole = sum(landed.has(group.files) for group in groups)
    return replace(
        done,
        groups=done.groups + whole,
        failed_groups=done.failed_groups + len(groups) - whole,
        replaced_files=done.replaced_files + len(landed.replaced),
        added_files=done.added_files + len(landed.added),
        replaced_bytes=done.replaced_bytes + sum(file.file_size_in_bytes for file in landed.replaced),
        failed_files=done.failed_files + files - len(landed.replaced),
        removed_delete_files=done.removed_delete_files + landed.removed_deletes,
    )
