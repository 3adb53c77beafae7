"""Small data files of appends that land together become one: the rows, row ids and verdicts stay what they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from small_tables import (
    ARROW_SCHEMA,
    BY_REGION,
    ORDERS,
    InterruptedIO,
    Writer,
    data_file,
    equality_deletes,
    files_below,
    ids_read_by_pyiceberg,
    no_space_for,
    rows_of,
    summary_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import MAIN, Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.constraint_change import ChangeConstraints
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.group import Member, Verdict, commit_group
from sqlext.commit.group.small_files import SmallFiles
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.errors import CommitStateUnknown, StorageError, ValidationConflict
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.constraint import CHECK_PREFIX
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.data_writer import DataWriter
from sqlext.write.merged_file import merge_data_files
from sqlext.write.write_plan import WritePlan

SMALL = SmallFiles(1 << 20, merge_data_files)


def _file(metadata: TableMetadata, rng: random.Random, ids: Sequence[int], region: str = "eu") -> ContentFile:
    """A data file as statements write it."""
    plan = WritePlan.from_metadata(metadata, f"{rng.getrandbits(64):x}", "orders")
    writer = DataWriter(LocalFileIO(), plan, 0, 0)
    writer.write(pa.record_batch([pa.array(ids), pa.array([region] * len(ids))], schema=ARROW_SCHEMA))
    (file,) = writer.close()
    return file


def _append(table: LoadedTable, writer: Writer, *ids: int, region: str = "eu") -> AppendFiles:
    return AppendFiles((_file(table.metadata, writer.rng, ids, region),))


def _group(
    writer: Writer, members: Sequence[Member], base: LoadedTable, small: SmallFiles | None = SMALL
) -> list[Verdict]:
    return commit_group(
        writer.catalog,
        ORDERS,
        members,
        base=base,
        clock=writer.clock,
        rng=writer.rng,
        sleep=writer.clock.sleep,
        small=small,
    )


def _members(base: LoadedTable, actions: Sequence[Action]) -> list[Member]:
    return [Member(action, base, MAIN, f"c{number}") for number, action in enumerate(actions)]


def _data_files(folder: Path) -> set[str]:
    return {name for name in files_below(folder) if name.endswith(".parquet")}


def _name(file: ContentFile) -> str:
    return file.file_path.rpartition("/")[2]


@pytest.fixture(params=[2, 3])
def writer(tmp_path: Path, request: pytest.FixtureRequest) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path), seed=1)
    writer.create(format_version=request.param)
    return writer


def test_one_file_lands_in_the_place_of_many(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()
    verdicts = _group(writer, _members(base, [_append(base, writer, number) for number in range(5)]), base)

    table = writer.load()
    assert [one.snapshot for one in verdicts if isinstance(one, CommitOutcome)] == [table.metadata.snapshots[0]] * 5
    assert ids_read_by_pyiceberg(table) == list(range(5))
    assert summary_of(table)["added-data-files"] == "1"
    assert summary_of(table)["added-records"] == "5"
    assert len(_data_files(tmp_path)) == 1


def test_partitions_and_large_and_foreign_files_stay_apart(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path), seed=1)
    base = writer.create(spec=BY_REGION)
    large = _append(base, writer, *random.Random(1).sample(range(1 << 40), 3000))
    actions = [
        _append(base, writer, 1),
        AppendFiles((_file(base.metadata, writer.rng, [2], "us"), _file(base.metadata, writer.rng, [3]))),
        large,
        AppendFiles((data_file(base.metadata, [4], "us"),)),
        _append(base, writer, 5, region="us"),
        _append(base, writer, 6, region="cn"),
    ]
    (size,) = (file.file_size_in_bytes for file in large.files)
    _group(writer, _members(base, actions), base, SmallFiles(size, merge_data_files))

    table = writer.load()
    assert ids_read_by_pyiceberg(table) == [*range(1, 7), *sorted(random.Random(1).sample(range(1 << 40), 3000))]
    # The large one of "eu" and the foreign one of "us" stay beside a merged one.
    assert summary_of(table)["added-data-files"] == str(2 + 2 + 1)


def test_a_refused_member_is_not_in_the_merged_file(tmp_path: Path, writer: Writer) -> None:
    old = writer.load()
    checked = writer.commit(ChangeConstraints({f"{CHECK_PREFIX}positive": "id > 0"}), base=old).table
    stale = _append(old, writer, -1)
    members = [
        Member(_append(checked, writer, 1), checked, MAIN, "a"),
        Member(stale, old, MAIN, "b"),
        Member(_append(checked, writer, 2), checked, MAIN, "c"),
    ]
    verdicts = _group(writer, members, checked)

    assert [type(one) for one in verdicts] == [CommitOutcome, ValidationConflict, CommitOutcome]
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2]
    assert len(_data_files(tmp_path)) == 1


def test_a_member_that_is_refused_after_a_lost_race_leaves_the_merged_file(tmp_path: Path, writer: Writer) -> None:
    """The first attempt has merged its rows with the others'."""
    base = writer.load()
    other = Writer(warehouse_catalog(tmp_path), seed=5)
    overtaken: list[LoadedTable] = []

    def overtake(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json") and not overtaken:
            change = ChangeConstraints({f"{CHECK_PREFIX}positive": "id > 0"})
            overtaken.append(other.commit(change, base=other.load()).table)
        create()

    slow = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtake)), seed=6)
    actions = [_append(base, writer, 1), _append(base, writer, 2)]
    verdicts = _group(slow, _members(base, actions), base)
    assert [type(one) for one in verdicts] == [ValidationConflict] * 2
    assert not _data_files(tmp_path)


