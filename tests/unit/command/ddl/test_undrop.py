"""UNDROP TABLE."""

from __future__ import annotations

from pathlib import Path

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.ddl.undrop import undrop
from unit.command.lake import NAMESPACE, Lake, read, refused


def test_a_table_comes_back_with_its_history(tmp_path: Path) -> None:
    lake = Lake(tmp_path, undrop_retention_ms=86_400_000)
    lake.create("CREATE TABLE t (id INT)")
    before = lake.append(id=[1]).metadata
    lake.catalog.drop_table(TableIdentifier(NAMESPACE, "t"), purge=False)
    undrop(lake.environment, None, read("UNDROP TABLE t"))
    assert lake.load().metadata.snapshots == before.snapshots
    assert lake.rows() == [(1,)]
    lake.catalog.drop_table(TableIdentifier(NAMESPACE, "t"), purge=True)
    with refused("DROPPED_TABLE_NOT_FOUND"):
        undrop(lake.environment, None, read("UNDROP TABLE t"))
