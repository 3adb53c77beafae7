"""Two commits that change rows of the same files: other rows and keys pass, the same ones are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from small_tables import (
    BY_REGION,
    UNPARTITIONED,
    Writer,
    data_file,
    equality_deletes,
    position_deletes,
    rows_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, DropField, FieldTerm
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import ValidationConflict
from sqlext.spec.expression import AlwaysTrue, Comparison
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.transform import IdentityTransform


class Race:
    """Two writers of a table that has one data file with ids 0 to 9."""

    def __init__(self, folder: Path, format_version: int, **given: Any) -> None:
        self.format_version = format_version
        self.first, self.second = (Writer(warehouse_catalog(folder), seed=seed) for seed in (1, 2))
        empty = self.first.create(format_version=format_version, **given)
        self.file = data_file(empty.metadata, range(10))
        self.base = self.first.commit(AppendFiles((self.file,)), base=empty).table
        self.metadata = self.base.metadata

    def rows(self, *ids: int, region: str = "eu") -> ContentFile:
        return data_file(self.metadata, ids, region)

    def change(self, *positions: int, rows: tuple[ContentFile, ...] = (), **options: Any) -> RowDelta:
        """Deletes rows of the one file and adds others."""
        deleted = DeletedRows(self.file.spec_id, self.file.partition, BitMap64(positions))
        in_files = (position_deletes(self.metadata, self.file, positions),) if self.format_version == 2 else ()
        return RowDelta(
            data_files=rows,
            delete_files=in_files if positions else (),
            referenced_data_files=frozenset({self.file.file_path}) if positions else frozenset(),
            deleted_rows={self.file.file_path: deleted} if positions else {},
            base_snapshot_id=self.metadata.current_snapshot_id,
            **options,
        )

    def upsert(self, *ids: int) -> RowDelta:
        """By equality deletes."""
        return RowDelta((self.rows(*ids),), (equality_deletes(self.metadata, ids),))

    def run(self, first: Action, second: Action) -> list[int]:
        """The ids that are there once both have landed, each begun on the base."""
        self.first.commit(first, base=self.base)
        return _ids(self.second.commit(second, base=self.base).table)

    def refusal(self, first: Action, second: Action) -> ValidationConflict:
        landed = self.first.commit(first, base=self.base).table
        with pytest.raises(ValidationConflict) as raised:
            self.second.commit(second, base=self.base)
        assert self.first.load().metadata_location == landed.metadata_location
        snapshot = landed.metadata.current_snapshot()
        assert snapshot is not None
        assert f"snapshot {snapshot.snapshot_id}, {snapshot.operation}" in raised.value.message
        contender = raised.value.contender
        assert contender is not None
        assert (contender.planned_on, contender.snapshot_id) == (
            self.metadata.current_snapshot_id,
            snapshot.snapshot_id,
        )
        assert (contender.operation, contender.committed_ms) == (snapshot.operation, snapshot.timestamp_ms)
        assert ("engine-name", "sqlext") in contender.author
        return raised.value


def _ids(table: LoadedTable) -> list[int]:
    return sorted(row["id"] for row in rows_of(table))


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def race(request: pytest.FixtureRequest, tmp_path: Path) -> Race:
    return Race(tmp_path, request.param)


def test_updates_of_different_rows_of_one_file_both_land(race: Race) -> None:
    first, second = race.change(0, rows=(race.rows(100),)), race.change(9, rows=(race.rows(109),))
    assert race.run(first, second) == [1, 2, 3, 4, 5, 6, 7, 8, 100, 109]


def test_updates_of_one_row_conflict_and_name_its_key(race: Race) -> None:
    first, second = race.change(0, 5, rows=(race.rows(100),)), race.change(5, 9, rows=(race.rows(109),))
    refusal = race.refusal(first, second)
    assert refusal.condition == "WRITE_CONFLICT"
    assert 'the rows of {"id": 5}' in refusal.message
    assert refusal.contender is not None
    assert refusal.contender.keys == ('{"id": 5}',)
    assert race.file.file_path in refusal.contender.files
    assert len(refusal.contender.files) == 2


def test_a_conflict_names_some_of_many_keys(tmp_path: Path) -> None:
    race = Race(tmp_path, 3)
    many = race.rows(*range(100, 200))
    refusal = race.refusal(AppendFiles((many,)), race.change(rows=(race.rows(*range(100, 200)),), unique_key=(1,)))
    assert refusal.contender is not None
    assert refusal.contender.files == (many.file_path,)
    assert len(set(refusal.contender.keys)) == 20
    assert refusal.message.count('{"id": ') == 5


def test_an_update_and_a_delete_of_one_row_conflict_whichever_comes_first(race: Race) -> None:
    refusal = race.refusal(race.change(5), race.change(5, rows=(race.rows(105),)))
    assert refusal.condition == "WRITE_CONFLICT"


def test_a_delete_does_not_lose_the_update_of_its_row(race: Race) -> None:
    refusal = race.refusal(race.change(5, rows=(race.rows(105),)), race.change(5, isolation="snapshot"))
    assert refusal.condition == "WRITE_CONFLICT"


def test_two_deletes_of_one_row_both_land(race: Race) -> None:
    assert race.run(race.change(5, 6), race.change(6, 7)) == [0, 1, 2, 3, 4, 8, 9]


def test_an_upsert_by_equality_conflicts_with_the_change_of_a_row_of_its_keys(race: Race) -> None:
    refusal = race.refusal(race.upsert(5, 7), race.change(4, 5, rows=(race.rows(104, 105),)))
    assert refusal.condition == "WRITE_CONFLICT"
    assert 'the rows of {"id": 5}:' not in refusal.message
    assert 'the rows of {"id": 5}' in refusal.message


def test_an_upsert_by_equality_passes_the_change_of_rows_between_its_keys(race: Race) -> None:
    second = race.change(5, rows=(race.rows(105),), read_filter=None)
    assert race.run(race.upsert(4, 6), second) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 105]


def test_an_upsert_by_equality_lands_after_anything(race: Race) -> None:
    first = race.change(4, 5, rows=(race.rows(4, 5),))
    assert race.run(first, race.upsert(5, 11)) == [*range(10), 11]


def test_a_key_that_both_bring_conflicts_at_either_level(race: Race) -> None:
    first, second = race.change(rows=(race.rows(20, 30),)), race.change(rows=(race.rows(30, 40),), unique_key=(1,))
    refusal = race.refusal(first, second)
    assert refusal.condition == "WRITE_CONFLICT"
    assert '{"id": 30}' in refusal.message


def test_keys_between_those_of_the_other_pass(race: Race) -> None:
    second = race.change(5, rows=(race.rows(5, 30),), unique_key=(1,))
    assert race.run(race.change(6, rows=(race.rows(6, 20, 40),)), second) == [*range(10), 20, 30, 40]


def test_a_key_that_came_and_went_again_passes(race: Race) -> None:
    brought = race.rows(30, 31)
    table = race.first.commit(AppendFiles((brought,)), base=race.base).table
    deleted = {brought.file_path: DeletedRows(brought.spec_id, brought.partition, BitMap64([0]))}
    in_files = (position_deletes(table.metadata, brought, [0]),) if race.format_version == 2 else ()
    gone = RowDelta((), in_files, frozenset(deleted), deleted_rows=deleted)
    race.first.commit(gone, base=table)
    second = race.change(rows=(race.rows(30),), unique_key=(1,))
    assert _ids(race.second.commit(second, base=race.base).table) == [*range(10), 30, 31]


def test_a_key_that_came_and_was_rewritten_is_still_found(race: Race) -> None:
    brought = race.rows(30)
    table = race.first.commit(AppendFiles((brought,)), base=race.base).table
    since = table.metadata.current_snapshot_id
    rewritten = OverwriteFiles((race.rows(29, 30),), deleted_files=(brought,), base_snapshot_id=since)
    race.first.commit(rewritten, base=table)
    with pytest.raises(ValidationConflict, match="WRITE_CONFLICT"):
        race.second.commit(race.change(rows=(race.rows(30),), unique_key=(1,)), base=race.base)


def test_what_is_read_is_checked_for_lost_rows_only_where_it_matters(race: Race) -> None:
    first = race.change(3)
    alone = race.change(9, rows=(race.rows(109),), read_filter=Comparison(">", 1, 0))
    assert race.run(first, alone) == [0, 1, 2, 4, 5, 6, 7, 8, 109]


def test_a_row_that_others_depend_on_may_not_go(race: Race) -> None:
    second = race.change(9, rows=(race.rows(109),), needed_filter=AlwaysTrue())
    refusal = race.refusal(race.change(3), second)
    assert refusal.condition == "CONCURRENT_CHANGE"
    assert "deleted rows that it had read" in refusal.message


@pytest.mark.parametrize(("spec", "lands"), [(BY_REGION, False), (UNPARTITIONED, True)])
def test_equality_deletes_reach_rows_that_came_in_another_partitioning(tmp_path: Path, spec: Any, lands: bool) -> None:
    race = Race(tmp_path, 2, spec=spec)
    region = FieldTerm(("region",), IdentityTransform())
    changed = race.first.commit(ChangeSpec((AddField(region) if lands else DropField(region),)), base=race.base).table
    race.first.commit(AppendFiles((data_file(changed.metadata, [3]),)), base=changed)
    if lands:
        table = race.second.commit(race.upsert(3), base=race.base).table
        assert _ids(table) == list(range(10))
    else:
        with pytest.raises(ValidationConflict, match="another partitioning"):
            race.second.commit(race.upsert(3), base=race.base)
