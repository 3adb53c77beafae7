"""A staged batch is committed as the batch itself would have been, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.staged_batch import StagedBatch, load_staged, stage_batch, staged_files
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.storage.location import to_local_path


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _staged(writer: Writer, table: LoadedTable, action: Action, **given: Any) -> StagedBatch | None:
    named: dict[str, Any] = {"query_id": "q", "batch_id": 4, "plan": "plan", "how": "append", "token": "t", **given}
    return stage_batch(writer.catalog.io, table.metadata, action, **named)


def _loaded(writer: Writer, table: LoadedTable, staged: StagedBatch | None, how: str = "append") -> StagedBatch | None:
    assert staged is not None
    return load_staged(writer.catalog.io, table.metadata, staged.location, how)


def test_an_append(writer: Writer, tmp_path: Path) -> None:
    table = writer.create(spec=BY_REGION)
    before = files_below(tmp_path)
    files = [data_file(table.metadata, [1, 2]), data_file(table.metadata, [3], "us")]
    staged = _staged(writer, table, AppendFiles(files))
    loaded = _loaded(writer, table, staged)
    assert loaded == staged
    assert loaded is not None
    assert loaded.files == tuple(files)
    landed = writer.commit(loaded.action, base=table).table
    assert ids_read_by_pyiceberg(landed) == [1, 2, 3]
    left = staged_files(writer.catalog.io, landed.metadata, "q")
    assert sorted(left) == sorted((loaded.location, *loaded.manifests))
    assert len([name for name in files_below(tmp_path) - before if "stream-q-4-t" in name]) == 2


def test_rows_and_deletes_by_key(writer: Writer) -> None:
    table = writer.append(1, 2, base=writer.create()).table
    deletes = equality_deletes(table.metadata, [1])
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    new = data_file(table.metadata, [1, 9])
    delta = RowDelta([new], [deletes], base_snapshot_id=snapshot.snapshot_id, isolation="snapshot")
    loaded = _loaded(writer, table, _staged(writer, table, delta))
    assert loaded is not None
    assert loaded.action == delta
    assert len(loaded.manifests) == 2


@pytest.mark.parametrize("format_version", [2, 3])
def test_deletes_by_position(writer: Writer, format_version: int) -> None:
    table = writer.append(1, 2, 3, base=writer.create(format_version=format_version)).table
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    (old,) = (
        task.file
        for task in plan_scan(
            writer.catalog.io, table.metadata, snapshot, AlwaysTrue(), manifests=ManifestCache()
        ).tasks
    )
    path = old.file_path
    rows = {path: DeletedRows(0, (), BitMap64([1]))}
    files = [position_deletes(table.metadata, old, [1])] if format_version == 2 else []
    delta = RowDelta(
        [data_file(table.metadata, [9])],
        files,
        frozenset(rows),
        base_snapshot_id=snapshot.snapshot_id,
        isolation="snapshot",
        deleted_rows=rows,
        unique_key=(1,),
    )
    loaded = _loaded(writer, table, _staged(writer, table, delta))
    assert loaded is not None
    assert loaded.action == delta
    landed = writer.commit(loaded.action, base=table).table
    if format_version == 2:
        assert ids_read_by_pyiceberg(landed) == [1, 3, 9]


def test_overwrites(writer: Writer) -> None:
    table = writer.create(spec=BY_REGION)
    files = [data_file(table.metadata, [1])]
    everything = OverwriteFiles(files, delete_all=True)
    partitions = OverwriteFiles(files, partitions=frozenset({(0, ("eu",))}), base_snapshot_id=None)
    for number, action in enumerate((everything, partitions)):
        loaded = _loaded(writer, table, _staged(writer, table, action, token=str(number)))
        assert loaded is not None
        assert loaded.action == action


def test_an_action_that_depends_on_more_is_not_staged(writer: Writer, tmp_path: Path) -> None:
    table = writer.create()
    before = files_below(tmp_path)
    read = RowDelta([data_file(table.metadata, [1])], read_filter=AlwaysTrue())
    assert _staged(writer, table, read) is None
    assert _staged(writer, table, ChangeProperties({"a": "b"})) is None
    assert not [name for name in files_below(tmp_path) - before if "/metadata/" in name]


def test_what_has_changed_since_makes_it_void(writer: Writer) -> None:
    table = writer.create()
    file = data_file(table.metadata, [1])
    staged = _staged(writer, table, AppendFiles([file]))
    assert _loaded(writer, table, staged, how="update") is None
    constrained = writer.commit(ChangeProperties({"sqlext.check.c": "id > 5"}), base=table).table
    assert _loaded(writer, constrained, staged) is None
    assert _loaded(writer, table, staged) is not None
    Path(to_local_path(file.file_path)).unlink()
    assert _loaded(writer, table, staged) is None


@pytest.mark.parametrize("damage", ["", "[]", "{}", "half"])
def test_a_damaged_file_makes_it_void(writer: Writer, damage: str) -> None:
    table = writer.create()
    staged = _staged(writer, table, AppendFiles([data_file(table.metadata, [1])]))
    assert staged is not None
    path = Path(to_local_path(staged.location))
    text = path.read_text()
    path.write_text(text[: len(text) // 2] if damage == "half" else damage)
    assert _loaded(writer, table, staged) is None
    path.write_text(json.dumps({**json.loads(text), "version": 2}))
    assert _loaded(writer, table, staged) is None
    path.write_text(text)
    Path(to_local_path(staged.manifests[0])).write_bytes(b"Obj\x01")
    assert _loaded(writer, table, staged) is None
