"""Data files to rewrite: small files, and files with many deleted rows, by rules for tables that compact themselves, or
by the rules of Iceberg's `rewrite_data_files` (`SizeRules`).

Any files of a partition may be merged, since its rows have no order across files. Small files are merged by tiers of
size (Cassandra: size-tiered compaction): several files of one tier become one file of the next, so that a row is
rewritten about once for each tier.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlext.properties import (
    COMPACTION_DELETE_FILES,
    COMPACTION_DELETE_RATIO,
    COMPACTION_MIN_FILES,
    TARGET_FILE_SIZE_BYTES,
)
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.scan.scan_plan import FileScanTask
from sqlext.scan.sorted_runs import Bucket
from sqlext.spec.manifests.content_file import ContentFile


@dataclass(frozen=True, slots=True)
class RewriteRules:
    """Thresholds for rewrites, from the table properties `compaction.*` and `write.target-file-size-bytes`.

    Files of up to `tiny_bytes` are of one tier: to rewrite as much takes no longer than the commit of a rewrite, and
    about as many bytes as the metadata of the commits in between, so that tiers of smaller files would save little.
    Were it much more, the replaced files, which snapshots keep for days, would outweigh the table.
    """

    delete_ratio: float = COMPACTION_DELETE_RATIO.default
    min_files: int = COMPACTION_MIN_FILES.default
    delete_files: int = COMPACTION_DELETE_FILES.default
    target_bytes: int = TARGET_FILE_SIZE_BYTES.default
    tiny_bytes: int = 2**16

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
class SizeRules:
    """Iceberg's rules for a rewrite (`SizeBasedFileRewritePlanner`, `BinPackRewriteFilePlanner`); sizes are bytes.

    Files smaller than `min_bytes`, larger than `max_bytes`, with at least `delete_files` delete files or a share of
    `delete_ratio` deleted rows are rewritten, or with `rewrite_all` any file. They are packed into groups of at most
    `max_group_bytes` and `max_group_files`. A group is left alone if it has fewer than `min_files` files, would fill no
    file of `target_bytes`, and has no file with so many deletes. `max_files` limits the files of all groups.
    `compression` is the expected size of the new files in proportion to that of the old ones.
    """

    target_bytes: int
    min_bytes: int
    max_bytes: int
    min_files: int = 5
    rewrite_all: bool = False
    max_group_bytes: int = 100 * 1024**3
    max_group_files: int | None = None
    delete_files: int | None = None
    delete_ratio: float = 0.3
    max_files: int | None = None
    compression: float = 1.0

    @property
    def largest_new_file(self) -> int:
        """Half way from target to maximum, so that a file which turns out larger than expected leaves no remnant."""
        return self.target_bytes + (self.max_bytes - self.target_bytes) // 2

    def new_files(self, size: int) -> int:
        """The number of files to make of `size` bytes: a remnant is spread over the others if it is small."""
        size = int(size * self.compression)
        if size < self.target_bytes:
            return 1
        whole, rest = divmod(size, self.target_bytes)
        spread = rest <= self.min_bytes and size // whole < min(1.1 * self.target_bytes, self.largest_new_file)
        return whole if spread or not rest else whole + 1

    def has_wrong_size(self, file: ContentFile) -> bool:
        return not self.min_bytes <= file.file_size_in_bytes <= self.max_bytes

    def has_many_deletes(self, task: FileScanTask, delete_files: int) -> bool:
        """Whether so many rows of the file are deleted by position, or `delete_files` of it are so many."""
        many_files = self.delete_files is not None and delete_files >= self.delete_files
        return many_files or bool(
            task.deleted_rows and task.deleted_rows >= self.delete_ratio * max(task.file.record_count, 1)
        )

    def is_due(self, group: Sequence[FileScanTask], delete_files: Mapping[str, int]) -> bool:
        size = sum(task.file.file_size_in_bytes for task in group)
        several = len(group) > 1 and (len(group) >= self.min_files or size > self.target_bytes)
        return (
            several
            or size > self.max_bytes
            or any(self.has_many_deletes(task, delete_files.get(task.file.file_path, 0)) for task in group)
        )


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
    more than half of `rules.delete_ratio` is deleted form one group with files that are tiny or much smaller than the
    largest of them, so that no more than this remains deleted. Of the other files, full tiers of small ones are merged.
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
        size = file.file_size_in_bytes
        goes_with = file.file_path in worn or size <= rules.tiny_bytes or rules.min_files * size <= largest
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


def sized_groups(
    tasks: Iterable[FileScanTask], spec_id: int, rules: SizeRules, delete_files: Mapping[str, int]
) -> list[RewriteGroup]:
    """The groups of a rewrite by `rules`, by partition of `spec_id`; files of other specs form one partition.

    `delete_files` is the number of delete files that apply to each path; it may lack those with none.
    """
    partitions: dict[PartitionKey | None, list[FileScanTask]] = defaultdict(list)
    for task in tasks:
        partitions[partition_key(task.file) if task.spec_id == spec_id else None].append(task)
    found: list[RewriteGroup] = []
    left = rules.max_files
    for partition in partitions.values():
        for group in _packed(partition, rules, delete_files):
            if not (rules.rewrite_all or rules.is_due(group, delete_files)) or left == 0:
                continue
            files = tuple(task.file for task in group[:left])
            left = None if left is None else left - len(files)
            found.append(RewriteGroup(files, rules.new_files(_bytes(files))))
    return found


def sized_delete_groups(files: Iterable[ContentFile], rules: SizeRules) -> list[tuple[ContentFile, ...]]:
    """The groups of a partition's position-delete files that are due by the sizes in `rules`."""
    tasks = [FileScanTask(file, 0, 0) for file in files]
    return [
        tuple(task.file for task in group)
        for group in _packed(tasks, rules, {})
        if rules.rewrite_all or rules.is_due(group, {})
    ]


def _packed(
    tasks: Sequence[FileScanTask], rules: SizeRules, delete_files: Mapping[str, int]
) -> Iterator[Sequence[FileScanTask]]:
    """The files to rewrite, in groups that do not exceed the limits unless one file does."""
    group: list[FileScanTask] = []
    size = 0
    for task in tasks:
        many = rules.has_many_deletes(task, delete_files.get(task.file.file_path, 0))
        if not (rules.rewrite_all or many or rules.has_wrong_size(task.file)):
            continue
        full = size + task.file.file_size_in_bytes > rules.max_group_bytes or len(group) == rules.max_group_files
        if group and full:
            yield group
            group, size = [], 0
        group.append(task)
        size += task.file.file_size_in_bytes
    if group:
        yield group


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
    """A group rewritten as files of the size of its largest, so that as many tasks can write them in parallel; they are
    not to be tiny."""
    largest = max(file.file_size_in_bytes for file in files)
    like_largest = round(_bytes(files) / max(largest, rules.tiny_bytes))
    return RewriteGroup(tuple(files), max(like_largest, _merged(files, rules).written_as))


def _bytes(files: Iterable[ContentFile]) -> int:
    return sum(file.file_size_in_bytes for file in files)
