"""Deletion vectors of commits: one for each data file, and no deleted row comes back, whoever commits in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
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
    summary_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import NotFoundError, ValidationConflict
from sqlext.scan.deletes.position_delete import FILE_PATH_ID
from sqlext.scan.files import manifest_cache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent
from sqlext.storage.location import to_local_path, to_location

UPGRADE = ChangeProperties({"format-version": "3"})


class Orders:
    """A table with two data files: ids 0 to 9 and 10 to 19."""

    def __init__(self, folder: Path, *, format_version: int = 3, region: str | None = None, **given: Any) -> None:
        self.folder = folder
        self.first, self.second = (Writer(warehouse_catalog(folder), seed=seed) for seed in (1, 2))
        spec = {} if region is None else {"spec": BY_REGION}
        empty = self.first.create(format_version=format_version, **spec, **given)
        self.files = [data_file(empty.metadata, range(at, at + 10), region or "eu") for at in (0, 10)]
        self.base = self.first.commit(AppendFiles(self.files), base=empty).table

    def delta(self, base: LoadedTable, *positions: int, file: int = 0, rows: tuple[ContentFile, ...] = ()) -> RowDelta:
        return RowDelta(
            data_files=rows,
            referenced_data_files=frozenset({self.files[file].file_path}),
            base_snapshot_id=base.metadata.current_snapshot_id,
            read_filter=AlwaysTrue(),
            deleted_rows=self.rows(*positions, file=file),
        )

    def rows(self, *positions: int, file: int = 0) -> dict[str, DeletedRows]:
        one = self.files[file]
        return {one.file_path: DeletedRows(one.spec_id, one.partition, BitMap64(positions))}

    def deletes(self, table: LoadedTable, status: EntryStatus | None = None) -> list[ContentFile]:
        """Delete files of the current snapshot: live ones, or those of a status."""
        cache, io, snapshot = ManifestCache(), self.first.catalog.io, table.metadata.current_snapshot()
        assert snapshot is not None
        return [
            entry.file
            for manifest in cache.manifests(io, snapshot)
            if manifest.content == ManifestContent.DELETES
            for entry in cache.entries(io, manifest, table.metadata)
            if (entry.is_live if status is None else entry.status == status)
        ]

    def deleted(self, table: LoadedTable) -> dict[int, list[int]]:
        """Deleted positions by the number of the file, as our scan plans them."""
        io, snapshot = self.first.catalog.io, table.metadata.current_snapshot()
        plan = plan_scan(io, table.metadata, snapshot, AlwaysTrue(), manifests=ManifestCache())
        found = {task.file.file_path: task.position_deletes for task in plan.tasks}
        paths = [file.file_path for file in self.files]
        return {paths.index(path): list(BitMap64.deserialize(bits)) for path, bits in found.items() if bits}


def puffins(folder: Path) -> set[str]:
    return {name for name in files_below(folder) if name.endswith(".puffin")}


def test_vectors_of_one_commit_share_a_file(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    both = {**orders.rows(1, 2), **orders.rows(3, file=1)}
    table = orders.first.commit(RowDelta(deleted_rows=both), base=orders.base).table
    assert orders.deleted(table) == {0: [1, 2], 1: [3]}
    assert len(puffins(tmp_path)) == 1
    assert {file.file_path.rpartition("/")[2] for file in orders.deletes(table)} == {
        name.rpartition("/")[2] for name in puffins(tmp_path)
    }
    assert ids_read_by_pyiceberg(table) == [id for id in range(20) if id not in (1, 2, 13)]
    summary = summary_of(table)
    assert (summary["operation"], summary["added-dvs"], summary["added-delete-files"]) == ("delete", "2", "2")
    assert (summary["added-position-deletes"], summary["total-position-deletes"]) == ("3", "3")
    assert "added-position-delete-files" not in summary
    assert int(summary["added-files-size"]) == sum(file.content_bytes for file in orders.deletes(table))


def test_a_vector_replaces_the_one_before(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    table = orders.first.commit(RowDelta(deleted_rows={**orders.rows(1), **orders.rows(5, file=1)}), base=orders.base)
    (old,) = (file for file in orders.deletes(table.table) if _of(orders, file) == 0)
    table = orders.first.commit(orders.delta(table.table, 2, 3), base=table.table)
    assert orders.deleted(table.table) == {0: [1, 2, 3], 1: [5]}
    assert [file.key for file in orders.deletes(table.table, EntryStatus.DELETED)] == [old.key]
    summary = summary_of(table.table)
    assert (summary["added-dvs"], summary["removed-dvs"], summary["total-delete-files"]) == ("1", "1", "2")
    assert summary["total-position-deletes"] == "4"
    assert ids_read_by_pyiceberg(table.table) == [id for id in range(20) if id not in (1, 2, 3, 15)]


@pytest.mark.parametrize("count", [2, 60, 200])
def test_vectors_that_share_a_file_are_all_replaced(tmp_path: Path, count: int) -> None:
    """Also in a manifest of so many that it is decoded as columns: all of its entries have one path."""
    orders = Orders(tmp_path)
    more = [data_file(orders.base.metadata, range(at, at + 10), "eu") for at in range(20, 10 * count, 10)]
    orders.files += more
    table = orders.first.commit(AppendFiles(more), base=orders.base).table
    expected: dict[int, list[int]] = {}
    for position, files in ((0, range(count)), (1, range(count)), (2, range(1, count)), (3, range(count))):
        rows = {path: one for file in files for path, one in orders.rows(position, file=file).items()}
        table = orders.first.commit(RowDelta(deleted_rows=rows), base=table).table
        for file in files:
            expected.setdefault(file, []).append(position)
        assert orders.deleted(table) == expected
        assert len(orders.deletes(table)) == count
        assert summary_of(table)["total-delete-files"] == str(count)


def _of(orders: Orders, file: ContentFile) -> int:
    return [one.file_path for one in orders.files].index(file.referenced_data_file or "")


def test_two_deletes_at_once_lose_no_bit(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    orders.second.commit(orders.delta(orders.base, 1, 4), base=orders.base)
    outcome = orders.first.commit(orders.delta(orders.base, 4, 7), base=orders.base)
    assert outcome.attempts == 2
    assert orders.deleted(outcome.table) == {0: [1, 4, 7]}
    assert len(orders.deletes(outcome.table)) == 1
    assert len(puffins(tmp_path)) == 2, "the vector of the lost attempt is gone"


def test_a_lost_race_for_other_files_keeps_its_vector(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    orders.second.commit(orders.delta(orders.base, 1, file=1), base=orders.base)
    outcome = orders.first.commit(orders.delta(orders.base, 2), base=orders.base)
    assert (outcome.attempts, orders.deleted(outcome.table)) == (2, {0: [2], 1: [1]})
    (file,) = (file for file in orders.deletes(outcome.table) if _of(orders, file) == 0)
    assert file.file_path.endswith("-00001-deletes.puffin")


def test_an_update_of_a_row_that_another_commit_deleted_conflicts(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    orders.second.commit(orders.delta(orders.base, 1), base=orders.base)
    update = orders.delta(orders.base, 1, rows=(data_file(orders.base.metadata, [100]),))
    before = files_below(tmp_path)
    with pytest.raises(ValidationConflict):
        orders.first.commit(update, base=orders.base)
    assert files_below(tmp_path) == before - {f"db/orders/data/{update.data_files[0].file_path.rpartition('/')[2]}"}


def test_a_delete_from_a_file_that_another_commit_removed_conflicts(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    rewrite = OverwriteFiles(
        (data_file(orders.base.metadata, range(10)),),
        deleted_files=orders.files[:1],
        base_snapshot_id=orders.base.metadata.current_snapshot_id,
    )
    orders.second.commit(rewrite, base=orders.base)
    with pytest.raises(ValidationConflict):
        orders.first.commit(orders.delta(orders.base, 1), base=orders.base)
    assert puffins(tmp_path) == set()


@pytest.mark.parametrize("region", [None, "eu"])
def test_position_deletes_of_an_upgraded_table_go_into_the_vector(tmp_path: Path, region: str | None) -> None:
    """A file of one data file's deletes is replaced; one of several stays, for the data files without a vector."""
    orders = Orders(tmp_path, format_version=2, region=region)
    own = position_deletes(orders.base.metadata, orders.files[0], [1])
    shared = _shared_deletes(orders, {0: [2], 1: [3]})
    table = orders.first.commit(RowDelta((), (own, shared)), base=orders.base).table
    table = orders.first.commit(UPGRADE, base=table).table
    assert orders.deleted(table) == {0: [1, 2], 1: [3]}
    table = orders.first.commit(orders.delta(table, 4), base=table).table
    assert orders.deleted(table) == {0: [1, 2, 4], 1: [3]}
    assert {(file.file_format, file.file_path == shared.file_path) for file in orders.deletes(table)} == {
        ("PUFFIN", False),
        ("PARQUET", True),
    }
    assert summary_of(table)["removed-position-delete-files"] == "1"
    table = orders.first.commit(orders.delta(table, 5, file=1), base=table).table
    assert orders.deleted(table) == {0: [1, 2, 4], 1: [3, 5]}


