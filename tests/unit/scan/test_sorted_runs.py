"""The runs of a bucket that are merged; runs stay few, and are not rewritten too often."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sqlext.scan.sorted_runs import (
    Bucket,
    CompactionRules,
    SortedRun,
    find_buckets,
    has_many_equality_deletes,
    runs_to_merge,
)
from sqlext.spec.manifests.content_file import PUFFIN, Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry

RULES = CompactionRules()
MB = 1024 * 1024


def bucket(*sizes: int, dead: int = 0, delete_files: int = 0) -> Bucket:
    """A bucket with runs of these bytes, newest first; `dead` are the bytes of deleted rows in the oldest."""
    runs = tuple(SortedRun(number, (), size) for number, size in zip(range(len(sizes), 0, -1), sizes, strict=True))
    oldest = SortedRun(1, (), sizes[-1], dead)
    return Bucket(0, (1,), (*runs[:-1], oldest), delete_files)


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((10,), 0),
        ((10, 10, 10, 10), 0),
        # all small runs beside a large one
        ((10, 10, 10, 10, 10_000), 4),
        # runs of one size are all newer than the oldest: more than 200 % of it
        ((10, 10, 10, 10, 10), 5),
        # a run that is larger than all before it stays
        ((10, 10, 100, 1_000, 10_000), 2),
        # at the trigger two must become one, whatever their sizes
        ((10, 100, 1_000, 10_000, 100_000), 2),
        ((1, 10, 100, 1_000, 10_000, 100_000), 3),
        ((1, 10, 100, 1_000, 10_000, 20_000, 30_000), 4),
    ],
)
def test_picks(sizes: tuple[int, ...], count: int) -> None:
    assert runs_to_merge(bucket(*(size * MB for size in sizes)), RULES) == count


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((10, 20, 40, 80, 20_000), 3),
        ((10, 20, 3_000, 4_000, 20_000), 2),
        ((10, 20, 40, 80, 1_000, 20_000), 4),
        # three runs remain, fewer than the trigger less one
        ((10, 10, 10, 80, 20_000), 3),
    ],
)
def test_one_more_small_run_spares_a_commit(sizes: tuple[int, ...], count: int) -> None:
    assert runs_to_merge(bucket(*(size * 1024 for size in sizes)), RULES) == count


def test_few_runs_are_not_all_merged() -> None:
    assert runs_to_merge(bucket(1, 10, 1_000), CompactionRules(trigger=3)) == 2
    assert runs_to_merge(bucket(1, 1_000), CompactionRules(trigger=2)) == 2


def test_rows_that_are_gone_are_left_out_in_time() -> None:
    assert runs_to_merge(bucket(10, 100, dead=55), RULES) == 0
    assert runs_to_merge(bucket(10, 100, dead=56), RULES) == 2
    assert runs_to_merge(bucket(0, dead=1), RULES) == 1
    assert runs_to_merge(bucket(10, 100, dead=12), CompactionRules(size_amplification=10)) == 2
    # 50 bytes in deletion vectors; of the other 110 bytes 3, then 10 in position-delete files.
    assert runs_to_merge(replace(bucket(10, 100, dead=50), rows=1100, marked_rows=30), RULES) == 0
    assert runs_to_merge(replace(bucket(10, 100, dead=50), rows=1100, marked_rows=100), RULES) == 2


def test_delete_files_that_grow_too_many_are_left_out() -> None:
    assert runs_to_merge(bucket(10, 10_000, delete_files=19), RULES) == 0
    assert runs_to_merge(bucket(10, 10_000, delete_files=20), RULES) == 2


def test_deleted_keys_are_many_among_too_many_delete_files() -> None:
    one = bucket(10, 10_000, delete_files=20)
    assert not has_many_equality_deletes(replace(one, equality_deletes=9), RULES)
    assert has_many_equality_deletes(replace(one, equality_deletes=10), RULES)
    assert not has_many_equality_deletes(replace(one, delete_files=19, equality_deletes=19), RULES)


@pytest.mark.parametrize("seed", range(20))
def test_runs_stay_below_the_trigger(seed: int) -> None:
    """After each commit the bucket is merged until no merge is due."""
    rng = random.Random(seed)
    rules = CompactionRules(trigger=rng.randint(2, 8), size_ratio=rng.randint(0, 50))
    sizes = [rng.randint(1, 1_000_000)]
    for _ in range(200):
        sizes = [rng.choice((100, 1_000, rng.randint(1, 5_000))), *sizes]
        merges = 0
        while count := runs_to_merge(bucket(*sizes), rules):
            assert count > 1
            sizes = [sum(sizes[:count]), *sizes[count:]]
            merges += 1
            assert merges < rules.trigger
        assert len(sizes) < rules.trigger


@pytest.mark.parametrize("there", [1_000, 150_000])
def test_rows_are_written_anew_seldom(there: int) -> None:
    """After 500 commits of one size a row was written about once for each size of runs."""
    sizes, written = [there], 0
    for _ in range(500):
        sizes = [1_000, *sizes]
        while count := runs_to_merge(bucket(*(size * 10_000 for size in sizes)), RULES):
            sizes = [sum(sizes[:count]), *sizes[count:]]
            written += sizes[0]
    assert written <= 15 * 500 * 1_000


def test_rules_come_from_the_properties() -> None:
    properties = {
        "num-sorted-run.compaction-trigger": "3",
        "compaction.size-ratio": "7",
        "compaction.max-size-amplification-percent": "90",
        "compaction.delete-file-threshold": "4",
    }
    assert CompactionRules.of(properties) == CompactionRules(3, 7, 90, 4)
    assert CompactionRules.of({}) == RULES == CompactionRules(5, 1, 200, 20)


def entry(number: int, path: str, partition: int, **given: object) -> ManifestEntry:
    values = {"content": Content.DATA, "file_format": "PARQUET", "record_count": 10, "file_size_in_bytes": 1000}
    file = ContentFile(file_path=path, spec_id=0, partition=(partition,), **{**values, **given})  # type: ignore[arg-type]
    return ManifestEntry(EntryStatus.ADDED, 1, number, number, file)


def test_a_run_is_the_files_of_a_bucket_with_one_sequence_number() -> None:
    vector = {"content": Content.POSITION_DELETES, "file_format": PUFFIN, "record_count": 4}
    found = find_buckets(
        [
            entry(1, "a", 0),
            entry(1, "b", 0),
            entry(3, "c", 0),
            entry(1, "d", 1),
            entry(4, "v", 0, **vector, referenced_data_file="b"),
            entry(3, "e", 1, content=Content.EQUALITY_DELETES),
            entry(3, "p", 1, content=Content.POSITION_DELETES, record_count=3),
        ]
    )
    first, second = sorted(found, key=lambda one: one.partition)
    assert [(run.sequence_number, [file.file_path for file in run.files]) for run in first.runs] == [
        (3, ["c"]),
        (1, ["a", "b"]),
    ]
    assert [(run.live_bytes, run.dead_bytes) for run in first.runs] == [(1000, 0), (1600, 400)]
    assert (first.rows, first.delete_files, first.is_merged) == (26, 0, False)
    assert (second.rows, second.delete_files, second.equality_deletes, second.is_merged) == (10, 2, 1, False)
    assert (first.marked_bytes, second.marked_bytes) == (0, 300)
    assert find_buckets([entry(1, "a", 0)])[0].is_merged
