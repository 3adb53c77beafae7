"""Dropped tables are kept for their time, then they are gone, and nothing of a table that is there goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.made_tables import DB, OTHER, create
from small_tables import ORDERS, Clock, files_below
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.sql.database import SqliteDatabase
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.errors import AnalysisError, NotFoundError, UnsupportedError
from sqlext.storage.file_io import LocalFileIO

DAY_MS = 86_400_000


def test_a_folder_keeps_tables_for_their_time(tmp_path: Path) -> None:
    clock = Clock()
    catalog = WarehouseCatalog("lake", str(tmp_path), LocalFileIO(), undrop_retention_ms=DAY_MS, clock=clock)
    catalog.create_namespace(DB, {})
    create(catalog)
    catalog.drop_table(ORDERS, purge=False)
    assert catalog.list_namespaces() == (DB,)
    assert catalog.drop_namespace(DB, cascade=False)
    clock.now_ms += DAY_MS + 1000
    with pytest.raises(NotFoundError):
        catalog.undrop_table(ORDERS)
    catalog.create_namespace(DB, {})
    create(catalog, OTHER)
    catalog.drop_table(OTHER, purge=False)
    kept = {name.split("/")[2] for name in files_below(tmp_path)}
    assert kept == {"other"}
    catalog.undrop_table(OTHER)
    assert catalog.list_tables(DB) == (OTHER,)


def test_a_database_keeps_tables_for_their_time(tmp_path: Path) -> None:
    clock = Clock()
    records = CatalogRecords(SqliteDatabase("lake", f"{tmp_path}/c.db"), "lake", create=True, upgrade=False)
    catalog = SqlCatalog("lake", str(tmp_path / "w"), LocalFileIO(), records, undrop_retention_ms=DAY_MS, clock=clock)
    catalog.create_namespace(DB, {})
    first = create(catalog)
    catalog.drop_table(ORDERS, purge=False)
    second = create(catalog)
    assert second.metadata.location != first.metadata.location
    clock.now_ms += DAY_MS + 1000
    catalog.drop_table(ORDERS, purge=False)
    assert [dropped.identifier for dropped in catalog.dropped_tables(DB)] == [ORDERS]
    catalog.undrop_table(ORDERS)
    assert catalog.load_table(ORDERS).metadata == second.metadata
    with pytest.raises(NotFoundError):
        catalog.undrop_table(OTHER)


@pytest.mark.parametrize("text", ["x", "7w", "-1d", "1.5h"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        open_catalog("lake", {"warehouse": str(tmp_path), "undrop-retention": text})
    assert caught.value.condition == "CATALOG_OPTION_INVALID"


def test_the_way_out_is_one_that_the_store_has(tmp_path: Path) -> None:
    retention = "spark.sql.catalog.lake.undrop-retention"
    for warehouse, is_way_out in ((str(tmp_path), True), ("s3://bucket/w", False)):
        catalog = open_catalog("lake", {"warehouse": warehouse}, writes=False)
        with pytest.raises(UnsupportedError) as refused:
            catalog.undrop_table(TableIdentifier(("db",), "t"))
        assert (retention in str(refused.value)) == is_way_out
