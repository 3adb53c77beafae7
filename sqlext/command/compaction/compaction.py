"""Compaction of buckets (sorted runs) and of other partitions' files, in commits of its own.

Rows that others delete while it writes are deleted in its new files too. If another commit removes a file that it
rewrites, the new files with rows of it are left out; compaction tries again or gives up. The commit that it follows
stays in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.changelog.changelog_recorder import CompactionRecorder
from sqlext.command.changelog.full_compaction import full_compaction_is_due
from sqlext.command.compaction.compaction_candidates import (
    CompactionCandidates,
    Merge,
    due,
    everything,
)
from sqlext.command.compaction.equality_delete_conversion import convert_to_position_deletes
from sqlext.command.compaction.merged_position_deletes import merge_position_deletes
from sqlext.command.compaction.rewrite_commit import Landed, commit_rewrite
from sqlext.command.compaction.rewritten_by_query import rewrite_by_query
from sqlext.command.compaction.rewritten_parts import Part, rewrite_parts, table_sort
from sqlext.command.environment import Environment
from sqlext.command.write_operation import begin_write
from sqlext.commit.action import Destination
from sqlext.commit.actions.bucket_change import ChangeBuckets
from sqlext.commit.rules.bucket_layout import bucket_count, bucket_field, is_dynamic
from sqlext.commit.snapshot.changelog_storage import remove_unneeded_changelogs
from sqlext.errors import StaleRead
from sqlext.properties import BUCKET_TARGET_ROWS, CHANGELOG_PRODUCER
from sqlext.scan.even_parts import divided
from sqlext.scan.filter.file_filter import partition_key
from sqlext.scan.sorted_runs import Bucket, find_buckets
from sqlext.spec.expression import Predicate
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.reserved_columns import require_writable_names
from sqlext.sql.statements.statement import TableName

_LOG = logging.getLogger("sqlext")
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did; `given_up` counts the merges that concurrent changes of their files prevented."""

    buckets: int = 0
    replaced_files: int = 0
    added_files: int = 0
    replaced_bytes: int = 0
    given_up: int = 0

    @property
    def told(self) -> str:
        """In words, for lists of tasks."""
        return f"{self.replaced_files} files became {self.added_files}"

    def row(self) -> Sequence[int]:
        """The values of COMPACTED_COLUMNS."""
        return (self.buckets, self.replaced_files, self.added_files, self.replaced_bytes, self.given_up)


COMPACTED_COLUMNS = (
    ("compacted_buckets_count", "integer"),
    ("rewritten_data_files_count", "integer"),
    ("added_data_files_count", "integer"),
    ("rewritten_bytes_count", "long"),
    ("failed_buckets_count", "integer"),
)


_Due = Callable[[Target, Sequence[Bucket]], CompactionCandidates]


def compact_due(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    trigger_ms: int | None = None,
    most_bytes: int | None = None,
) -> Compacted | None:
    """Compacts what is due after a commit, of data files at most `most_bytes`; None if more is due.

    `trigger_ms` is the time between the batches of a stream. A full compaction that is to store the changelog has no
    limit, since readers wait for it. Raises errors of reading and writing.
    """
    metadata = target.table.metadata
    is_left = False

    def after_commit(target: Target, buckets: Sequence[Bucket]) -> CompactionCandidates:
        """What the table's properties make due; all buckets if a full compaction is to store the changelog."""
        nonlocal is_left
        metadata, head = target.table.metadata, target.version.snapshot
        tasks = partial(environment.scans.all_tasks, target.version)
        if head is not None and full_compaction_is_due(metadata, head, environment.clock(), trigger_ms):
            return everything(metadata, buckets, tasks, tells=True)
        found = due(metadata, buckets, tasks)
        fitting = found if most_bytes is None else found.of_at_most(most_bytes)
        is_left = len(fitting.merges) < len(found.merges)
        return fitting

    name = TableName((target.name.catalog, *target.table.identifier.namespace, target.table.identifier.name))
    done = _compact(environment, spark, name, target.destination.branch, after_commit)
    if done.buckets and CHANGELOG_PRODUCER.of(metadata.properties) != "none":
        _remove_unneeded_changelogs(environment, name)
    if done.given_up:
        _LOG.warning("%d merges of %s are given up: others change its files", done.given_up, name)
    return None if is_left else done


def compact_table(
    environment: Environment,
    spark: SparkSession,
    name: TableName,
    branch: str = MAIN_BRANCH,
    *,
    full: bool = False,
    chosen: Callable[[Target], Predicate] | None = None,
) -> Compacted:
    """Compacts what is due; with `full` all that can be compacted, files of earlier partition specs too.

    `chosen` gives a predicate: buckets or partitions without a file that may match are left as they are. Raises errors
    of reading and writing, and ValidationConflict if the branch was rolled back meanwhile.
    """

    def asked(target: Target, buckets: Sequence[Bucket]) -> CompactionCandidates:
        if chosen is not None:
            plan = environment.scans.plan(target.version, chosen(target))
            keys = {partition_key(task.file) for task in plan.tasks}
            buckets = [one for one in buckets if partition_key(one.files[0]) in keys]
        metadata, tasks = target.table.metadata, partial(environment.scans.all_tasks, target.version)
        if full:
            return everything(metadata, buckets, tasks, tells=chosen is None)
        found = due(metadata, buckets, tasks)
        # The conversion of equality deletes is not limited to the chosen buckets.
        return replace(found, marks=False) if chosen is not None else found

    return _compact(environment, spark, name, branch, asked)


def _remove_unneeded_changelogs(environment: Environment, name: TableName) -> None:
    """Removes changelogs of expired snapshots after each compaction, since other engines expire snapshots."""
    catalog = environment.catalogs.catalog(name.catalog)
    remove_unneeded_changelogs(catalog.io, environment.catalogs.load(name.parts).metadata, environment.clock())