def test_a_lost_race_merges_once(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()
    other = Writer(warehouse_catalog(tmp_path), seed=5)
    overtaken: list[str] = []

    def overtake(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json") and not overtaken:
            overtaken.append(location)
            other.append(9)
        create()

    slow = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtake)), seed=6)
    merges: list[int] = []

    def merge(*given: Any) -> Any:
        merges.append(len(given[-1]))
        return merge_data_files(*given)

    members = _members(base, [_append(base, writer, number) for number in range(3)])
    verdicts = _group(slow, members, base, SmallFiles(1 << 20, merge))
    assert [one.attempts for one in verdicts if isinstance(one, CommitOutcome)] == [2] * 3
    assert merges == [3]
    assert ids_read_by_pyiceberg(writer.load()) == [0, 1, 2, 9]
    assert len(_data_files(tmp_path)) == 2


@pytest.mark.parametrize("landed", [True, False])
def test_files_stay_until_it_is_known_that_the_commit_has_landed(tmp_path: Path, writer: Writer, landed: bool) -> None:
    base = writer.commit(ChangeProperties({"commit.status-check.num-retries": "0"}), base=writer.load()).table

    def silent(location: str, create: Callable[[], None]) -> None:
        if not location.endswith(".metadata.json"):
            create()
            return
        if landed:
            create()
        raise TimeoutError("no answer")

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(silent)), seed=3)
    actions = [_append(base, writer, 1), _append(base, writer, 2)]
    before = _data_files(tmp_path)
    verdicts = _group(unlucky, _members(base, actions), base)

    after = _data_files(tmp_path)
    if landed:
        assert [type(one) for one in verdicts] == [CommitOutcome] * 2
        assert ids_read_by_pyiceberg(writer.load()) == [1, 2]
        assert len(after) == 1
    else:
        assert [type(one) for one in verdicts] == [CommitStateUnknown] * 2
        assert before < after
        assert len(after) == 3


def test_a_failed_commit_takes_all_of_its_files(tmp_path: Path, writer: Writer) -> None:
    base = writer.append(0).table
    before = files_below(tmp_path)

    unlucky = Writer(warehouse_catalog(tmp_path, no_space_for("/snap-")), seed=3)
    verdicts = _group(unlucky, _members(base, [_append(base, writer, 1), _append(base, writer, 2)]), base)
    assert [type(one) for one in verdicts] == [StorageError] * 2
    assert files_below(tmp_path) == before


