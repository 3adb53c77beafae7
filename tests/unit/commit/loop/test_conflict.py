"""Two writers, one after the other on the same base: which pairs conflict, and what the loser leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyroaring import BitMap64

from small_tables import (
    BY_REGION,
    Writer,
    data_file,
    equality_deletes,
    files_below,
    ids_read_by_pyiceberg,
    position_deletes,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import Contender, ValidationConflict
from sqlext.spec.expression import AlwaysTrue, Comparison
from sqlext.spec.manifests.content_file import ContentFile


class Race:
    """A table with one data file (ids 1, 2, 3), loaded by two writers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first = Writer(warehouse_catalog(folder), seed=1)
        self.second = Writer(warehouse_catalog(folder), seed=2)
        empty = self.first.create()
        self.file = data_file(empty.metadata, [1, 2, 3])
        self.base = self.first.commit(AppendFiles((self.file,)), base=empty).table
        self.metadata = self.base.metadata
        self.base_id = self.metadata.current_snapshot_id

    def new_file(self, *ids: int) -> ContentFile:
        return data_file(self.metadata, ids)

    def deletes(self, *positions: int) -> ContentFile:
        return position_deletes(self.metadata, self.file, positions)

    def delta(
        self, *, rows: tuple[ContentFile, ...] = (), positions: tuple[int, ...] = (), **options: object
    ) -> RowDelta:
        """A change of rows of the one file, planned on the base."""
        return RowDelta(
            data_files=rows,
            delete_files=(self.deletes(*positions),) if positions else (),
            referenced_data_files=frozenset({self.file.file_path}) if positions else frozenset(),
            base_snapshot_id=self.base_id,
            **options,  # type: ignore[arg-type]
        )

    def rows(self, *positions: int) -> dict[str, DeletedRows]:
        return {self.file.file_path: DeletedRows(self.file.spec_id, self.file.partition, BitMap64(positions))}

    def whole_file(self, *rows: ContentFile) -> RowDelta:
        """A change of all rows of the one file."""
        return RowDelta(
            data_files=rows,
            referenced_data_files=frozenset({self.file.file_path}),
            base_snapshot_id=self.base_id,
            deleted_rows=self.rows(0, 1, 2),
            deleted_files=(self.file,),
        )

    def run(self, first: Action, second: Action) -> LoadedTable:
        self.first.commit(first, base=self.base)
        return self.second.commit(second, base=self.base).table

    def refuse(self, first: Action, second: Action, reason: str, *own_files: ContentFile) -> Contender:
        """The second is refused and leaves none of its files. What was in its way."""
        self.first.commit(first, base=self.base)
        own = {file.file_path.rpartition("/")[2] for file in own_files}
        before = files_below(self.folder)
        with pytest.raises(ValidationConflict, match=reason) as raised:
            self.second.commit(second, base=self.base)
        assert raised.value.condition == "CONCURRENT_CHANGE"
        assert files_below(self.folder) == {name for name in before if name.rpartition("/")[2] not in own}
        contender = raised.value.contender
        assert contender is not None
        assert contender.planned_on == self.base_id
        assert contender.snapshot_id == self.first.load().metadata.current_snapshot_id
        return contender


@pytest.fixture
def race(tmp_path: Path) -> Race:
    return Race(tmp_path)


def test_deletes_of_different_rows_of_one_file_do_not_conflict(race: Race) -> None:
    table = race.run(race.delta(positions=(0,)), race.delta(positions=(2,)))
    assert ids_read_by_pyiceberg(table) == [2]