def _shared_deletes(orders: Orders, deletes: dict[int, list[int]]) -> ContentFile:
    """One position-delete file for several data files."""
    parts = [position_deletes(orders.base.metadata, orders.files[number], rows) for number, rows in deletes.items()]
    paths = [to_local_path(part.file_path) for part in parts]
    rows = pa.concat_tables([pq.read_table(path) for path in paths])
    pq.write_table(rows, paths[0])
    bounds = [part.lower_bounds or {} for part in parts]
    return replace(
        parts[0],
        record_count=rows.num_rows,
        file_size_in_bytes=Path(paths[0]).stat().st_size,
        lower_bounds=min(bounds, key=lambda one: one[FILE_PATH_ID]),
        upper_bounds=max(bounds, key=lambda one: one[FILE_PATH_ID]),
    )


def test_an_upgrade_between_two_attempts_turns_position_deletes_into_vectors(tmp_path: Path) -> None:
    orders = Orders(tmp_path, format_version=2)
    orders.second.commit(UPGRADE, base=orders.base)
    deletes = position_deletes(orders.base.metadata, orders.files[0], [1, 6])
    rows = data_file(orders.base.metadata, [100])
    outcome = orders.first.commit(RowDelta((rows,), (deletes,)), base=orders.base)
    assert outcome.attempts == 2
    assert orders.deleted(outcome.table) == {0: [1, 6]}
    assert [file.file_format for file in orders.deletes(outcome.table)] == ["PUFFIN"]
    assert not [name for name in files_below(tmp_path) if name.endswith(deletes.file_path.rpartition("/")[2])]


