"""Tables and properties by way of Spark's catalog interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlext.command.ddl.table_changes import TableDefinitions
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StringType
from unit.command.lake import NAMESPACE, Lake, refused

TABLE = ("lake", *NAMESPACE, "t")
SCHEMA = Schema((NestedField(1, "id", LongType(), required=True), NestedField(2, "p", StringType())))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path, options={"table-default.write.merge.mode": "copy-on-write", "table-default.team": "a"})


def _create(lake: Lake, *partitioning: Any, **properties: str) -> None:
    definitions = TableDefinitions(lake.environment)
    definitions.create("s", TABLE, SCHEMA, list(partitioning), properties, case_sensitive=False)


def _alter(lake: Lake, changed: dict[str, str], removed: frozenset[str] = frozenset()) -> dict[str, str]:
    TableDefinitions(lake.environment).alter_properties("s", TABLE, changed, removed)
    return dict(lake.load().metadata.properties)


def test_a_table_has_the_catalogs_properties_where_it_says_nothing_else(lake: Lake) -> None:
    _create(lake, {"name": "identity", "columns": [("p",)], "numbers": []}, team="b", provider="iceberg", owner="me")
    metadata = lake.load().metadata
    assert metadata.properties == {
        "write.parquet.compression-codec": "zstd",
        "write.merge.mode": "copy-on-write",
        "team": "b",
    }
    assert [field.name for field in metadata.spec().fields] == ["p"]
    assert metadata.location == lake.catalog.default_table_location(lake.load().identifier)
    with refused("TABLE_OR_VIEW_ALREADY_EXISTS"):
        _create(lake)


def test_properties_change_in_one_commit(lake: Lake) -> None:
    _create(lake)
    before = len(lake.load().metadata.metadata_log)
    assert _alter(lake, {"write.merge.mode": "auto", "x.y": "1"}, frozenset({"team"})) == {
        "write.parquet.compression-codec": "zstd",
        "write.merge.mode": "copy-on-write",
        "sqlext.write.merge.mode": "auto",
        "x.y": "1",
    }
    assert len(lake.load().metadata.metadata_log) == before + 1
    # Any mode, or none, ends `auto`.
    assert "sqlext.write.merge.mode" not in _alter(lake, {"write.merge.mode": "merge-on-read"})


def test_the_format_version_goes_up_alone(lake: Lake) -> None:
    _create(lake, **{"format-version": "1"})
    _alter(lake, {"format-version": "3"})
    assert lake.load().metadata.format_version == 3
    with refused("FORMAT_VERSION_DOWNGRADE"):
        _alter(lake, {"format-version": "2"})


def test_a_location_may_be_said_again_and_not_changed(lake: Lake, tmp_path: Path) -> None:
    _create(lake)
    location = lake.load().metadata.location
    properties = _alter(lake, {"location": location.removeprefix("file://")})
    assert "location" not in properties
    with refused("TABLE_LOCATION_FIXED", "lake.db.t", location):
        _alter(lake, {"location": f"{location}_2"})


@pytest.mark.parametrize(
    ("changed", "condition"),
    [
        ({"write.mrge.mode": "auto"}, "UNKNOWN_TABLE_PROPERTY"),
        ({"write.merge.mode": "fast"}, "INVALID_TABLE_PROPERTY"),
        ({"write.metadata.metrics.column.q": "full"}, "INVALID_TABLE_PROPERTY"),
        ({"s3.secret-access-key": "x"}, "SECRET_TABLE_PROPERTY"),
        ({"current-schema": "x"}, "RESERVED_TABLE_PROPERTY"),
    ],
)
def test_properties_that_are_refused_change_nothing(lake: Lake, changed: dict[str, str], condition: str) -> None:
    _create(lake)
    before = lake.load().metadata_location
    with refused(condition, *changed):
        _alter(lake, {**changed, "x": "1"})
    assert lake.load().metadata_location == before


def test_within_the_transaction_of_its_session(lake: Lake) -> None:
    _create(lake)
    lake.environment.transactions.begin("s")
    assert _alter(lake, {"x": "1"}).get("x") is None, "others do not see it"
    lake.environment.transactions.commit("s")
    assert lake.load().metadata.properties["x"] == "1"
