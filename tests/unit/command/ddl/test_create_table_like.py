"""CREATE TABLE … LIKE."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.ddl.create_table_like import create_table_like
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema_change import AddColumn
from sqlext.spec.types import StringType
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _like(lake: Lake, clause: str = "", source: str = "t") -> TableMetadata:
    create_table_like(lake.environment, None, read(f"CREATE TABLE u LIKE {source} {clause}"))
    return lake.load("u").metadata


@pytest.mark.parametrize("version", [1, 2, 3])
def test_all_but_rows_and_place_is_taken_over(lake: Lake, version: int) -> None:
    lake.create(
        "CREATE TABLE t (id INT, `a.b` STRING, PRIMARY KEY (id) ENFORCED) PARTITIONED BY (bucket(4, id))"
        f" ORDERED BY (`a.b`) TBLPROPERTIES ('format-version'='{version}', 'write.merge.mode'='auto', 'team'='x')"
    )
    lake.append(id=[1], **{"a.b": ["x"]})
    lake.commit(ChangeSchema((AddColumn(("c",), StringType()),), False))
    source, made = lake.load().metadata, _like(lake)
    assert made.schema().fields == source.schema().fields
    assert made.schema().identifier_field_ids == (1,)
    assert made.spec().fields == source.spec().fields
    assert made.sort_order().fields == source.sort_order().fields
    assert made.properties == source.properties
    assert made.format_version == version
    assert not made.snapshots
    assert made.location != source.location
    assert made.table_uuid != source.table_uuid


def test_what_is_of_the_source_alone_is_left_behind(lake: Lake, tmp_path: Path) -> None:
    lake.create("CREATE TABLE t (id INT)")
    lake.commit(ChangeProperties({"write.data.path": str(tmp_path / "files"), "sqlext.stream.q": "5"}))
    assert _like(lake).properties.keys() == {"write.parquet.compression-codec"}


def test_properties_of_the_statement_go_before(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.merge.mode'='auto', 'a.b'='1')")
    properties = "'write.merge.mode'='copy-on-write', 'format-version'='3', 'bucket'='4', 'c.d'='2'"
    made = _like(lake, f"TBLPROPERTIES ({properties})")
    assert made.format_version == 3
    assert made.properties["write.merge.mode"] == "copy-on-write"
    assert "sqlext.write.merge.mode" not in made.properties
    assert (made.properties["a.b"], made.properties["c.d"]) == ("1", "2")
    assert bucket_count(made) == 4


def test_names_that_are_taken_or_none(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT)")
    with refused("TABLE_OR_VIEW_NOT_FOUND", "lake.db.none"):
        _like(lake, source="none")
    first = _like(lake).table_uuid
    with refused("TABLE_OR_VIEW_ALREADY_EXISTS", "lake.db.u"):
        _like(lake)
    create_table_like(lake.environment, None, read("CREATE TABLE IF NOT EXISTS u LIKE t"))
    assert lake.load("u").metadata.table_uuid == first
    with refused("UNKNOWN_TABLE_PROPERTY", "write.mrge.mode"):
        create_table_like(
            lake.environment, None, read("CREATE TABLE v LIKE t TBLPROPERTIES ('write.mrge.mode'='auto')")
        )
    with refused("INVALID_BUCKETS", "primary key"):
        create_table_like(lake.environment, None, read("CREATE TABLE v LIKE t TBLPROPERTIES ('bucket'='2')"))