def test_a_delete_conflicts_with_the_removal_of_its_data_file(race: Race) -> None:
    second = race.delta(positions=(2,))
    rewrite = OverwriteFiles((race.new_file(1, 2, 3),), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    contender = race.refuse(rewrite, second, "removed the data file", *second.delete_files)
    assert contender.files == (race.file.file_path,)


def test_an_update_conflicts_with_new_position_deletes_of_its_file(race: Race) -> None:
    second = race.delta(rows=(race.new_file(30),), positions=(2,))
    race.refuse(race.delta(positions=(0,)), second, "deleted rows", *second.data_files, *second.delete_files)


def test_an_update_conflicts_with_new_equality_deletes_that_may_hit_its_rows(race: Race) -> None:
    upsert = RowDelta((race.new_file(2),), (equality_deletes(race.metadata, [2]),))
    second = race.delta(rows=(race.new_file(20),), positions=(1,), read_filter=Comparison("=", 1, 2))
    race.refuse(upsert, second, "deleted rows", *second.data_files, *second.delete_files)


def test_an_update_does_not_conflict_with_deletes_outside_of_what_it_read(race: Race) -> None:
    upsert = RowDelta((race.new_file(3),), (equality_deletes(race.metadata, [3]),))
    second = race.delta(rows=(race.new_file(20),), positions=(1,), read_filter=Comparison("<", 1, 3))
    race.run(upsert, second)


def test_a_serializable_change_conflicts_with_new_rows_it_would_have_read(race: Race) -> None:
    second = race.delta(positions=(2,), read_filter=Comparison(">", 1, 2))
    added = [race.new_file(9), race.new_file(2), *(race.new_file(id) for id in range(10, 50))]
    contender = race.refuse(AppendFiles(tuple(added)), second, "added rows", *second.delete_files)
    # The first ones of those that may match, which that of id 2 cannot.
    assert contender.files == tuple(file.file_path for file in added if file is not added[1])[:20]


def test_new_rows_outside_of_the_filter_do_not_conflict(race: Race) -> None:
    second = race.delta(positions=(2,), read_filter=Comparison("<", 1, 9))
    assert ids_read_by_pyiceberg(race.run(AppendFiles((race.new_file(9),)), second)) == [1, 2, 9]


def test_snapshot_isolation_lets_new_rows_pass(race: Race) -> None:
    second = race.delta(positions=(2,), read_filter=AlwaysTrue(), isolation="snapshot")
    assert ids_read_by_pyiceberg(race.run(AppendFiles((race.new_file(9),)), second)) == [1, 2, 9]


def test_upserts_that_read_nothing_do_not_conflict(race: Race) -> None:
    first = RowDelta((race.new_file(2),), (equality_deletes(race.metadata, [2]),), base_snapshot_id=race.base_id)
    second = RowDelta((race.new_file(2),), (equality_deletes(race.metadata, [2]),), base_snapshot_id=race.base_id)
    table = race.run(first, second)
    assert [one.sequence_number for one in table.metadata.snapshots] == [1, 2, 3]


def test_a_change_of_all_rows_of_a_file_conflicts_with_a_delete_of_one(race: Race) -> None:
    """Else that row would be back, in its new form."""
    first = race.delta(positions=(0,), deleted_rows=race.rows(0))
    second = race.whole_file(race.new_file(10, 20, 30))
    race.first.commit(first, base=race.base)
    with pytest.raises(ValidationConflict) as raised:
        race.second.commit(second, base=race.base)
    assert raised.value.condition == "WRITE_CONFLICT"


def test_a_delete_of_all_rows_of_a_file_lands_on_one_of_some(race: Race) -> None:
    table = race.run(race.delta(positions=(0,), deleted_rows=race.rows(0)), race.whole_file())
    assert ids_read_by_pyiceberg(table) == []
    assert table.metadata.current_snapshot().summary["deleted-data-files"] == "1"


def test_a_delete_of_some_rows_conflicts_with_one_of_the_whole_file(race: Race) -> None:
    second = race.delta(positions=(0,), deleted_rows=race.rows(0))
    race.refuse(race.whole_file(), second, "removed the data file", *second.delete_files)


def test_a_copy_on_write_conflicts_with_new_deletes_of_its_files(race: Race) -> None:
    added = race.new_file(1, 2)
    second = OverwriteFiles((added,), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    race.refuse(race.delta(positions=(0,)), second, "deleted rows", added)


def test_two_copies_on_write_of_one_file_conflict(race: Race) -> None:
    first = OverwriteFiles((race.new_file(1),), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    added = race.new_file(2)
    second = OverwriteFiles((added,), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    race.refuse(first, second, "removed the data file", added)


def test_an_overwrite_of_everything_removes_what_was_added_meanwhile(race: Race) -> None:
    table = race.run(AppendFiles((race.new_file(9),)), OverwriteFiles((race.new_file(7),), delete_all=True))
    assert ids_read_by_pyiceberg(table) == [7]


def test_an_overwrite_by_a_filter_removes_whole_files_that_were_added_meanwhile(race: Race) -> None:
    second = OverwriteRows(Comparison(">", 1, 3), (race.new_file(7),), base_snapshot_id=race.base_id)
    assert ids_read_by_pyiceberg(race.run(AppendFiles((race.new_file(8, 9),)), second)) == [1, 2, 3, 7]


def test_an_overwrite_by_a_filter_conflicts_with_files_that_only_partly_match(race: Race) -> None:
    second = OverwriteRows(Comparison(">", 1, 8), (race.new_file(10),), base_snapshot_id=race.base_id)
    race.refuse(AppendFiles((race.new_file(8, 9),)), second, "rows that it may have to replace", *second.added)


def test_an_overwrite_by_a_filter_conflicts_with_the_removal_of_a_file_it_read(race: Race) -> None:
    deletes = race.deletes(2)
    second = OverwriteRows(
        Comparison(">", 1, 2),
        delete_files=(deletes,),
        referenced_data_files=frozenset({race.file.file_path}),
        base_snapshot_id=race.base_id,
    )
    rewrite = OverwriteFiles((race.new_file(1, 2),), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    race.refuse(rewrite, second, "removed the data file", deletes)
    added = race.new_file(3)
    second = OverwriteRows(Comparison("<", 1, 9), (added,), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    with pytest.raises(ValidationConflict, match="removed the file"):
        race.second.commit(second, base=race.base)


def test_an_overwrite_conflicts_with_new_deletes_of_a_file_that_it_writes_anew(race: Race) -> None:
    """They would be lost: the row that another commit deleted is in the new file."""
    added = race.new_file(1, 2)
    second = OverwriteRows(Comparison("=", 1, 3), (added,), rewritten_files=(race.file,), base_snapshot_id=race.base_id)
    race.refuse(race.delta(positions=(0,)), second, "deleted rows", added)


def test_an_overwrite_conflicts_with_the_removal_of_a_file_that_it_writes_anew(race: Race) -> None:
    added = race.new_file(1, 2)
    second = OverwriteRows(Comparison("=", 1, 3), (added,), rewritten_files=(race.file,), base_snapshot_id=race.base_id)
    race.refuse(OverwriteFiles(delete_all=True), second, "removed the data file", added)


def test_an_overwrite_without_filter_conflicts_with_new_rows(race: Race) -> None:
    second = OverwriteRows(None, (race.new_file(7),), deleted_files=(race.file,), base_snapshot_id=race.base_id)
    race.refuse(AppendFiles((race.new_file(9),)), second, "added rows", *second.added)


def test_a_base_that_was_rolled_back_conflicts(race: Race) -> None:
    second = RowDelta((), (race.deletes(0),), frozenset({race.file.file_path}), base_snapshot_id=12345)
    race.first.commit(AppendFiles((race.new_file(9),)), base=race.base)
    with pytest.raises(ValidationConflict, match="rolled back or replaced") as raised:
        race.second.commit(second, base=race.base)
    assert raised.value.contender is None


def test_partitions_divide_what_conflicts(tmp_path: Path) -> None:
    first, second = Writer(warehouse_catalog(tmp_path), seed=1), Writer(warehouse_catalog(tmp_path), seed=2)
    base = first.create(spec=BY_REGION)
    base = first.append(1, region="eu", base=base).table
    first.append(1, region="us", base=base)
    delta = RowDelta(
        data_files=(data_file(base.metadata, [1], "eu"),),
        base_snapshot_id=base.metadata.current_snapshot_id,
        read_filter=Comparison("=", 2, "eu"),
    )
    assert second.commit(delta, base=base).attempts == 2
