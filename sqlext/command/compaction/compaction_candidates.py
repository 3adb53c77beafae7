"""The files that a compaction rewrites, and which of them become one file.

In a bucket the newest sorted runs are merged. In a partition of a table without buckets, small files are merged, and
files with many deleted rows are rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

from sqlext.commit.rules.bucket_layout import bucket_count, is_dynamic
from sqlext.properties import CHANGELOG_PRODUCER, WRITE_ONLY
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.scan.rewrite_candidates import (
    RewriteGroup,
    RewriteRules,
    all_groups,
    due_groups,
    has_many_deleted_rows,
    has_many_position_deletes,
    whole_group,
)
from sqlext.scan.scan_plan import FileScanTask
from sqlext.scan.sorted_runs import Bucket, CompactionRules, has_many_equality_deletes, runs_to_merge
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.stored_changelog import FULL_COMPACTION, can_store_changes
from sqlext.spec.metadata.table_metadata import TableMetadata

Tasks: TypeAlias = Callable[[], Mapping[str, FileScanTask]]
"""Makes a scan plan with `keep_deleted`: the tasks by path, with those of files without a live row."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Files of a bucket that become one run, or of another partition that become `written_as` files."""

    bucket: Bucket
    files: tuple[ContentFile, ...]
    written_as: int = 1

    @property
    def bytes(self) -> int:
        """The size of the files that are merged."""
        return sum(file.file_size_in_bytes for file in self.files)

    @property
    def saved_files(self) -> int:
        """How many files fewer there are afterwards."""
        return max(0, len(self.files) - self.written_as)


@dataclass(frozen=True, slots=True)
class CompactionCandidates:
    """The merges to do. `tells`: the last commit stores the changelog since the last full compaction. `marks`: equality
    deletes are converted first, after which less is due. `merged_deletes`: partitions whose position-delete files are
    merged."""

    merges: Sequence[Merge]
    tells: bool = False
    marks: bool = False
    merged_deletes: frozenset[PartitionKey] = frozenset()

    def of_at_most(self, most_bytes: int) -> CompactionCandidates:
        """Without the largest merges, so that the others have data files of at most so many bytes."""
        smallest_first = sorted(self.merges, key=lambda merge: merge.bytes)
        sums = accumulate(merge.bytes for merge in smallest_first)
        fitting = [merge for merge, sum in zip(smallest_first, sums, strict=True) if sum <= most_bytes]
        return replace(self, merges=fitting)


def compacts_itself(metadata: TableMetadata) -> bool:
    """Whether the table is compacted after commits: with buckets unless `write-only` is true, else only if it is false.

    Raises AnalysisError INVALID_TABLE_PROPERTY.
    """
    write_only = WRITE_ONLY.of(metadata.properties)
    return bucket_count(metadata) is not None if write_only is None else not write_only


def due(metadata: TableMetadata, buckets: Sequence[Bucket], tasks: Tasks) -> CompactionCandidates:
    """What the table's properties make due; of earlier specs all buckets if the number of buckets is dynamic.

    `buckets` and `tasks` are of one snapshot of the table.
    """
    rules = CompactionRules.of(metadata.properties)
    marks = any(has_many_equality_deletes(one, rules) for one in buckets)
    if bucket_count(metadata) is None:
        merged_deletes = _many_position_deletes(metadata, buckets)
        return CompactionCandidates(_due_files(metadata, buckets, tasks), marks=marks, merged_deletes=merged_deletes)
    return CompactionCandidates(_due_runs(metadata, buckets, rules), marks=marks)


def everything(
    metadata: TableMetadata, buckets: Sequence[Bucket], tasks: Tasks, *, tells: bool
) -> CompactionCandidates:
    """All that can be merged, of earlier partition specs too. `buckets` and `tasks` as of `due`.

    `tells`: the changelog is stored, if the table has `changelog-producer` = `full-compaction`.
    """
    if bucket_count(metadata) is None:
        return CompactionCandidates(_all_files(metadata, buckets, tasks))
    merges = [Merge(one, one.files) for one in buckets if one.spec_id != metadata.default_spec_id or not one.is_merged]
    stored = CHANGELOG_PRODUCER.of(metadata.properties) == FULL_COMPACTION and can_store_changes(metadata)
    return CompactionCandidates(merges, tells=tells and stored)


def _due_runs(metadata: TableMetadata, buckets: Sequence[Bucket], rules: CompactionRules) -> list[Merge]:
    found = []
    for bucket in buckets:
        moves = bucket.spec_id != metadata.default_spec_id
        count = (len(bucket.runs) if is_dynamic(metadata) else 0) if moves else runs_to_merge(bucket, rules)
        if count:
            found.append(Merge(bucket, tuple(file for run in bucket.runs[:count] for file in run.files)))
    return found


def _due_files(metadata: TableMetadata, partitions: Sequence[Bucket], tasks: Tasks) -> list[Merge]:
    rules = RewriteRules.of(metadata.properties)
    own = [one for one in partitions if one.spec_id == metadata.default_spec_id]
    worn = {partition_key(one.files[0]) for one in own if has_many_deleted_rows(one, rules)}
    planned = tasks() if worn else None
    return _merges(own, lambda one: due_groups(one, rules, planned if partition_key(one.files[0]) in worn else None))


def _many_position_deletes(metadata: TableMetadata, partitions: Sequence[Bucket]) -> frozenset[PartitionKey]:
    """Partitions with many position-delete files; none from format version 3 on, which has deletion vectors."""
    rules = RewriteRules.of(metadata.properties)
    many = [one for one in partitions if has_many_position_deletes(one, rules)]
    return frozenset(partition_key(one.files[0]) for one in many) if metadata.format_version == 2 else frozenset()


def _all_files(metadata: TableMetadata, partitions: Sequence[Bucket], tasks: Tasks) -> list[Merge]:
    rules, planned = RewriteRules.of(metadata.properties), tasks()
    own = [one for one in partitions if one.spec_id == metadata.default_spec_id]
    moving = [one for one in partitions if one.spec_id != metadata.default_spec_id]
    return [
        *_merges(own, lambda one: all_groups(one, rules, planned)),
        *_merges(moving, lambda one: [whole_group(one, rules)]),
    ]


def _merges(partitions: Sequence[Bucket], groups: Callable[[Bucket], Sequence[RewriteGroup]]) -> list[Merge]:
    return [Merge(one, group.files, group.written_as) for one in partitions for group in groups(one)]
