"""Buckets as sorted runs, and the choice of runs to merge: universal compaction, as in Paimon and RocksDB.

A run is what one commit wrote to a bucket, sorted by key: the live data files of one data sequence number. Manifests
are the only state. Merges of the newest runs leave runs whose sizes grow with age, so that a row is rewritten about
once for each size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlext.properties import (
    COMPACTION_DELETE_FILES,
    COMPACTION_SIZE_AMPLIFICATION,
    COMPACTION_SIZE_RATIO,
    COMPACTION_TRIGGER,
)
from sqlext.scan.deletes.delete_file_index import sequence_number
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry

# A rewrite of so many bytes costs less than the additional commit of a merge that would soon follow.
_SMALL_BYTES = 2 * 1024 * 1024
# Deleted rows in percent of live rows, since a scan reads deleted rows, too.
_MOST_DEAD = 50


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """Thresholds for merges, from table properties. `size_ratio` and `size_amplification` are in percent."""

    trigger: int = COMPACTION_TRIGGER.default
    size_ratio: int = COMPACTION_SIZE_RATIO.default
    size_amplification: int = COMPACTION_SIZE_AMPLIFICATION.default
    delete_files: int = COMPACTION_DELETE_FILES.default

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> CompactionRules:
        """The thresholds of a table. Raises AnalysisError INVALID_TABLE_PROPERTY."""
        return cls(
            COMPACTION_TRIGGER.of(properties),
            COMPACTION_SIZE_RATIO.of(properties),
            COMPACTION_SIZE_AMPLIFICATION.of(properties),
            COMPACTION_DELETE_FILES.of(properties),
        )


@dataclass(frozen=True, slots=True)
class SortedRun:
    """The data files of a bucket with one data sequence number. `dead_bytes` is the share of rows in deletion vectors,
    `live_bytes` the rest, which includes rows in other delete files."""

    sequence_number: int
    files: tuple[ContentFile, ...]
    live_bytes: int
    dead_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Bucket:
    """A partition and its runs, the newest first. `delete_files` counts delete files except deletion vectors,
    `equality_deletes` those of them that are equality deletes. `rows` counts rows except those in deletion vectors,
    `marked_rows` those of them that are in position-delete files."""

    spec_id: int
    partition: tuple[Any, ...]
    runs: tuple[SortedRun, ...]
    delete_files: int = 0
    rows: int = 0
    equality_deletes: int = 0
    marked_rows: int = 0

    @property
    def files(self) -> tuple[ContentFile, ...]:
        """The data files of all runs."""
        return tuple(file for run in self.runs for file in run.files)

    @property
    def live_bytes(self) -> int:
        """Bytes of `rows`."""
        return sum(run.live_bytes for run in self.runs)

    @property
    def marked_bytes(self) -> int:
        """Estimated bytes of `marked_rows`."""
        return self.live_bytes * self.marked_rows // max(self.rows, 1)

    @property
    def is_merged(self) -> bool:
        """Whether the bucket is one run without delete files and deletion vectors."""
        return len(self.runs) < 2 and not self.delete_files and not any(run.dead_bytes for run in self.runs)


def find_buckets(entries: Iterable[ManifestEntry]) -> list[Bucket]:
    """The buckets of a snapshot by its live data and delete entries, which have any order."""
    runs: dict[PartitionKey, dict[int, list[ContentFile]]] = {}
    delete_files: dict[PartitionKey, int] = {}
    equality_deletes: dict[PartitionKey, int] = {}
    marked: dict[PartitionKey, int] = {}
    deleted: dict[str, int] = {}
    for entry in entries:
        file, key = entry.file, partition_key(entry.file)
        if file.content == Content.DATA:
            runs.setdefault(key, {}).setdefault(sequence_number(entry), []).append(file)
        elif file.is_deletion_vector and file.referenced_data_file is not None:
            deleted[file.referenced_data_file] = file.record_count
        else:
            delete_files[key] = delete_files.get(key, 0) + 1
            if file.content == Content.EQUALITY_DELETES:
                equality_deletes[key] = equality_deletes.get(key, 0) + 1
            else:
                marked[key] = marked.get(key, 0) + file.record_count
    found = []
    for key, by_number in runs.items():
        ordered = [_run(number, by_number[number], deleted) for number in sorted(by_number, reverse=True)]
        files = [file for files in by_number.values() for file in files]
        rows = sum(file.record_count - deleted.get(file.file_path, 0) for file in files)
        first = files[0]
        found.append(
            Bucket(
                first.spec_id,
                first.partition,
                tuple(ordered),
                delete_files.get(key, 0),
                rows,
                equality_deletes.get(key, 0),
                # Position deletes may refer to data files that are no longer live.
                min(marked.get(key, 0), rows),
            )
        )
    return found


def _run(number: int, files: list[ContentFile], deleted: Mapping[str, int]) -> SortedRun:
    size = sum(file.file_size_in_bytes for file in files)
    dead = sum(
        file.file_size_in_bytes * deleted[file.file_path] // max(file.record_count, 1)
        for file in files
        if file.file_path in deleted
    )
    return SortedRun(number, tuple(files), size - dead, dead)


def has_many_equality_deletes(bucket: Bucket, rules: CompactionRules) -> bool:
    """Whether there are `rules.delete_files` or more delete files, at least half of them equality deletes."""
    return bucket.delete_files >= rules.delete_files and 2 * bucket.equality_deletes >= bucket.delete_files


def runs_to_merge(bucket: Bucket, rules: CompactionRules) -> int:
    """The number of newest runs to merge into one; 0 for none.

    All runs, if there are `rules.delete_files` delete files or too many deleted rows. Otherwise none below
    `rules.trigger` runs, and all if the newer runs are too large compared to the oldest (size amplification). Otherwise
    the newest run and each next one that is not larger than those before it together (size ratio), at least so many
    that the number falls below the trigger; one more if these are small and other runs remain.
    """
    runs = bucket.runs
    oldest = runs[-1].live_bytes
    dead = sum(run.dead_bytes for run in runs) + bucket.marked_bytes
    live = bucket.live_bytes - bucket.marked_bytes
    if bucket.delete_files >= rules.delete_files or dead * 100 > min(rules.size_amplification, _MOST_DEAD) * live:
        return len(runs)
    if len(runs) < rules.trigger:
        return 0
    if sum(run.live_bytes for run in runs[:-1]) * 100 > rules.size_amplification * oldest:
        return len(runs)
    count = max(_similar(runs, rules, 1), _similar(runs, rules, len(runs) - rules.trigger + 2))
    few_left = len(runs) - count < 2 or len(runs) - count + 1 < rules.trigger - 1
    if few_left or sum(run.live_bytes for run in runs[: count + 1]) > _SMALL_BYTES:
        return count
    return _similar(runs, rules, count + 1)


def _similar(runs: tuple[SortedRun, ...], rules: CompactionRules, count: int) -> int:
    """The number of newest runs: `count`, and each next one not larger than those before it by `rules.size_ratio`."""
    size = sum(run.live_bytes for run in runs[:count])
    while count < len(runs) and runs[count].live_bytes * 100 <= size * (100 + rules.size_ratio):
        size += runs[count].live_bytes
        count += 1
    return count
