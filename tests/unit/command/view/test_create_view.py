"""CREATE VIEW, as far as its query is not looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.view.create_view import create_view, require_view_properties
from unit.command.lake import NAMESPACE, Lake, read, refused
from unit.spec.metadata.test_view_metadata import view


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    identifier = TableIdentifier(NAMESPACE, "v")
    location = made.catalog.views.default_view_location(identifier)
    made.catalog.views.commit_view(identifier, None, replace(view(), location=location))
    made.create("CREATE TABLE t (id INT)")
    return made


def _create(lake: Lake, text: str) -> None:
    create_view(lake.environment, None, read(text))


@pytest.mark.parametrize("name", ["v", "t"])
def test_a_name_that_is_taken(lake: Lake, name: str) -> None:
    with refused("TABLE_OR_VIEW_ALREADY_EXISTS", f"lake.db.{name}"):
        _create(lake, f"CREATE VIEW {name} AS SELECT 1 AS a")
    _create(lake, f"CREATE VIEW IF NOT EXISTS {name} AS SELECT 1 AS a")
    loaded = lake.catalog.views.load_view(TableIdentifier(NAMESPACE, "v"))
    assert [one.representations[0]["sql"] for one in loaded.metadata.versions] == ["q1"]


def test_a_table_is_not_replaced_by_a_view(lake: Lake) -> None:
    with refused("EXPECT_VIEW_NOT_TABLE", "lake.db.t"):
        _create(lake, "CREATE OR REPLACE VIEW t AS SELECT 1 AS a")


def test_properties_that_are_refused() -> None:
    require_view_properties({"team": "a", "a.b": "1"})
    for name in ("location", "owner", "provider", "spark.query-column-names"):
        with refused("RESERVED_TABLE_PROPERTY", name):
            require_view_properties({"team": "a", name: "x"})
    with refused("SECRET_TABLE_PROPERTY", "client.password"):
        require_view_properties({"client.password": "x"})
