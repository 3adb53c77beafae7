"""Data files to rewrite in a table without buckets: small files, and files with many deleted rows.

Any files of a partition may be merged, since its rows have no order across files. Small files are merged by tiers of
size (Cassandra: size-tiered compaction): several files of one tier become one file of the next, so that a row is
rewritten about once for each tier.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlext.properties import (
    COMPACTION_DELETE_FILES,
    COMPACTION_DELETE_RATIO,
    COMPACTION_MIN_FILES,
    TARGET_FILE_SIZE_BYTES,
)
from sqlext.scan.scan_plan import FileScanTask
from sqlext.scan.sorted_runs import Bucket
from sqlext.spec.manifests.content_file import ContentFile


@dataclass(frozen=True, slots=True)
class RewriteRules:
    """Thresholds for rewrites, from the table properties `compaction.*` and `write.target-file-size-bytes`.

    Files of up to `tiny_bytes` are of one tier: to rewrite as much takes no longer than the commit of a rewrite, so
    that tiers of smaller files would save nothing.
    """

    delete_ratio: float = COMPACTION_DELETE_RATIO.default
    min_files: int = COMPACTION_MIN_FILES.default
    delete_files: int = COMPACTION_DELETE_FILES.default
    target_bytes: int = TARGET_FILE_SIZE_BYTES.default
    tiny_bytes: int = 2**20

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RewriteRules:
        """The thresholds of a table. Raises AnalysisError INVALID_TABLE_PROPERTY."""
        return cls(
            COMPACTION_DELETE_RATIO.of(properties),
            COMPACTION_MIN_FILES.of(properties),
            COMPACTION_DELETE_FILES.of(properties),
            TARGET_FILE_SIZE_BYTES.of(properties),
        )

    def is_small(self, file: ContentFile) -> bool:
        """Whether a file is smaller than 75 % of the target size (Iceberg: `min-file-size-bytes` of rewrites)."""
        return file.file_size_in_bytes * 4 < self.target_bytes * 3


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """Files of one partition that are rewritten together, as about `written_as` files."""

    files: tuple[ContentFile, ...]
    written_as: int


def has_many_deleted_rows(partition: Bucket, rules: RewriteRules) -> bool:
    """Whether more than `rules.delete_ratio` of the partition's stored rows are deleted by position."""
    stored = sum(file.record_count for file in partition.files)
    return stored - partition.rows + partition.marked_rows > rules.delete_ratio * stored


def has_many_position_deletes(partition: Bucket, rules: RewriteRules) -> bool:
    """Whether the partition has `rules.delete_files` or more position-delete files, but not so many deleted rows that a
    rewrite of its data files removes them."""
    marks = partition.delete_files - partition.equality_deletes
    return marks >= rules.delete_files and not has_many_deleted_rows(partition, rules)


def due_groups(partition: Bucket, rules: RewriteRules, tasks: Mapping[str, FileScanTask] | None) -> list[RewriteGroup]:
    """The groups of a partition's files that are due for a rewrite.

    `tasks`, by path, are of a plan with `keep_deleted`, or None if the partition has few deleted rows. Files in which
    more than half of `rules.delete_ratio` is deleted form one group with files much smaller than the largest of them,
    so that no more than this remains deleted. Of the other files, full tiers of small ones are merged.
    """
    ratio = rules.delete_ratio / 2
    worn = set[str]()
    if tasks is not None:
        worn = {file.file_path for file in partition.files if _deleted_rows(tasks, file) > ratio * file.record_count}
    if not worn:
        return _full_tiers(partition.files, rules)
    largest = max(file.file_size_in_bytes for file in partition.files if file.file_path in worn)
    group: list[ContentFile] = []
    rest: list[ContentFile] = []
    for file in partition.files:
        goes_with = file.file_path in worn or rules.min_files * file.file_size_in_bytes <= largest
        (group if goes_with else rest).append(file)
    return [_as_before(group, rules), *_full_tiers(rest, rules)]


def all_groups(partition: Bucket, rules: RewriteRules, tasks: Mapping[str, FileScanTask]) -> list[RewriteGroup]:
    """A group of the partition's files that have deleted rows or, if several, are small; of all files if it has
    equality deletes, which can only be removed with all older data files."""
    worn = [
        file
        for file in partition.files
        if partition.equality_deletes or tasks[file.file_path].has_equality_deletes or _deleted_rows(tasks, file)
    ]
    known = {file.file_path for file in worn}
    small = [file for file in partition.files if file.file_path not in known and rules.is_small(file)]
    files = [*worn, *small]
    return [_merged(files, rules)] if worn or len(small) > 1 else []


def whole_group(partition: Bucket, rules: RewriteRules) -> RewriteGroup:
    """A group of all files of a partition."""
    return _merged(partition.files, rules)


def _deleted_rows(tasks: Mapping[str, FileScanTask], file: ContentFile) -> int:
    return tasks[file.file_path].deleted_rows


def _full_tiers(files: Iterable[ContentFile], rules: RewriteRules) -> list[RewriteGroup]:
    """A group for each tier of size with at least `rules.min_files` small files; all tiny ones are of one tier."""
    tiers: dict[int, list[ContentFile]] = defaultdict(list)
    for file in filter(rules.is_small, files):
        tiers[int(math.log(max(file.file_size_in_bytes, rules.tiny_bytes), rules.min_files))].append(file)
    return [_merged(tier, rules) for tier in tiers.values() if len(tier) >= rules.min_files]


def _merged(files: Sequence[ContentFile], rules: RewriteRules) -> RewriteGroup:
    """A group rewritten as the least number of files of the target size."""
    return RewriteGroup(tuple(files), max(math.ceil(_bytes(files) / rules.target_bytes), 1))


def _as_before(files: Sequence[ContentFile], rules: RewriteRules) -> RewriteGroup:
    """A group rewritten as files of the size of its largest, so that as many tasks can write them in parallel."""
    like_largest = round(_bytes(files) / max(file.file_size_in_bytes for file in files))
    return RewriteGroup(tuple(files), max(like_largest, _merged(files, rules).written_as))


def _bytes(files: Iterable[ContentFile]) -> int:
    return sum(file.file_size_in_bytes for file in files)
