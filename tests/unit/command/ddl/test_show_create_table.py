"""SHOW CREATE TABLE gives a statement that makes the same table, or view, again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.ddl.show_create_table import show_create_table
from sqlext.spec.metadata.table_metadata import TableMetadata
from unit.command.lake import NAMESPACE, Lake, read, refused
from unit.spec.metadata.test_view_metadata import view


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _shown(lake: Lake, name: str = "t") -> str:
    ((text,),) = show_create_table(lake.environment, None, read(f"SHOW CREATE TABLE {name}")).rows
    return str(text)


def _defined(metadata: TableMetadata) -> tuple[object, ...]:
    return (
        metadata.schema(),
        metadata.spec(),
        metadata.sort_order(),
        dict(metadata.properties),
        metadata.format_version,
    )


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t (`a.b` STRING COMMENT 'it''s', s STRUCT<x: INT NOT NULL, `y z`: ARRAY<DECIMAL(9,2)>>)"
        " COMMENT 'c'",
        "CREATE TABLE t (id BIGINT, p DATE, ts TIMESTAMP, PRIMARY KEY (p, id) ENFORCED RELY)"
        " PARTITIONED BY (p, hours(ts), bucket(4, id) AS b) ORDERED BY (ts DESC, truncate(2, id) NULLS LAST)",
        "CREATE TABLE t (v VARCHAR(5), n TIMESTAMP_NTZ, x VARIANT) TBLPROPERTIES ('format-version'='3', 'x.y'='it''s')",
        "CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='-1', 'write.merge.mode'='auto')",
        "CREATE TABLE t (id INT) TBLPROPERTIES ('format-version'='1')",
    ],
)
def test_the_same_table_again(lake: Lake, text: str) -> None:
    first = _defined(lake.create(text).metadata)
    shown = _shown(lake)
    lake.catalog.drop_table(TableIdentifier(NAMESPACE, "t"), purge=True)
    assert _defined(lake.create(shown).metadata) == first


def test_a_view_is_shown_as_one(lake: Lake) -> None:
    identifier = TableIdentifier(NAMESPACE, "big")
    made = view(comment="of orders")
    lake.catalog.views.commit_view(
        identifier, None, replace(made, location=lake.catalog.views.default_view_location(identifier))
    )
    shown = _shown(lake, "big")
    assert shown.startswith("CREATE VIEW `lake`.`db`.`big`")
    assert "of orders" in shown
    assert read(shown).name.parts == ("lake", "db", "big")


def test_a_name_of_nothing(lake: Lake) -> None:
    with refused("TABLE_OR_VIEW_NOT_FOUND", "lake.db.t"):
        _shown(lake)
