"""What commits do to the state of identity columns, and which of them lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import Writer, data_file, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.branch_move import MoveBranch, RollbackToSnapshot
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import DropReference
from sqlext.commit.state.identity_change import ReserveIdentities, SyncIdentity, counting
from sqlext.errors import IdentitiesTaken
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.identity_bounds import examined_marks, marks_of
from sqlext.spec.identity_column import FLOOR_PREFIX, IDENTITY_PREFIX, MARK_PREFIX, IdentityColumn, IdentityMark
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import LocalFileIO

MARK = f"{MARK_PREFIX}1"
FROM_ONE = IdentityColumn(True)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _create(writer: Writer, column: IdentityColumn = FROM_ONE, version: int = 2) -> LoadedTable:
    return writer.create(properties={f"{IDENTITY_PREFIX}1": column.encode()}, format_version=version)


def _given(table: LoadedTable, *ids: int, given_from: IdentityMark | None = None) -> Action:
    """An append of rows whose values were given behind the table's mark, or behind `given_from`."""
    metadata = table.metadata
    seen = IdentityMark(marks_of(metadata)[1].value, metadata.last_sequence_number)
    overridden = {**metadata.properties, MARK: (given_from or seen).encode()}
    action = AppendFiles((data_file(metadata, ids),))
    return counting(action, metadata, replace(metadata, properties=overridden))


def _state(metadata: TableMetadata) -> Mapping[str, str]:
    return {name: text for name, text in metadata.properties.items() if name.startswith((MARK_PREFIX, FLOOR_PREFIX))}


def test_the_mark_lands_with_the_rows(writer: Writer) -> None:
    table = _create(writer)
    outcome = writer.commit(_given(table, 1, 2, 3), base=table)
    assert _state(outcome.table.metadata) == {MARK: "3@0"}
    # Rows that keep their values move nothing, and conflict with nobody.
    kept = AppendFiles((data_file(table.metadata, (1, 2)),))
    assert counting(kept, outcome.table.metadata, outcome.table.metadata) is kept


def test_the_second_of_two_loses_and_tells_how_many_values_it_needs(writer: Writer) -> None:
    table = _create(writer, IdentityColumn(True, 1, 2))
    first, second = _given(table, 1, 3), _given(table, 1, 3, 5)
    writer.commit(first, base=table)
    with pytest.raises(IdentitiesTaken) as taken:
        writer.commit(second, base=table)
    assert taken.value.needed == {1: 3}


