"""ALTER VIEW and DROP VIEW of views that are named in full, so that no temporary one is meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.view.alter_view import alter_view_properties, drop_view, rename_view
from sqlext.spec.metadata.view_metadata import ViewMetadata
from unit.command.lake import NAMESPACE, Lake, read, refused
from unit.spec.metadata.test_view_metadata import view


def _identifier(name: str = "v") -> TableIdentifier:
    return TableIdentifier(NAMESPACE, name)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    views = made.catalog.views
    location = views.default_view_location(_identifier())
    views.commit_view(_identifier(), None, replace(view(comment="c", team="a"), location=location))
    made.create("CREATE TABLE t (id INT)")
    return made


def _view(lake: Lake, name: str = "v") -> ViewMetadata:
    return lake.catalog.views.load_view(_identifier(name)).metadata


def _alter(lake: Lake, clause: str, view: str = "db.v") -> dict[str, str]:
    alter_view_properties(lake.environment, None, read(f"ALTER VIEW lake.{view} {clause}"))
    return dict(_view(lake).properties)


def test_properties_are_set_and_removed(lake: Lake) -> None:
    before = _view(lake)
    assert _alter(lake, "SET TBLPROPERTIES ('a.b'='1', 'team'='b')") == {"comment": "c", "team": "b", "a.b": "1"}
    assert _alter(lake, "UNSET TBLPROPERTIES ('a.b', 'team')") == {"comment": "c"}
    after = _view(lake)
    assert (after.view_uuid, after.versions) == (before.view_uuid, before.versions)


def test_a_property_that_is_not_there_is_removed_only_if_exists(lake: Lake) -> None:
    with refused("UNSET_NONEXISTENT_PROPERTIES", "none"):
        _alter(lake, "UNSET TBLPROPERTIES ('team', 'none')")
    assert _view(lake).properties["team"] == "a"
    assert _alter(lake, "UNSET TBLPROPERTIES IF EXISTS ('team', 'none')") == {"comment": "c"}


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("SET TBLPROPERTIES ('owner'='me')", "RESERVED_TABLE_PROPERTY"),
        ("UNSET TBLPROPERTIES ('location')", "RESERVED_TABLE_PROPERTY"),
        ("SET TBLPROPERTIES ('s3.secret-access-key'='x')", "SECRET_TABLE_PROPERTY"),
    ],
)
def test_properties_that_the_metadata_tells_or_that_are_secrets(lake: Lake, clause: str, condition: str) -> None:
    before = _view(lake)
    with refused(condition):
        _alter(lake, clause)
    assert _view(lake) == before


def test_a_table_is_no_view(lake: Lake) -> None:
    with refused("EXPECT_VIEW_NOT_TABLE", "lake.db.t"):
        _alter(lake, "SET TBLPROPERTIES ('a'='1')", "db.t")
    with refused("TABLE_OR_VIEW_NOT_FOUND"):
        _alter(lake, "SET TBLPROPERTIES ('a'='1')", "db.none")


def test_a_view_goes_to_another_name_with_all_it_has(lake: Lake) -> None:
    before = _view(lake)
    lake.catalog.create_namespace(("other",), {})
    rename_view(lake.environment, None, read("ALTER VIEW lake.db.v RENAME TO lake.other.`a.b`"))
    assert not lake.catalog.views.view_exists(_identifier())
    moved = lake.catalog.views.load_view(TableIdentifier(("other",), "a.b")).metadata
    assert (moved.view_uuid, moved.versions, moved.properties) == (before.view_uuid, before.versions, before.properties)
    assert moved.location != before.location


def test_a_name_that_is_taken_leaves_the_view_where_it_is(lake: Lake) -> None:
    for name in ("t", "v"):
        with refused("TABLE_OR_VIEW_ALREADY_EXISTS", f"lake.db.{name}"):
            rename_view(lake.environment, None, read(f"ALTER VIEW lake.db.v RENAME TO lake.db.{name}"))
    assert lake.catalog.views.view_exists(_identifier())


def test_a_view_is_dropped(lake: Lake) -> None:
    drop_view(lake.environment, None, read("DROP VIEW lake.db.v"))
    assert not lake.catalog.views.view_exists(_identifier())
    with refused("TABLE_OR_VIEW_NOT_FOUND", "lake.db.v"):
        drop_view(lake.environment, None, read("DROP VIEW lake.db.v"))
    drop_view(lake.environment, None, read("DROP VIEW IF EXISTS lake.db.v"))
    with refused("EXPECT_VIEW_NOT_TABLE"):
        drop_view(lake.environment, None, read("DROP VIEW lake.db.t"))
    assert lake.load().metadata.schema().fields
