"""Changes that land in one compare-and-swap: what they leave is what they leave one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from small_tables import (
    ORDERS,
    InterruptedIO,
    Writer,
    data_file,
    equality_deletes,
    files_below,
    ids_read_by_pyiceberg,
    no_space_for,
    position_deletes,
    rows_of,
    summary_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.constraint_change import ChangeConstraints
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.group import Member, Verdict, commit_group
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import (
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    StaleRead,
    StorageError,
    ValidationConflict,
)
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.constraint import CHECK_PREFIX
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.storage.file_io import LocalFileIO


def _group(
    writer: Writer,
    actions: Sequence[Action],
    *,
    base: LoadedTable | None = None,
    planned_on: LoadedTable | None = None,
    destination: Destination = MAIN,
) -> list[Verdict]:
    base = base or writer.load()
    members = [
        Member(action, planned_on or base, destination, f"commit-{writer.rng.getrandbits(64)}") for action in actions
    ]
    return commit_group(
        writer.catalog,
        ORDERS,
        members,
        base=base,
        clock=writer.clock,
        rng=writer.rng,
        sleep=writer.clock.sleep,
        manifests=ManifestCache(),
    )


def _landed(verdicts: Sequence[Verdict]) -> list[CommitOutcome]:
    for verdict in verdicts:
        if isinstance(verdict, BaseException):
            raise verdict
    return [verdict for verdict in verdicts if isinstance(verdict, CommitOutcome)]


def _ids(table: LoadedTable) -> list[int]:
    return sorted(row["id"] for row in rows_of(table))


def _upsert(table: LoadedTable, *ids: int) -> RowDelta:
    head = table.metadata.current_snapshot_id
    rows, deletes = data_file(table.metadata, ids), equality_deletes(table.metadata, ids)
    return RowDelta((rows,), (deletes,), base_snapshot_id=head)


def _append(table: LoadedTable, *ids: int) -> AppendFiles:
    return AppendFiles((data_file(table.metadata, ids),))


def _delete(table: LoadedTable, file: ContentFile, *positions: int, **options: Any) -> RowDelta:
    in_files = table.metadata.format_version == 2
    return RowDelta(
        delete_files=(position_deletes(table.metadata, file, positions),) if in_files else (),
        referenced_data_files=frozenset({file.file_path}),
        deleted_rows={file.file_path: DeletedRows(file.spec_id, file.partition, BitMap64(positions))},
        base_snapshot_id=table.metadata.current_snapshot_id,
        **options,
    )


def _copy(table: LoadedTable, file: ContentFile, *ids: int) -> OverwriteFiles:
    head = table.metadata.current_snapshot_id
    return OverwriteFiles((data_file(table.metadata, ids),), (file,), base_snapshot_id=head, read_filter=AlwaysTrue())


@pytest.fixture(params=[2, 3])
def writer(tmp_path: Path, request: pytest.FixtureRequest) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path), seed=1)
    writer.create(format_version=request.param)
    return writer


def test_appends_make_one_snapshot(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()
    verdicts = _landed(_group(writer, [_append(base, number) for number in range(5)]))

    table = writer.load()
    assert ids_read_by_pyiceberg(table) == list(range(5))
    assert {one.table.metadata_location for one in verdicts} == {table.metadata_location}
    (snapshot,) = table.metadata.snapshots
    assert [one.snapshot for one in verdicts] == [snapshot] * 5
    assert summary_of(table)["added-data-files"] == summary_of(table)["total-records"] == "5"
    # the data files, one manifest, one list, two metadata files and the hint
    assert len(files_below(tmp_path)) == 5 + 5


def test_appends_to_other_branches_or_with_another_summary_do_not(writer: Writer) -> None:
    writer.append(0)
    base = writer.commit(CreateReference("b", "branch"), base=writer.load()).table
    places = [MAIN, Destination("b"), Destination(summary=(("job", "x"),)), Destination("b"), Destination("new")]
    members = [Member(_append(base, 1 + number), base, place, f"c{number}") for number, place in enumerate(places)]
    _landed(
        commit_group(
            writer.catalog, ORDERS, members, base=base, clock=writer.clock, rng=writer.rng, sleep=writer.clock.sleep
        )
    )

    metadata = writer.load().metadata
    assert len(metadata.snapshots) == 1 + 4
    assert _ids(writer.load()) == [0, 1, 3]
    of_b = metadata.head("b")
    assert of_b is not None
    assert of_b.summary["added-data-files"] == "2"
    assert metadata.head("new") is not None


def test_equality_deletes_hit_the_rows_of_members_before_and_of_none_after(writer: Writer) -> None:
    base = writer.load()
    actions = [_append(base, 1, 2), _upsert(base, 1), _upsert(base, 1, 3), _append(base, 3)]
    _landed(_group(writer, actions))

    table = writer.load()
    # the appends come last: rows of them are hit by no upsert
    assert _ids(table) == [1, 1, 2, 3, 3]
    assert [one.sequence_number for one in table.metadata.snapshots] == [1, 2, 3]
    numbers = {one.snapshot_id: one.sequence_number for one in table.metadata.snapshots}
    assert [numbers[entry.snapshot_id] for entry in table.metadata.snapshot_log] == [1, 2, 3]


def test_each_member_has_its_own_verdict(tmp_path: Path, writer: Writer) -> None:
    table = writer.append(*range(4)).table
    file = _only_file(writer)
    actions = [
        _delete(table, file, 0),
        _delete(table, file, 1),
        _copy(table, file, 9),
        _delete(table, file, 2, read_filter=AlwaysTrue()),
        _append(table, 7),
    ]
    verdicts = _group(writer, actions)

    assert [type(one) for one in verdicts] == [CommitOutcome, CommitOutcome, StaleRead, CommitOutcome, CommitOutcome]
    refused = verdicts[2]
    assert isinstance(refused, StaleRead)
    assert refused.contender is not None
    assert len(refused.contender.files) == 1
    assert refused.contender.planned_on == table.metadata.current_snapshot_id
    assert _ids(writer.load()) == [3, 7]
    (lost,) = actions[2].added  # type: ignore[attr-defined]
    assert not (tmp_path / lost.file_path.split(f"{tmp_path}/")[1]).exists()


def _only_file(writer: Writer) -> ContentFile:
    (entry,) = _live_entries(writer.load())
    return entry.file


def _live_entries(table: LoadedTable) -> list[ManifestEntry]:
    io, cache, snapshot = LocalFileIO(), ManifestCache(), table.metadata.current_snapshot()
    assert snapshot is not None
    manifests = cache.manifests(io, snapshot)
    return [entry for one in manifests for entry in cache.live_entries(io, one, table.metadata)]


def test_a_group_of_which_nothing_lands_makes_no_version(tmp_path: Path, writer: Writer) -> None:
    base = writer.append(*range(4)).table
    file = _only_file(writer)
    newer = writer.commit(OverwriteFiles((), delete_all=True), base=base).table
    before = files_below(tmp_path)
    verdicts = _group(writer, [_delete(base, file, 0), _delete(base, file, 1)], base=newer, planned_on=base)

    assert [type(one) for one in verdicts] == [StaleRead] * 2
    assert writer.load().metadata_location == newer.metadata_location
    gone = {name for name in files_below(tmp_path) if name.endswith(".parquet")} - before
    assert not gone


def test_a_lost_race_stages_all_of_them_anew(tmp_path: Path, writer: Writer) -> None:
    """Sequence numbers that the first attempt gave to a member's files are not those of the second: the last member
    merges the same manifests in both, with files of which the first one's deletes would hit the first one's rows."""
    properties = {"commit.manifest.min-count-to-merge": "3"}
    table = writer.commit(ChangeProperties(properties), base=writer.append(*range(6)).table).table
    file = _only_file(writer)
    other = Writer(warehouse_catalog(tmp_path), seed=5)
    overtaken = []

    def overtake(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json") and not overtaken:
            overtaken.append(location)
            current = other.load()
            other.commit(_delete(current, file, 0), base=current)
        create()

    slow = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtake)), seed=6)
    actions = [_upsert(table, 1, 10), _delete(table, file, 2), _upsert(table, 11), _append(table, 12)]
    landed = _landed(_group(slow, actions, base=table))

    assert [one.attempts for one in landed] == [2] * 4
    assert _ids(writer.load()) == [1, 3, 4, 5, 10, 11, 12]
    metadata = writer.load().metadata
    assert [one.sequence_number for one in metadata.snapshots] == list(range(1, 7))
    for entry in _live_entries(writer.load()):
        assert entry.snapshot_id is not None
        assert entry.sequence_number == metadata.snapshot(entry.snapshot_id).sequence_number
    lists = {one.manifest_list.rpartition("/")[2] for one in metadata.snapshots}
    assert {name.rpartition("/")[2] for name in files_below(tmp_path) if "/snap-" in name} == lists


def test_a_member_that_fails_because_of_one_that_never_lands_is_tried_again(tmp_path: Path, writer: Writer) -> None:
    """Of two deletes of a row the first is overtaken: the second conflicted with a change that is not there."""
    base = writer.append(*range(4)).table
    file = _only_file(writer)
    other = Writer(warehouse_catalog(tmp_path), seed=5)
    overtaken = []

    def overtake(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json") and not overtaken:
            overtaken.append(location)
            current = other.load()
            other.commit(_append(current, 100), base=current)
        create()

    slow = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtake)), seed=6)
    replaced = _delete(base, file, 1, read_filter=AlwaysTrue())
    replacing = RowDelta(
        (data_file(base.metadata, [50]),),
        _delete(base, file, 1).delete_files,
        frozenset({file.file_path}),
        base_snapshot_id=base.metadata.current_snapshot_id,
        deleted_rows=replaced.deleted_rows,
    )
    verdicts = _group(slow, [replaced, replacing, _append(base, 8)], base=base)

    assert [type(one) for one in verdicts] == [StaleRead, CommitOutcome, CommitOutcome]
    assert _ids(writer.load()) == [0, 2, 3, 8, 50, 100]


@pytest.mark.parametrize("landed", [True, False])
def test_an_answer_that_never_came_is_found_out_for_all(tmp_path: Path, writer: Writer, landed: bool) -> None:
    left = [1]

    def around(location: str, create: Callable[[], None]) -> None:
        if not location.endswith(".metadata.json") or not left[0]:
            create()
            return
        left[0] -= 1
        if landed:
            create()
        raise TimeoutError("no answer")

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(around)), seed=3)
    base = writer.load()
    _landed(_group(unlucky, [_append(base, 1), _upsert(base, 2), _append(base, 3)]))

    assert _ids(writer.load()) == [1, 2, 3]
    assert len(writer.load().metadata.snapshots) == 2


def test_an_unknown_outcome_deletes_the_files_of_no_member_that_may_have_landed(tmp_path: Path, writer: Writer) -> None:
    table = writer.append(*range(3)).table
    file = _only_file(writer)
    table = writer.commit(ChangeProperties({"commit.status-check.num-retries": "0"}), base=table).table
    silent = [False]

    def around(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json"):
            silent[0] = True
            raise TimeoutError("no answer")
        create()

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(around)), seed=3)
    actions = [_append(table, 5), _upsert(table, 6), _delete(table, file, 0), _copy(table, file, 9)]
    before = {name for name in files_below(tmp_path) if name.endswith(".parquet")}
    verdicts = _group(unlucky, actions)

    assert silent[0]
    assert [type(one) for one in verdicts] == [CommitStateUnknown] * 3 + [StaleRead]
    ids = [one.parameters["commit_id"] for one in verdicts if isinstance(one, CommitStateUnknown)]
    assert len(set(ids)) == 3
    after = {name for name in files_below(tmp_path) if name.endswith(".parquet")}
    (lost,) = actions[3].added  # type: ignore[attr-defined]
    assert {name for name in before if lost.file_path.endswith(name)} == before - after


def test_rows_written_for_another_table_or_before_a_constraint_do_not_land(tmp_path: Path, writer: Writer) -> None:
    old = writer.load()
    checked = writer.commit(ChangeConstraints({f"{CHECK_PREFIX}positive": "id > 0"}), base=old).table
    stale, fresh = _append(old, 1), _append(checked, 2)
    members = [
        Member(stale, old, MAIN, "a"),
        Member(fresh, checked, MAIN, "b"),
        Member(_upsert(old, 3), old, MAIN, "c"),
    ]
    given = {"clock": writer.clock, "rng": writer.rng, "sleep": writer.clock.sleep}
    verdicts = commit_group(writer.catalog, ORDERS, members, base=checked, **given)  # type: ignore[arg-type]

    assert [type(one) for one in verdicts] == [ValidationConflict, CommitOutcome, ValidationConflict]
    assert _ids(writer.load()) == [2]
    assert len([name for name in files_below(tmp_path) if name.endswith(".parquet")]) == 1

    writer.catalog.drop_table(ORDERS, purge=False)
    made = writer.create()
    members = [Member(_append(checked, 4), checked, MAIN, "d"), Member(_append(made, 5), made, MAIN, "e")]
    verdicts = commit_group(writer.catalog, ORDERS, members, base=made, **given)  # type: ignore[arg-type]
    assert [type(one) for one in verdicts] == [ValidationConflict, CommitOutcome]
    assert _ids(writer.load()) == [5]


def test_a_dropped_table_stays_dropped(tmp_path: Path, writer: Writer) -> None:
    base = writer.append(1).table
    actions = [_append(base, 2), _upsert(base, 3)]
    writer.catalog.drop_table(ORDERS, purge=False)
    verdicts = _group(writer, actions, base=base)

    assert [type(one) for one in verdicts] == [NotFoundError] * 2
    assert not writer.catalog.table_exists(ORDERS)
    assert verdicts[0] is not verdicts[1]


def test_a_full_disk_takes_the_files_of_all(tmp_path: Path, writer: Writer) -> None:
    base = writer.append(1).table
    before = files_below(tmp_path)

    unlucky = Writer(warehouse_catalog(tmp_path, no_space_for("/snap-")), seed=3)
    verdicts = _group(unlucky, [_append(base, 2), _append(base, 3), _upsert(base, 4)])

    assert [type(one) for one in verdicts] == [StorageError] * 3
    assert files_below(tmp_path) == before


# equal to the sequential run


def _random_actions(writer: Writer, rng: random.Random) -> list[tuple[Action, LoadedTable]]:
    """Changes of rows, planned on one of three versions of a table."""
    versions = [writer.append(*range(6)).table]
    file = _only_file(writer)
    for step in range(2):
        current = versions[-1]
        versions.append(writer.commit(_upsert(current, 20 + step), base=current).table)
    planned: list[tuple[Action, LoadedTable]] = []
    for number in range(rng.choice((2, 4, 7))):
        table = rng.choice(versions)
        ids = rng.sample(range(40), rng.choice((1, 2)))
        places = sorted(rng.sample(range(6), 2))
        reads = {"read_filter": AlwaysTrue()} if rng.random() < 0.3 else {}
        kinds: Sequence[Callable[[], Action]] = (
            lambda table=table, ids=ids: _append(table, *ids),  # type: ignore[misc]
            lambda table=table, ids=ids: _append(table, *ids),  # type: ignore[misc]
            lambda table=table, ids=ids: _upsert(table, *ids),  # type: ignore[misc]
            lambda table=table, at=places, how=reads: _delete(table, file, *at, **how),  # type: ignore[misc]
            lambda table=table, number=number: _copy(table, file, 100 + number),  # type: ignore[misc]
        )
        planned.append((rng.choice(kinds)(), table))
    return planned


@pytest.mark.parametrize("seed", range(40))
def test_the_result_is_that_of_the_same_commits_one_after_the_other(tmp_path: Path, seed: int) -> None:
    found = []
    for way in ("group", "sequence"):
        rng = random.Random(seed)
        writer = Writer(warehouse_catalog(tmp_path / way), seed=1)
        properties = {"commit.manifest.min-count-to-merge": rng.choice(("2", "100"))}
        writer.create(format_version=rng.choice((2, 3)), properties=properties)
        planned = _random_actions(writer, rng)
        plain = [isinstance(action, AppendFiles) for action, _ in planned]
        verdicts: list[object] = [None] * len(planned)
        if way == "group":
            members = [Member(action, base, MAIN, f"c{number}") for number, (action, base) in enumerate(planned)]
            given = {"clock": writer.clock, "rng": writer.rng, "sleep": writer.clock.sleep}
            told = commit_group(writer.catalog, ORDERS, members, base=writer.load(), **given)  # type: ignore[arg-type]
            verdicts = [type(one) for one in told]
        else:
            for number in sorted(range(len(planned)), key=lambda one: plain[one]):
                action, base = planned[number]
                try:
                    verdicts[number] = type(writer.commit(action, base=base))
                except SqlextError as error:
                    verdicts[number] = type(error)
        table = writer.load()
        totals = {name: value for name, value in summary_of(table).items() if name.startswith("total-")}
        totals.pop("total-files-size")
        found.append((verdicts, _ids(table), totals))
        kept = {name for name in files_below(tmp_path / way) if name.endswith(".parquet")}
        found[-1] += (len(kept),)
    assert found[0] == found[1]