def test_where_merging_fails_the_files_land_as_they_are(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()

    def failing(*given: Any) -> Any:
        raise StorageError("STORAGE_FAILURE", operation="Writing", path="it", reason="no space left")

    actions = [_append(base, writer, 1), _append(base, writer, 2)]
    verdicts = _group(writer, _members(base, actions), base, SmallFiles(1 << 20, failing))
    assert [type(one) for one in verdicts] == [CommitOutcome] * 2
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2]
    assert len(_data_files(tmp_path)) == 2


def test_files_that_another_process_may_have_landed_stay(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()
    again = Member(_append(base, writer, 1), base, MAIN, "a", token="t", may_have_landed=True)
    others = _members(base, [_append(base, writer, 2), _append(base, writer, 3)])
    verdicts = _group(writer, [again, *others], base)
    assert [type(one) for one in verdicts] == [CommitOutcome] * 3
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2, 3]
    assert isinstance(again.action, AppendFiles)
    assert {_name(file) for file in again.action.files} < {name.rpartition("/")[2] for name in _data_files(tmp_path)}
    assert len(_data_files(tmp_path)) == 2


def test_files_that_the_append_does_not_own_stay(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()
    imported = AppendFiles((_file(base.metadata, writer.rng, [1]), _file(base.metadata, writer.rng, [2])), owned=False)
    _group(writer, _members(base, [imported, _append(base, writer, 3), _append(base, writer, 4)]), base)
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2, 3, 4]
    kept = {name.rpartition("/")[2] for name in _data_files(tmp_path)}
    assert {_name(file) for file in imported.files} < kept
    assert len(kept) == 3


@pytest.mark.parametrize("seed", range(12))
def test_the_result_is_that_of_the_same_commits_one_after_the_other(tmp_path: Path, seed: int) -> None:
    found = []
    for way in ("merged", "sequence"):
        rng = random.Random(seed)
        writer = Writer(warehouse_catalog(tmp_path / way), seed=1)
        base = writer.create(spec=BY_REGION, format_version=rng.choice((2, 3)))
        base = writer.commit(AppendFiles((_file(base.metadata, rng, range(8)),)), base=base).table
        actions = [_random_action(base, rng) for _ in range(rng.choice((3, 6, 10)))]
        if way == "merged":
            verdicts = _group(writer, _members(base, actions), base)
            assert {type(one) for one in verdicts} == {CommitOutcome}
        else:
            for action in sorted(actions, key=lambda one: isinstance(one, AppendFiles)):
                writer.commit(action, base=base)
        table = writer.load()
        rows = sorted((row["id"], row["region"]) for row in rows_of(table))
        found.append((rows, summary_of(table)["total-records"], _row_ids(table), table.metadata.next_row_id))
    assert found[0] == found[1]


def _random_action(base: LoadedTable, rng: random.Random) -> Action:
    ids, region = rng.sample(range(20), rng.choice((1, 2))), rng.choice(("eu", "us"))
    rows = _file(base.metadata, rng, ids, region)
    if rng.random() < 0.6:
        return AppendFiles((rows,))
    # In a partition that is not part of the key a delete by key reaches the rows of its own one.
    deletes = equality_deletes(base.metadata, ids, region)
    return RowDelta((rows,), (deletes,), base_snapshot_id=base.metadata.current_snapshot_id)


def _row_ids(table: LoadedTable) -> list[int]:
    """The ids that the rows of all live data files have (spec: Row Lineage), each once."""
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    if table.metadata.format_version < 3:
        return []
    io, cache = LocalFileIO(), ManifestCache()
    entries = [
        entry
        for manifest in cache.manifests(io, snapshot)
        for entry in cache.live_entries(io, manifest, table.metadata)
        if not entry.file.content
    ]
    ids: list[int] = []
    for entry in entries:
        first = entry.file.first_row_id
        assert first is not None
        ids += range(first, first + entry.file.record_count)
    assert len(set(ids)) == len(ids)
    return sorted(ids)