def _compact(environment: Environment, spark: SparkSession, name: TableName, branch: str, find: _Due) -> Compacted:
    environment = replace(environment, overtaken=None)
    done = Compacted()
    for attempt in range(_TRIES):
        target = _grown(environment, _target(environment, name, branch))
        found = find(target, _buckets(environment, target))
        try:
            rewritten = _rewrite_deletes(environment, target, found)
        except StaleRead as conflict:
            _LOG.info("%s: %s", name, conflict)
            continue
        if rewritten:
            target = _target(environment, name, branch)
            found = find(target, _buckets(environment, target))
        if not found.merges:
            return done
        given_up = 0
        commits = _commits(target, found.merges, apart=attempt > 0)
        for together in commits:
            tells = found.tells and together is commits[-1]
            try:
                landed = _rewrite(environment, spark, target, together, tells=tells)
                done = _added(done, together, landed)
                given_up += sum(not landed.has(merge.files) for merge in together)
            except StaleRead as conflict:
                given_up += len(together)
                _LOG.info("%s: %s", name, conflict)
        done = replace(done, given_up=given_up)
    return done


def _rewrite_deletes(environment: Environment, target: Target, found: CompactionCandidates) -> bool:
    """Rewrites delete files as found due; returns whether it has committed."""
    if found.marks and convert_to_position_deletes(environment, target):
        return True
    return bool(found.merged_deletes) and merge_position_deletes(environment, target, found.merged_deletes)


def _target(environment: Environment, name: TableName, branch: str) -> Target:
    table = environment.catalogs.load(name.parts)
    at = None if branch == MAIN_BRANCH else branch
    require_writable_names((field.name for field in table.metadata.schema().fields), str(name))
    return Target(name, table, environment.version(name.catalog, table, at), Destination(branch))


def _buckets(environment: Environment, target: Target) -> list[Bucket]:
    return find_buckets(environment.scans.live_entries(target.version))


def _commits(target: Target, merges: Sequence[Merge], *, apart: bool) -> list[Sequence[Merge]]:
    """Merges by commit: one for those within the current spec, one for those that move rows to it.

    With `apart`, after a conflict, each merge is a commit of its own.
    """
    if apart:
        return [[one] for one in merges]
    spec_id = target.table.metadata.default_spec_id
    staying = [one for one in merges if one.bucket.spec_id == spec_id]
    moving = [one for one in merges if one.bucket.spec_id != spec_id]
    return [group for group in (staying, moving) if group]


def _rewrite(
    environment: Environment, spark: SparkSession, target: Target, merges: Sequence[Merge], *, tells: bool
) -> Landed:
    """Writes and commits. Raises StaleRead if others have removed one of the files of each new file since."""
    metadata, snapshot = target.table.metadata, target.version.snapshot
    assert snapshot is not None
    files = [file for merge in merges for file in merge.files]
    operation = begin_write(metadata, target.version.io, str(target.name), environment.rng)
    moves = any(merge.bucket.spec_id != metadata.default_spec_id for merge in merges)
    with operation.cleaned_on_failure():
        parts = [Part(frozenset(file.file_path for file in files))] if moves else _parts(merges)
        rewritten = rewrite_parts(environment, spark, target, operation, parts, table_sort(metadata), moves=moves)
        if rewritten is None:
            tasks = None if bucket_count(metadata) is not None else sum(merge.written_as for merge in merges)
            paths = [file.file_path for file in files]
            rewritten = rewrite_by_query(environment, spark, target, operation, paths, metadata, tasks)
    recorder = CompactionRecorder(environment, spark, target.name.catalog, target.table, snapshot) if tells else None
    return commit_rewrite(environment, target, operation, files, rewritten, recorder)


def _parts(merges: Sequence[Merge]) -> Sequence[Part]:
    """A part for each bucket or new file."""
    return [
        Part(paths) for merge in merges for paths in divided(merge.files, merge.written_as, attrgetter("record_count"))
    ]


def _added(done: Compacted, merges: Sequence[Merge], landed: Landed) -> Compacted:
    return replace(
        done,
        buckets=done.buckets + sum(landed.has(merge.files) for merge in merges),
        replaced_files=done.replaced_files + len(landed.replaced),
        added_files=done.added_files + len(landed.added),
        replaced_bytes=done.replaced_bytes + sum(file.file_size_in_bytes for file in landed.replaced),
    )


def _grown(environment: Environment, target: Target) -> Target:
    """The target after its number of buckets, if dynamic, is doubled until it suffices for the rows; no file is
    moved."""
    metadata = target.table.metadata
    count = bucket_count(metadata)
    if count is None or not is_dynamic(metadata):
        return target
    needed, most = count, BUCKET_TARGET_ROWS.of(metadata.properties)
    rows = _rows_to_divide(metadata, _buckets(environment, target))
    while rows > most * needed:
        needed *= 2
    if needed == count:
        return target
    environment.commit(target.name.catalog, target.table, ChangeBuckets(needed, dynamic=True))
    return _target(environment, target.name, target.destination.branch)


def _rows_to_divide(metadata: TableMetadata, buckets: Sequence[Bucket]) -> int:
    """Rows of the largest partition, over its buckets."""
    divided = bucket_field(metadata.schema(), metadata.spec())
    places = [place for place, field in enumerate(metadata.spec().fields) if field != divided]
    rows: dict[tuple[Any, ...], int] = {}
    for bucket in buckets:
        if bucket.spec_id == metadata.default_spec_id:
            key = tuple(repr(bucket.partition[place]) for place in places)
            rows[key] = rows.get(key, 0) + bucket.rows
    return max(rows.values(), default=0)
