"""The files of a partition without buckets that are rewritten; rewrites end, and are not too many."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from sqlext.scan.rewrite_candidates import (
    RewriteRules,
    SizeRules,
    all_groups,
    due_groups,
    has_many_deleted_rows,
    has_many_position_deletes,
    sized_groups,
    whole_group,
)
from sqlext.scan.scan_plan import FileScanTask
from sqlext.scan.sorted_runs import Bucket, SortedRun
from sqlext.spec.manifests.content_file import Content, ContentFile

RULES = RewriteRules(delete_ratio=0.1, min_files=3, delete_files=4, target_bytes=1_000_000, tiny_bytes=1)
ROW = 10


def file(name: str, size: int) -> ContentFile:
    """A data file with one row for each ten bytes."""
    return ContentFile(
        content=Content.DATA,
        file_path=name,
        file_format="PARQUET",
        spec_id=0,
        partition=(),
        record_count=size // ROW,
        file_size_in_bytes=size,
    )


def partition(*sizes: int, dead: Mapping[int, int] | None = None, delete_files: int = 0, by_key: int = 0) -> Bucket:
    """A partition of files of these sizes, named 0, 1, …; `dead` has numbers of rows deleted by position, by file."""
    files = tuple(file(str(place), size) for place, size in enumerate(sizes))
    rows = sum(one.record_count for one in files)
    marked = sum((dead or {}).values())
    return Bucket(0, (), (SortedRun(1, files, sum(sizes)),), delete_files, rows, by_key, marked)


def tasks(of: Bucket, dead: Mapping[int, int] | None = None, by_key: tuple[int, ...] = ()) -> dict[str, FileScanTask]:
    """The tasks of a partition's files by path."""
    return {
        one.file_path: FileScanTask(
            one,
            1,
            0,
            deleted_rows=(dead or {}).get(int(one.file_path), 0),
            equality_groups=(0,) if int(one.file_path) in by_key else (),
        )
        for one in of.files
    }


def due(*sizes: int, dead: Mapping[int, int] | None = None) -> list[tuple[str, int]]:
    """The names of the files of each due group, and the number of files that they become."""
    of = partition(*sizes, dead=dead)
    planned = tasks(of, dead) if has_many_deleted_rows(of, RULES) else None
    groups = due_groups(of, RULES, planned)
    return [("".join(sorted(one.file_path for one in group.files)), group.written_as) for group in groups]


def test_files_of_about_one_size_are_merged_once_they_are_enough() -> None:
    assert due(100, 200) == []
    assert due(100, 110, 200) == [("012", 1)]
    # Tiers are powers of `min_files`: 81 to 242 bytes, and 729 to 2,186.
    assert due(100, 1_000, 110, 2_000, 200) == [("024", 1)]
    assert due(100, 1_000, 110, 2_000, 200, 900) == [("024", 1), ("135", 1)]


def test_files_of_nearly_the_target_size_stay() -> None:
    assert due(750_000, 800_000, 900_000, 1_000_000) == []
    assert due(740_000, 749_999, 600_000, 1_000_000) == [("012", 3)]


def test_files_with_rows_that_are_gone_are_left_out_in_time() -> None:
    assert due(100_000, 200_000, dead={1: 3_000}) == []
    assert due(100_000, 200_000, dead={1: 3_001}) == [("1", 1)]
    # One twentieth of the rows of the first file is half of the limit.
    assert due(100_000, 200_000, dead={0: 500, 1: 3_000}) == [("1", 1)]
    assert due(100_000, 200_000, dead={0: 501, 1: 3_000}) == [("01", 2)]


def test_smaller_files_go_with_those_that_are_written_anew() -> None:
    assert due(900_000, 10_000, 400_000, 20, dead={0: 20_000}) == [("013", 1)]
    # Full tiers of other files are rewritten, too; other large files are not.
    assert due(900_000, 400_000, 400_000, 10, 500_000, dead={0: 30_000}) == [("03", 1), ("124", 2)]


def test_there_are_as_many_files_as_before_and_none_is_too_large() -> None:
    assert due(300_000, 300_000, 10_000, 10_000, dead={0: 7_000, 1: 6_000}) == [("0123", 2)]
    assert due(1_000_000, 700_000, 600_000, dead={0: 90_000, 1: 60_000, 2: 50_000}) == [("012", 3)]


def test_files_that_mark_rows_grow_too_many() -> None:
    def many(delete_files: int, by_key: int = 0, dead: int = 1) -> bool:
        of = partition(100_000, dead={0: dead}, delete_files=delete_files, by_key=by_key)
        return has_many_position_deletes(of, RULES)

    assert [many(3), many(4)] == [False, True]
    # Equality-delete files do not count, and many deleted rows lead to a rewrite of data files instead.
    assert [many(6, by_key=3), many(7, by_key=3)] == [False, True]
    assert [many(4, dead=1_000), many(4, dead=1_001)] == [True, False]


def test_all_that_can_be_written_better() -> None:
    def names(*sizes: int, dead: Mapping[int, int] | None = None, by_key: tuple[int, ...] = ()) -> list[str]:
        of = partition(*sizes)
        return [
            "".join(one.file_path for one in group.files) for group in all_groups(of, RULES, tasks(of, dead, by_key))
        ]

    assert names(900_000) == names(10) == names() == []
    assert names(900_000, 10) == []
    assert names(900_000, 10, 20) == ["12"]
    assert names(900_000, 10, dead={0: 1}) == ["01"]
    assert names(900_000, 800_000, 10, by_key=(1,)) == ["12"]


