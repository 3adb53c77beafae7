"""500 hostile names, as tables, namespaces, views and the new names of tables: each is refused, or is only a name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from catalog.made_tables import create
from catalog.s3_server import S3Server
from security.conftest import Place
from security.hostile_names import hostile_names
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.errors import AnalysisError
from sqlext.storage.location import to_local_path
from unit.spec.metadata.test_view_metadata import view

DB = ("db",)
NAMES = hostile_names()
SAFE_NAMES = [name for name in NAMES if name in ("metadata", "a b", "%s", "?", "a#b", "'", "lake.db.t", "*", "select")]


def identifiers() -> list[TableIdentifier]:
    """Those that are taken; every other is an INVALID_NAME."""
    taken = []
    for name in NAMES:
        with suppress(AnalysisError):
            taken.append(TableIdentifier(DB, name))
    return taken


def test_there_are_500_of_which_both_kinds_are_many() -> None:
    assert len(set(NAMES)) == 500
    assert 100 < len(identifiers()) < 400


@pytest.mark.parametrize("name", [name for name in NAMES if ".." in name and "/" in name])
def test_a_step_out_of_a_folder_is_no_name(name: str) -> None:
    with pytest.raises(AnalysisError) as raised:
        TableIdentifier(DB, name)
    assert raised.value.condition == "INVALID_NAME"


def test_a_table_of_any_name_is_one_folder_of_its_namespace(place: Place) -> None:
    catalog, others = place.open(), place.others()
    catalog.create_namespace(DB, {})
    for identifier in identifiers():
        location = to_local_path(create(catalog, identifier).metadata.location)
        assert location == str(place.warehouse / "db" / identifier.name)
        assert catalog.load_table(identifier).identifier == identifier
    assert set(catalog.list_tables(DB)) == set(identifiers())
    assert sorted(path.name for path in place.warehouse.iterdir()) == ["db"]
    assert {path.name for path in (place.warehouse / "db").iterdir()} == {one.name for one in identifiers()}
    for identifier in identifiers():
        assert catalog.drop_table(identifier, purge=True)
    assert catalog.list_tables(DB) == ()
    assert [path for path in place.warehouse.rglob("*") if path.is_file()] == []
    assert place.others() == others


def test_a_namespace_of_any_name_is_one_folder(place: Place) -> None:
    catalog, others, made = place.open(), place.others(), 0
    refused = set()
    for name in NAMES:
        try:
            catalog.create_namespace((name,), {})
        except AnalysisError as error:
            refused.add(error.condition)
            continue
        made += 1
        create(catalog, TableIdentifier((name,), "t"))
        assert (place.warehouse / name / "t" / "metadata").is_dir()
        assert catalog.drop_namespace((name,), cascade=True)
    assert made > 100
    assert refused == {"INVALID_NAME"}
    assert catalog.list_namespaces() == ()
    assert place.others() == others


def test_a_view_of_any_name_is_one_folder(place: Place) -> None:
    catalog, others = place.open(), place.others()
    catalog.create_namespace(DB, {})
    for identifier in identifiers():
        location = catalog.views.default_view_location(identifier)
        catalog.views.commit_view(identifier, None, replace(view(), location=location))
        assert catalog.views.load_view(identifier).metadata.location == location
        assert catalog.views.drop_view(identifier)
    assert {path.name for path in place.warehouse.iterdir()} == {"db"}
    assert place.others() == others


@pytest.mark.parametrize("place", ["database"], indirect=True)
def test_a_rename_to_any_name_moves_no_file(place: Place) -> None:
    catalog, others = place.open(), place.others()
    catalog.create_namespace(DB, {})
    now = TableIdentifier(DB, "t")
    made = create(catalog, now)
    for identifier in identifiers():
        catalog.rename_table(now, identifier)
        now = identifier
    assert catalog.list_tables(DB) == (now,)
    assert catalog.load_table(now).metadata == made.metadata
    assert place.others() == others


def test_an_object_of_a_hostile_name_is_below_the_warehouse(s3: S3Server) -> None:
    bucket = s3.new_bucket()
    s3.client.put_object(Bucket=bucket, Key="other/x", Body=b"")
    catalog: Catalog = open_catalog("lake", {"warehouse": f"s3://{bucket}/w", **s3.settings()})
    catalog.create_namespace(DB, {})
    for name in SAFE_NAMES:
        create(catalog, TableIdentifier(DB, name))
    assert {key.rsplit("/", 2)[0] for key in s3.keys(bucket) if "/db/" in key} >= {
        f"w/db/{name}" for name in SAFE_NAMES
    }
    for name in SAFE_NAMES:
        assert catalog.drop_table(TableIdentifier(DB, name), purge=True)
    assert [key for key in s3.keys(bucket) if not key.endswith(".sqlext-folder")] == ["other/x"]
