"""Views of a warehouse folder: names shared with the tables, and the compare-and-swap."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import ORDERS, Writer, warehouse_catalog, with_namespace
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.view_catalog import LoadedView
from sqlext.errors import AlreadyExistsError, AnalysisError, CommitConflict, CorruptionError, NotFoundError
from sqlext.spec.metadata.view_metadata import new_view_metadata
from unit.spec.metadata.test_view_metadata import INTS, version, view

VIEW = TableIdentifier(("db",), "big_orders")


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


@pytest.fixture
def catalog(writer: Writer) -> Catalog:
    return writer.catalog


def made(catalog: Catalog, identifier: TableIdentifier = VIEW) -> LoadedView:
    return with_namespace(catalog).views.commit_view(identifier, None, view())


def test_tables_and_views_are_listed_apart(writer: Writer, catalog: Catalog) -> None:
    writer.create()
    made(catalog)
    assert catalog.list_tables(("db",)) == (ORDERS,)
    assert catalog.views.list_views(("db",)) == (VIEW,)
    assert catalog.list_namespaces(("db",)) == ()
    assert not catalog.namespace_exists(("db", "big_orders"))


def test_a_name_is_taken_by_one_of_them(writer: Writer, catalog: Catalog) -> None:
    writer.create()
    made(catalog, VIEW)
    with pytest.raises(AlreadyExistsError):
        made(catalog, ORDERS)
    with pytest.raises(AlreadyExistsError):
        made(catalog, VIEW)
    with pytest.raises(AlreadyExistsError):
        catalog.commit(VIEW, None, replace(writer.load().metadata, location=catalog.default_table_location(VIEW)))


def test_each_is_refused_under_the_other_ones_verbs(writer: Writer, catalog: Catalog) -> None:
    writer.create()
    made(catalog)
    for load in (catalog.load_table, lambda name: catalog.drop_table(name, purge=True)):
        with pytest.raises(AnalysisError) as caught:
            load(VIEW)
        assert caught.value.condition == "EXPECT_TABLE_NOT_VIEW"
    for load in (catalog.views.load_view, catalog.views.drop_view):
        with pytest.raises(AnalysisError) as caught:
            load(ORDERS)
        assert caught.value.condition == "EXPECT_VIEW_NOT_TABLE"
    assert catalog.views.view_exists(VIEW)
    assert catalog.table_exists(ORDERS)


def test_a_commit_on_an_old_base_loses(catalog: Catalog) -> None:
    base = made(catalog)
    newer = catalog.views.commit_view(VIEW, base, base.metadata.with_version(version("q2"), INTS))
    with pytest.raises(CommitConflict):
        catalog.views.commit_view(VIEW, base, base.metadata.with_version(version("q3"), INTS))
    assert catalog.views.load_view(VIEW) == newer
    assert newer.metadata_location.endswith("v2.metadata.json")


def test_a_view_that_was_made_anew_is_another_one(catalog: Catalog) -> None:
    base = made(catalog)
    catalog.views.drop_view(VIEW)
    other = new_view_metadata("6a9d3f5e-0000-4000-8000-000000000001", "file:///w/db/v", {}, version("q"), INTS)
    catalog.views.commit_view(VIEW, None, other)
    with pytest.raises(CommitConflict, match="made anew"):
        catalog.views.commit_view(VIEW, base, base.metadata)


def test_a_dropped_view_is_gone_with_its_folder(catalog: Catalog, tmp_path: Path) -> None:
    base = made(catalog)
    assert catalog.views.drop_view(VIEW)
    assert not catalog.views.drop_view(VIEW)
    assert list((tmp_path / "db").iterdir()) == []
    with pytest.raises(NotFoundError):
        catalog.views.load_view(VIEW)
    with pytest.raises(NotFoundError):
        catalog.views.commit_view(VIEW, base, base.metadata)


def test_a_namespace_goes_with_its_views_only_when_told(catalog: Catalog) -> None:
    made(catalog)
    with pytest.raises(AnalysisError, match="big_orders"):
        catalog.drop_namespace(("db",), cascade=False)
    assert catalog.drop_namespace(("db",), cascade=True)


def test_a_damaged_view_is_told_with_its_file(catalog: Catalog, tmp_path: Path) -> None:
    made(catalog)
    file = tmp_path / "db/big_orders/metadata/v1.metadata.json"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CorruptionError, match=r"v1\.metadata\.json"):
        catalog.views.load_view(VIEW)
