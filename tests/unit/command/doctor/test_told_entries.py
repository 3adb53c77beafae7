"""Sets of files with given sums, and what is told of the entries of a lost manifest's files."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from sqlext.command.doctor.matching_sets import matching_sets, sums_of
from sqlext.command.doctor.told_entries import (
    ToldEntries,
    has_older_deletes,
    told_entries,
    with_row_ids,
    writes_with_gaps,
)
from sqlext.scan.deletes.position_delete import FILE_PATH_ID
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.transform import IdentityTransform

WRITE = "11111111-2222-4333-8444-555555555555"
BY_ID = PartitionSpec(0, (PartitionField(1, 1000, "id", IdentityTransform()),))
LOST = ManifestFile("m", 1, 0, ManifestContent.DATA, 7, 7, 70, 2, 0, 0, 5, 0, 0, None, first_row_id=100)


def entry(name: str, rows: int, size: int = 10, **given: int | None) -> ManifestEntry:
    file = ContentFile(Content.DATA, f"s3://b/{name}", "PARQUET", 0, (), rows, size)
    bare = ManifestEntry(EntryStatus.EXISTING, None, None, None, replace(file, first_row_id=given.pop("row_id", None)))
    return replace(bare, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_sets_are_those_that_a_search_of_all_finds(seed: int) -> None:
    rng = random.Random(seed)
    units = [
        tuple(
            entry(f"{number}-{each}", rng.randrange(1, 4), rng.randrange(1, 6)) for each in range(rng.choice([1, 1, 2]))
        )
        for number in range(9)
    ]
    chosen = [unit for unit in units if rng.random() < 0.5]
    needed = sums_of(tuple(itertools.chain(*chosen)), with_bytes=True)
    found = matching_sets([[unit] for unit in units], needed, with_bytes=True, most=1000)
    subsets = (
        tuple(itertools.chain(*some))
        for count in range(len(units) + 1)
        for some in itertools.combinations(units, count)
    )
    expected = {one for one in subsets if sums_of(one, with_bytes=True) == needed}
    assert set(found.sets) == expected
    assert len(found.sets) == len(expected)
    assert not found.is_cut
    if len(expected) > 1:
        assert matching_sets([[unit] for unit in units], needed, with_bytes=True, most=1).is_cut


def test_too_many_sets_are_not_searched() -> None:
    slots = [[(entry(str(number), 1 + number**2, number**3),)] for number in range(60)]
    assert matching_sets(slots, (30, 30_000, 900_000), with_bytes=True, most=10).is_cut
    # All of them are one set, however many there are.
    whole = tuple(slot[0][0] for slot in slots)
    found = matching_sets(slots, sums_of(whole, with_bytes=False), with_bytes=False, most=10)
    assert [set(one) for one in found.sets] == [set(whole)]


def told(*entries: ManifestEntry, added: int) -> ToldEntries:
    return ToldEntries(entries, frozenset(one.file.key for one in entries[:added]), frozenset(), {})


def ids(told: ToldEntries, spec: PartitionSpec = UNPARTITIONED) -> list[int | None] | None:
    made, are_known = with_row_ids(LOST, told, spec)
    return [one.file.first_row_id for one in made] if are_known else None


def test_a_data_file_is_no_newer_than_its_position_deletes() -> None:
    data = replace(entry("a.parquet", 2), sequence_number=3)
    file = replace(entry("d.parquet", 1).file, content=Content.POSITION_DELETES)
    path = data.file.file_path
    bounds = {FILE_PATH_ID: path.encode()}
    inferred = ToldEntries((data,), frozenset(), frozenset({data.file.key}), {})
    for delete in (replace(file, referenced_data_file=path), replace(file, lower_bounds=bounds, upper_bounds=bounds)):
        for number, is_older in ((2, True), (3, False)):
            other = ManifestEntry(EntryStatus.EXISTING, 1, number, number, delete)
            assert has_older_deletes(inferred, [other]) == is_older
            assert not has_older_deletes(replace(inferred, inferred=frozenset()), [other])
            of_deletes = ToldEntries((other,), frozenset(), frozenset({delete.key}), {})
            assert has_older_deletes(of_deletes, [data]) == is_older
    other = ManifestEntry(EntryStatus.EXISTING, 1, 2, 2, replace(file, referenced_data_file="b.parquet"))
    assert not has_older_deletes(inferred, [other])


def test_row_ids_follow_the_numbers_of_a_write() -> None:
    second, first = (entry(f"00000-4-{WRITE}-{number:05d}.parquet", 3 - number) for number in (2, 1))
    other_task = entry(f"00001-9-{WRITE}-00001.parquet", 5)
    assert ids(told(second, other_task, first, added=3)) == [102, 103, 100]
    assert ids(told(second, first, added=2), BY_ID) is None
    assert ids(told(second, entry("part-0.parquet", 2), added=2)) is None
    again = entry(f"00000-5-{WRITE}-00001.parquet", 2)
    assert ids(told(first, again, added=2)) is None


def test_the_row_ids_of_one_file_are_what_is_left() -> None:
    one = entry("a.parquet", 2)
    assert ids(told(one, added=1), BY_ID) == [100]
    assert ids(told(one, entry("b.parquet", 3, row_id=100), added=2), BY_ID) == [103, 100]
    assert ids(told(one, entry("b.parquet", 3, row_id=102), added=2), BY_ID) == [100, 102]
    assert ids(told(one, entry("b.parquet", 3, row_id=101), added=2), BY_ID) is None
    assert ids(told(one, added=0), BY_ID) is None
    assert ids(told(entry("b.parquet", 3, row_id=5), added=0), BY_ID) == [5]


def test_sequence_numbers() -> None:
    files = [entry("a", 2), entry("b", 3)]
    of_commit = told_entries(LOST, files, frozenset(), "append")
    assert of_commit is not None
    assert [(one.snapshot_id, one.sequence_number) for one in of_commit.entries] == [(70, 7), (70, 7)]
    assert told_entries(replace(LOST, min_sequence_number=4), files, frozenset(), "append") is None
    compacted = told_entries(replace(LOST, min_sequence_number=4), files, frozenset(), "replace")
    assert compacted is not None
    assert [one.sequence_number for one in compacted.entries] == [4, 4]
    assert [one.file_sequence_number for one in compacted.entries] == [7, 7]
    merged = replace(LOST, min_sequence_number=3, added_files_count=1, added_rows_count=3, existing_files_count=1)
    merged = replace(merged, existing_rows_count=2)
    found = told_entries(merged, files, None, "append")
    assert found is not None
    assert [one.sequence_number for one in found.entries] == [3, 7]
    assert found.uncertain == {}
    assert told_entries(replace(merged, added_rows_count=1, existing_rows_count=4), files, None, "append") is None
    older = [entry("c", 2, sequence_number=2, snapshot_id=20), files[1]]
    assert told_entries(merged, older, None, "append") is None


def test_numbers_of_which_some_are_missing() -> None:
    names = [f"00000-1-{WRITE}-00001.parquet", f"00000-1-{WRITE}-00003.parquet"]
    assert writes_with_gaps(names) == {WRITE}
    assert writes_with_gaps([*names, f"00000-1-{WRITE}-00002-deletes.parquet"]) == set()
    assert writes_with_gaps([names[0], f"00000-1-{WRITE}-00001-deletes.parquet", f"00001-2-{WRITE}-00001.orc"]) == set()
    assert writes_with_gaps(["part-00007.parquet", f"{WRITE}-00002-deletes.parquet"]) == set()