def test_the_vector_of_a_removed_data_file_goes_too(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    both = {**orders.rows(1, 2), **orders.rows(3, file=1)}
    table = orders.first.commit(RowDelta(deleted_rows=both), base=orders.base).table
    rewrite = OverwriteFiles(deleted_files=orders.files[:1], base_snapshot_id=table.metadata.current_snapshot_id)
    table = orders.first.commit(rewrite, base=table).table
    assert [_of(orders, file) for file in orders.deletes(table)] == [1]
    assert summary_of(table)["removed-dvs"] == "1"
    assert ids_read_by_pyiceberg(table) == [id for id in range(10, 20) if id != 13]


def test_equality_deletes_and_vectors_in_one_commit(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    keys = equality_deletes(orders.base.metadata, [15])
    table = orders.first.commit(RowDelta((), (keys,), deleted_rows=orders.rows(1)), base=orders.base).table
    assert sorted(file.content for file in orders.deletes(table)) == [
        Content.POSITION_DELETES,
        Content.EQUALITY_DELETES,
    ]
    assert summary_of(table)["added-delete-files"] == "2"


def test_vectors_taken_out_by_their_place(tmp_path: Path) -> None:
    """Two vectors lie in one file, and only one of them goes."""
    orders = Orders(tmp_path)
    both = {**orders.rows(1), **orders.rows(3, file=1)}
    table = orders.first.commit(RowDelta(deleted_rows=both), base=orders.base).table
    gone = next(file for file in orders.deletes(table) if _of(orders, file) == 0)
    table = orders.first.commit(RowDelta(removed_delete_files=(gone,)), base=table).table
    assert orders.deleted(table) == {1: [3]}


def test_a_failed_commit_leaves_no_vector(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    orders.first.catalog.drop_table(orders.base.identifier, purge=True)
    with pytest.raises(NotFoundError):
        orders.first.commit(orders.delta(orders.base, 1), base=orders.base)
    assert puffins(tmp_path) == set()
    assert not (tmp_path / "db/orders").exists()


@pytest.mark.parametrize("seed", range(12))
def test_deletes_from_stale_bases_lose_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Three writers, each on the version it saw last, before and after an upgrade; manifests are merged meanwhile, and
    for odd seeds decoded as those of many files are."""
    if seed % 2:
        monkeypatch.setattr(manifest_cache, "_FEWEST_FOR_COLUMNS", 1)
    random = Random(seed)
    orders = Orders(tmp_path, format_version=2, properties={"commit.manifest.min-count-to-merge": "3"})
    writers = [Writer(warehouse_catalog(tmp_path), seed=100 + number) for number in range(3)]
    seen = [orders.base] * 3
    expected: dict[int, set[int]] = {0: set(), 1: set()}
    for step in range(12):
        number = random.randrange(3)
        writer, base = writers[number], seen[number]
        file, positions = random.randrange(2), random.sample(range(9), 2)
        if step == 4:
            seen[number] = writer.commit(UPGRADE, base=base).table
            continue
        if base.metadata.format_version == 2:
            action = RowDelta((), (position_deletes(base.metadata, orders.files[file], positions),))
        else:
            action = orders.delta(base, *positions, file=file)
            action = replace(action, isolation="snapshot", read_filter=None)
            if random.random() < 0.5:
                both = {**action.deleted_rows, **orders.rows(positions[0], file=1 - file)}
                action = replace(action, deleted_rows=both)
                expected[1 - file].add(positions[0])
        seen[number] = writer.commit(action, base=base).table
        expected[file].update(positions)
    table = orders.first.load()
    assert orders.deleted(table) == {file: sorted(rows) for file, rows in expected.items() if rows}
    vectors = [file.referenced_data_file for file in orders.deletes(table) if file.is_deletion_vector]
    assert len(vectors) == len(set(vectors))
    live = {file.file_path for file in orders.deletes(table)}
    assert {to_location(tmp_path / name) for name in puffins(tmp_path)} >= {
        path for path in live if path.endswith(".puffin")
    }
