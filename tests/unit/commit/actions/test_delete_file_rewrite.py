"""A conversion of equality deletes races with other writers: what it conflicts with, and what it lets pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from small_tables import (
    InterruptedIO,
    Writer,
    data_file,
    equality_deletes,
    ids_read_by_pyiceberg,
    position_deletes,
    rows_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.branch_move import MoveBranch, RollbackToSnapshot
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import ValidationConflict
from sqlext.spec.manifests.content_file import ContentFile


class Converted:
    """A table of ids 1, 2, 3 in one file, of which an equality delete hits 2, and 5 in one that is added with it."""

    def __init__(self, folder: Path, format_version: int = 2) -> None:
        self.format_version = format_version
        self.converter = Writer(warehouse_catalog(folder), seed=1)
        self.other = Writer(warehouse_catalog(folder), seed=2)
        empty = self.converter.create(format_version=format_version)
        self.file = data_file(empty.metadata, [1, 2, 3])
        before = self.converter.commit(AppendFiles((self.file,)), base=empty).table
        self.before_id = before.metadata.current_snapshot_id
        self.deletes = equality_deletes(empty.metadata, [2])
        self.added = data_file(empty.metadata, [5])
        self.base = self.converter.commit(RowDelta((self.added,), (self.deletes,)), base=before).table

    def conversion(self, *dead: ContentFile) -> RewriteDeleteFiles:
        base_id = self.base.metadata.current_snapshot_id
        assert base_id is not None
        if dead:
            return RewriteDeleteFiles(dead, base_id)
        if self.format_version == 3:
            rows = {self.file.file_path: DeletedRows(self.file.spec_id, self.file.partition, BitMap64([1]))}
            return RewriteDeleteFiles(
                (self.deletes,), base_id, deleted_rows=rows, referenced_data_files=frozenset(rows)
            )
        positions = position_deletes(self.base.metadata, self.file, (1,))
        return RewriteDeleteFiles(
            (self.deletes,), base_id, (positions,), referenced_data_files=frozenset({self.file.file_path})
        )

    def after(self, other: Action) -> LoadedTable:
        self.other.commit(other, base=self.base)
        return self.converter.commit(self.conversion(), base=self.base).table

    def refused_after(self, other: Action, reason: str, *dead: ContentFile) -> None:
        self.other.commit(other, base=self.base)
        with pytest.raises(ValidationConflict, match=reason) as raised:
            self.converter.commit(self.conversion(*dead), base=self.base)
        assert raised.value.condition == "CONCURRENT_CHANGE"


@pytest.fixture
def converted(tmp_path: Path) -> Converted:
    return Converted(tmp_path)


def test_rows_stay_the_same(converted: Converted) -> None:
    table = converted.converter.commit(converted.conversion(), base=converted.base).table
    assert ids_read_by_pyiceberg(table) == [1, 3, 5]
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    assert (snapshot.operation, snapshot.summary["total-equality-deletes"]) == ("replace", "0")


def test_appends_and_deletes_of_others_pass(converted: Converted) -> None:
    metadata = converted.base.metadata
    deletes = position_deletes(metadata, converted.file, (0,))
    table = converted.after(RowDelta((data_file(metadata, [2, 9]),), (deletes,), isolation="snapshot"))
    assert ids_read_by_pyiceberg(table) == [2, 3, 5, 9]


def test_later_equality_deletes_stay(converted: Converted) -> None:
    metadata = converted.base.metadata
    table = converted.after(RowDelta((data_file(metadata, [3]),), (equality_deletes(metadata, [3]),)))
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    assert (snapshot.summary["total-equality-deletes"], snapshot.summary["total-position-deletes"]) == ("1", "1")


def test_the_rewrite_of_a_file_with_hit_rows_conflicts(converted: Converted) -> None:
    rewritten = data_file(converted.base.metadata, [1, 2, 3])
    base_id = converted.base.metadata.current_snapshot_id
    other = OverwriteFiles((rewritten,), deleted_files=(converted.file,), base_snapshot_id=base_id)
    converted.refused_after(other, "removed the data file")


def test_another_conversion_conflicts(converted: Converted) -> None:
    converted.refused_after(converted.conversion(), "removed the file")


def test_a_rollback_conflicts_even_if_only_dead_files_are_dropped(converted: Converted) -> None:
    assert converted.before_id is not None
    back = MoveBranch(RollbackToSnapshot(converted.before_id))
    converted.refused_after(back, "rolled back", converted.deletes)


def test_no_data_file_is_taken_out(converted: Converted) -> None:
    with pytest.raises(ValueError, match="data file"):
        RewriteDeleteFiles((converted.file,), 1, deleted_rows={}, referenced_data_files=frozenset())


class Killed(BaseException):
    """The process is gone: what it did last may have had its effect, and it cleans up nothing."""


@pytest.mark.parametrize("has_effect", [False, True])
@pytest.mark.parametrize("format_version", [2, 3])
def test_a_process_that_is_killed_leaves_the_rows_as_they_are(
    tmp_path: Path, format_version: int, has_effect: bool
) -> None:
    """At any file that it makes; the next conversion does what is left."""
    for number in range(1, 10):
        folder = tmp_path / str(number)
        converted = Converted(folder, format_version)
        made = 0

        def die(location: str, create: Callable[[], None], number: int = number) -> None:
            nonlocal made
            made += 1
            if made >= number:
                if has_effect and made == number:
                    create()
                raise Killed
            create()

        process = Writer(warehouse_catalog(folder, DyingIO(die)), seed=3)
        try:
            process.commit(converted.conversion(), base=converted.base)
        except Killed:
            table = converted.other.load()
            assert sorted(row["id"] for row in rows_of(table)) == [1, 3, 5]
            if table.metadata_location == converted.base.metadata_location:
                table = converted.converter.commit(converted.conversion(), base=table).table
            assert ids_read_by_pyiceberg(table) == [1, 3, 5]
        else:
            assert number > 3
            return
    pytest.fail("it never ended")


class DyingIO(InterruptedIO):
    """Deletes nothing, as the process is gone when it would."""

    def delete(self, location: str, **given: Any) -> None:
        raise Killed