def test_all_files_are_written_anew_where_rows_are_gone_by_key() -> None:
    of = partition(900_000, 800_000, delete_files=1, by_key=1)
    assert [len(group.files) for group in all_groups(of, RULES, tasks(of))] == [2]
    assert whole_group(of, RULES).written_as == 2


def test_tiny_files_are_of_one_size() -> None:
    rules = RewriteRules(min_files=3, target_bytes=1_000_000, tiny_bytes=50_000)
    (group,) = due_groups(partition(10, 2_000, 49_000), rules, None)
    assert len(group.files) == 3
    assert due_groups(partition(10, 2_000, 150_000), rules, None) == []


def test_tiny_files_go_with_one_of_many_deleted_rows_and_become_one() -> None:
    rules = RewriteRules(delete_ratio=0.1, min_files=3, target_bytes=1_000_000, tiny_bytes=50_000)
    of = partition(2_000, 1_500, 1_800, dead={0: 100})
    (group,) = due_groups(of, rules, tasks(of, {0: 100}))
    assert (len(group.files), group.written_as) == (3, 1)


@pytest.mark.parametrize("seed", range(20))
def test_files_stay_few_and_rows_are_written_seldom(seed: int) -> None:
    """After each commit a partition is compacted until nothing is due."""
    rng = random.Random(seed)
    rules = RewriteRules(min_files=rng.randint(2, 8), target_bytes=2**40, tiny_bytes=rng.choice((1, 500)))
    sizes = [rng.randint(1, 1_000_000)]
    came = written = 0
    for _ in range(300):
        new = rng.randint(500, 2_000)
        sizes, came = [*sizes, new], came + new
        while groups := due_groups(partition(*sizes), rules, None):
            gone = {one.file_path for group in groups for one in group.files}
            kept = [size for place, size in enumerate(sizes) if str(place) not in gone]
            merged = [sum(one.file_size_in_bytes for one in group.files) for group in groups]
            assert len(kept) + len(merged) < len(sizes)
            sizes, written = [*kept, *merged], written + sum(merged)
        tiers = int(math.log(sum(sizes), rules.min_files)) + 1
        assert len(sizes) < tiers * rules.min_files
    # A merged file belongs to the next tier.
    assert came < written < tiers * sum(sizes)


def test_rules_come_from_the_properties() -> None:
    properties = {
        "compaction.delete-ratio-threshold": "0.05",
        "compaction.min.file-num": "7",
        "compaction.delete-file-threshold": "9",
        "write.target-file-size-bytes": "1000",
    }
    assert RewriteRules.of(properties) == RewriteRules(0.05, 7, 9, 1000)
    assert RewriteRules.of({}) == RewriteRules(0.2, 5, 20, 512 * 1024 * 1024)


# by Iceberg's rules

SIZES = SizeRules(target_bytes=1_000, min_bytes=750, max_bytes=1_800)


def grouped(rules: SizeRules, *sizes: int, dead: Mapping[int, int] | None = None, **marks: int) -> list[list[str]]:
    """The names of the files of each group; `marks` are numbers of delete files, by name after an underscore."""
    found = tasks(partition(*sizes), dead).values()
    counts = {name.removeprefix("_"): count for name, count in marks.items()}
    return [[one.file_path for one in group.files] for group in sized_groups(found, 0, rules, counts)]


def test_groups_of_five_files_of_the_wrong_size_or_of_one_that_is_too_large() -> None:
    assert grouped(SIZES, 10, 10, 10, 10) == []
    assert grouped(SIZES, 10, 10, 900, 10, 10, 10) == [["0", "1", "3", "4", "5"]]
    assert grouped(SIZES, 700, 700) == [["0", "1"]], "they fill a file"
    assert grouped(SIZES, 700) == []
    assert grouped(SIZES, 1_900) == [["0"]]
    assert grouped(replace(SIZES, rewrite_all=True), 900) == [["0"]]
    assert grouped(replace(SIZES, min_files=1), 10) == [], "one file would become one"


def test_files_with_many_deletes() -> None:
    assert grouped(SIZES, 900, 900, dead={0: 26}) == []
    assert grouped(SIZES, 900, 900, dead={0: 27}) == [["0"]]
    assert grouped(replace(SIZES, delete_files=2), 900, 900, _0=1, _1=2) == [["1"]]


def test_groups_have_limits() -> None:
    everything = replace(SIZES, rewrite_all=True)
    assert grouped(replace(everything, max_group_bytes=1_000), 600, 400, 1, 5_000, 1) == [
        ["0", "1"],
        ["2"],
        ["3"],
        ["4"],
    ]
    assert grouped(replace(everything, max_group_files=2), 1, 1, 1) == [["0", "1"], ["2"]]
    assert grouped(replace(everything, max_group_files=2, max_files=3), 1, 1, 1, 1) == [["0", "1"], ["2"]]


@pytest.mark.parametrize(
    ("size", "files"),
    [(0, 1), (999, 1), (1_000, 1), (1_099, 1), (1_700, 2), (1_800, 2), (10_100, 10), (10_760, 11), (2_300, 3)],
)
def test_a_small_remnant_makes_no_file_of_its_own(size: int, files: int) -> None:
    assert SIZES.new_files(size) == files


def test_files_of_other_specs_are_grouped_together() -> None:
    mine, other = file("0", 10), replace(file("1", 10), spec_id=1, partition=("x",))
    found = [FileScanTask(one, 1, 0) for one in (mine, other, replace(other, file_path="2", partition=("y",)))]
    groups = sized_groups(found, 0, replace(SIZES, rewrite_all=True), {})
    assert [[one.file_path for one in group.files] for group in groups] == [["0"], ["1", "2"]]
