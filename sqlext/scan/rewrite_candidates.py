"""Data files of a table without buckets that are worth writing anew: small ones, and those of which many rows are gone.

Such a table keeps its rows in no order from file to file, so that any files of a partition may become one. Small files
are merged by tiers of size, as Cassandra has it: several of about one size become one of the next tier, so that a row
is written anew about as often as there are tiers.
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
    """When files are written anew; see the table properties of these names."""

    delete_ratio: float = COMPACTION_DELETE_RATIO.default
    min_files: int = COMPACTION_MIN_FILES.default
    delete_files: int = COMPACTION_DELETE_FILES.default
    target_bytes: int = TARGET_FILE_SIZE_BYTES.default

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RewriteRules:
        """AnalysisError INVALID_TABLE_PROPERTY."""
        return cls(
            COMPACTION_DELETE_RATIO.of(properties),
            COMPACTION_MIN_FILES.of(properties),
            COMPACTION_DELETE_FILES.of(properties),
            TARGET_FILE_SIZE_BYTES.of(properties),
        )

    def is_small(self, file: ContentFile) -> bool:
        """Whether it is far from the size that writers aim at: less than three quarters of it, as in Iceberg."""
        return file.file_size_in_bytes * 4 < self.target_bytes * 3


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """Files of one partition that are written together, as so many files or about as many."""

    files: tuple[ContentFile, ...]
    written_as: int


def has_many_deleted_rows(partition: Bucket, rules: RewriteRules) -> bool:
    """Whether so many of the partition's stored rows are marked as gone."""
    stored = sum(file.record_count for file in partition.files)
    return stored - partition.rows + partition.marked_rows > rules.delete_ratio * stored


def has_many_position_deletes(partition: Bucket, rules: RewriteRules) -> bool:
    """Whether it has so many files that mark rows, and not so many rows that these go by a rewrite of data files."""
    marks = partition.delete_files - partition.equality_deletes
    return marks >= rules.delete_files and not has_many_deleted_rows(partition, rules)


def due_groups(partition: Bucket, rules: RewriteRules, tasks: Mapping[str, FileScanTask] | None) -> list[RewriteGroup]:
    """What is written anew of a partition; nothing of it is due afterwards by the rows that are gone.

    `tasks`, by path, are those of a plan that keeps files without rows; None where not many rows are gone. Else it is
    the files with more than half the ratio, as others bring a scan little, and the smaller ones beside them.
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
    """All small files of a partition, if there are several, and all that have rows which are gone; where rows are gone
    by key all files, since its delete files stay while an older file does."""
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
    """All files of a partition."""
    return _merged(partition.files, rules)


def _deleted_rows(tasks: Mapping[str, FileScanTask], file: ContentFile) -> int:
    return tasks[file.file_path].deleted_rows


def _full_tiers(files: Iterable[ContentFile], rules: RewriteRules) -> list[RewriteGroup]:
    """The small ones of them, by size, where they are enough."""
    tiers: dict[int, list[ContentFile]] = defaultdict(list)
    for file in filter(rules.is_small, files):
        tiers[int(math.log(max(file.file_size_in_bytes, 1), rules.min_files))].append(file)
    return [_merged(tier, rules) for tier in tiers.values() if len(tier) >= rules.min_files]


def _merged(files: Sequence[ContentFile], rules: RewriteRules) -> RewriteGroup:
    """As few files as hold them."""
    return RewriteGroup(tuple(files), max(math.ceil(_bytes(files) / rules.target_bytes), 1))


def _as_before(files: Sequence[ContentFile], rules: RewriteRules) -> RewriteGroup:
    """Files of the size that the largest have, since as many tasks as wrote those can write them at a time."""
    like_largest = round(_bytes(files) / max(file.file_size_in_bytes for file in files))
    return RewriteGroup(tuple(files), max(like_largest, _merged(files, rules).written_as))


def _bytes(files: Iterable[ContentFile]) -> int:
    return sum(file.file_size_in_bytes for file in files)