@pytest.mark.parametrize("branch", ["main", "audit"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_value_that_a_foreign_commit_has_added_meanwhile_is_not_given(
    writer: Writer, branch: str, version: int
) -> None:
    table = _create(writer, version=version)
    table = writer.append(100, base=table).table
    given = _given(table, 101, 102, given_from=IdentityMark(100, table.metadata.last_sequence_number))
    writer.append(7, base=table, destination=Destination(branch))
    writer.append(102, destination=Destination(branch))
    with pytest.raises(IdentitiesTaken):
        writer.commit(given, base=table)


def test_foreign_values_before_the_given_ones_are_no_conflict(writer: Writer) -> None:
    table = writer.append(100, base=_create(writer)).table
    given = _given(table, 101, given_from=IdentityMark(100, table.metadata.last_sequence_number))
    writer.append(50)
    assert _state(writer.commit(given, base=table).table.metadata) == {MARK: "101@1"}


def test_reserved_values_land_beside_others(writer: Writer) -> None:
    table = _create(writer)
    planned_before = _given(table, 1, 2)
    before: dict[int, int] = {}
    reserved = writer.commit(ReserveIdentities({1: 2}, {}, before.update), base=table).table
    assert (before, _state(reserved.metadata)) == ({1: 0}, {MARK: "2@0"})
    with pytest.raises(IdentitiesTaken):
        writer.commit(planned_before, base=table)
    beside = writer.commit(_given(reserved, 3), base=reserved)
    own = _given(reserved, 1, 2, given_from=IdentityMark(0))
    assert _state(writer.commit(own, base=reserved).table.metadata) == _state(beside.table.metadata) == {MARK: "3@0"}


def test_two_reservations_in_the_same_millisecond_are_of_different_values(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their metadata differ in nothing but who made them."""
    table, other = _create(writer), Writer(warehouse_catalog(tmp_path), seed=2)
    other.clock.now_ms = writer.clock.now_ms
    first: dict[int, int] = {}
    second: dict[int, int] = {}
    create = LocalFileIO.create

    def overtaken(io: LocalFileIO, location: str, data: bytes, **options: Any) -> None:
        monkeypatch.setattr(LocalFileIO, "create", create)
        writer.commit(ReserveIdentities({1: 2}, {}, first.update), base=table)
        create(io, location, data, **options)

    monkeypatch.setattr(LocalFileIO, "create", overtaken)
    outcome = other.commit(ReserveIdentities({1: 2}, {}, second.update), base=table)
    assert (first, second, _state(outcome.table.metadata)) == ({1: 0}, {1: 2}, {MARK: "4@0"})


def test_more_values_than_reserved_do_not_land(writer: Writer) -> None:
    table = _create(writer)
    reserved = writer.commit(ReserveIdentities({1: 2}, {}, lambda last: None), base=table).table
    with pytest.raises(IdentitiesTaken) as taken:
        writer.commit(_given(reserved, 1, 2, 3, given_from=IdentityMark(0)), base=reserved)
    assert taken.value.needed == {1: 3}


def test_a_reservation_is_behind_values_of_others_and_within_a_bigint(writer: Writer) -> None:
    table = _create(writer)
    before: dict[int, int] = {}
    outcome = writer.commit(ReserveIdentities({1: 5, 9: 5}, {1: 40}, before.update), base=table)
    assert (before, _state(outcome.table.metadata)) == ({1: 40}, {MARK: "45@0"})


def test_no_value_beyond_a_bigint_is_reserved(writer: Writer) -> None:
    table = _create(writer, IdentityColumn(True, 2**63 - 2))
    before: dict[int, int] = {}
    outcome = writer.commit(ReserveIdentities({1: 3}, {}, before.update), base=table)
    assert (before, _state(outcome.table.metadata)) == ({}, {})


def test_sync_identity_sets_nothing_back(writer: Writer) -> None:
    table = _create(writer)
    table = writer.commit(_given(table, 1, 2, 3), base=table).table
    assert _state(writer.commit(SyncIdentity(1, 2), base=table).table.metadata) == {MARK: "3@0"}
    table = writer.commit(SyncIdentity(1, 9), base=writer.load()).table
    assert _state(table.metadata) == {MARK: "3@0", f"{FLOOR_PREFIX}1": "9"}
    assert marks_of(table.metadata)[1].value == 9
    # A statement that was planned before it gives values that may be taken.
    stale = _given(table, 10)
    table = writer.commit(SyncIdentity(1, 20), base=table).table
    with pytest.raises(IdentitiesTaken):
        writer.commit(stale, base=table)


@pytest.mark.parametrize(("step", "wanted"), [(1, 8), (-1, -3)])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("files", [3, 120])
def test_other_writers_values_are_found_by_bounds(
    writer: Writer, step: int, wanted: int, version: int, files: int
) -> None:
    """Few entries of a manifest are objects, many are columns."""
    table = _create(writer, IdentityColumn(True, 0, step), version)
    added = tuple(
        data_file(table.metadata, (-3 if one == 1 else one % 8, 8 if one == 2 else 1)) for one in range(files)
    )
    table = writer.commit(AppendFiles(added), base=table).table
    found = examined_marks(writer.catalog.io, ManifestCache(), table.metadata)
    assert found == {1: IdentityMark(wanted, table.metadata.last_sequence_number)}
    if version == 1:
        return
    seen = ChangeProperties({MARK: f"4@{table.metadata.last_sequence_number}"})
    table = writer.commit(seen, base=table).table
    assert examined_marks(writer.catalog.io, ManifestCache(), table.metadata)[1].value == 4


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("way", ["deleted", "rolled back", "never on a branch", "on a dropped branch"])
def test_values_of_rows_that_may_come_back_are_passed(writer: Writer, version: int, way: str) -> None:
    table = writer.append(7, base=_create(writer, version=version)).table
    start = table.metadata.current_snapshot_id
    assert start is not None
    audit = Destination("audit") if way == "on a dropped branch" else MAIN
    staged = Destination(wap_id="w") if way == "never on a branch" else audit
    table = writer.append(100, base=table, destination=staged).table
    if way == "deleted":
        table = writer.commit(OverwriteFiles(delete_all=True), base=table).table
    elif way == "rolled back":
        table = writer.commit(MoveBranch(RollbackToSnapshot(start)), base=table).table
    elif way == "on a dropped branch":
        table = writer.commit(DropReference("audit", "branch"), base=table).table
    found = examined_marks(writer.catalog.io, ManifestCache(), table.metadata)
    assert found[1].value == 100


def test_appends_are_seen_in_the_last_one(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _create(writer)
    for id in range(1, 5):
        table = writer.append(id, base=table).table
    read: list[Snapshot] = []
    cache = ManifestCache()
    monkeypatch.setattr(cache, "manifests", lambda io, one: (read.append(one), ManifestCache().manifests(io, one))[1])
    assert examined_marks(writer.catalog.io, cache, table.metadata)[1].value == 4
    assert read == [table.metadata.current_snapshot()]


@pytest.mark.parametrize("version", [2, 3])
def test_commits_without_values_record_what_was_examined_now_and_then(writer: Writer, version: int) -> None:
    table = _create(writer, version=version)
    table = writer.append(50, base=table).table
    for number in range(40):
        metadata = table.metadata
        (examined,) = examined_marks(writer.catalog.io, ManifestCache(), metadata).values()
        as_written = replace(metadata, properties={**metadata.properties, MARK: examined.encode()})
        action = counting(OverwriteFiles(delete_all=True), metadata, as_written)
        if number == 35:
            # Another commit gives a value first, and has seen as much.
            table = writer.commit(_given(table, 51, given_from=examined), base=table).table
        table = writer.commit(action, base=table).table
    assert _state(table.metadata) == {MARK: f"51@{36}"}


def test_what_was_examined_sets_nothing_back(writer: Writer) -> None:
    table = writer.append(50, base=_create(writer)).table
    first = table.metadata
    examined = IdentityMark(50, first.last_sequence_number + 40)
    as_written = replace(first, properties={**first.properties, MARK: examined.encode()})
    action = counting(OverwriteFiles(delete_all=True), first, as_written)
    table = writer.commit(_given(table, 51, 52, given_from=IdentityMark(50, 1)), base=table).table
    assert _state(writer.commit(action, base=table).table.metadata) == {MARK: f"52@{examined.seen}"}
