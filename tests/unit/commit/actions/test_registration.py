from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, files_below, ids_read_by_pyiceberg, warehouse_catalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.registration import RegisterTable, shared_copy
from sqlext.errors import AlreadyExistsError


def test_a_shared_copy_goes_its_own_way(tmp_path: Path) -> None:
    """What the copy trims and writes is its own; the other table's metadata files are not in its log."""
    other, writer = Writer(warehouse_catalog(tmp_path / "other")), Writer(warehouse_catalog(tmp_path / "lake"), seed=2)
    trims = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    other.create(properties={**trims, "write.data.path": f"{tmp_path}/other/data"})
    for id in (1, 2):
        other.append(id)
    before = files_below(tmp_path / "other")
    location = str(tmp_path / "lake" / "db" / "orders")
    metadata = shared_copy(other.load().metadata, location, "a8a1b1f0-0000-4000-8000-000000000000")
    table = writer.commit(RegisterTable(metadata), base=None).table
    assert ids_read_by_pyiceberg(table) == [1, 2]
    assert table.metadata.properties == {**trims, "gc.enabled": "false"}
    for id in (3, 4):
        table = writer.append(id).table
    assert ids_read_by_pyiceberg(table) == [1, 2, 3, 4]
    assert files_below(tmp_path / "other") == before
    assert ids_read_by_pyiceberg(other.load()) == [1, 2]


def test_of_two_that_register_one_name_one_wins(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    metadata = writer.create().metadata
    with pytest.raises(AlreadyExistsError):
        writer.commit(RegisterTable(metadata), base=None)
    writer.commit(ChangeProperties({"comment": "still there"}), base=writer.load())
