"""Tables as they were loaded, by name and metadata file."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.catalog.catalog import Catalog, TableCommit
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.errors import AlreadyExistsError, AnalysisError, NotFoundError
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs, handle_of
from sqlext.storage.file_io import LocalFileIO


@dataclass(frozen=True, slots=True)
class NamesOfSpark:
    """Tables and databases in Spark's own session catalog."""

    tables: frozenset[str] = frozenset()

    def table_exists(self, identifier: TableIdentifier) -> bool:
        return identifier.name in self.tables

    def namespace_exists(self, namespace: Namespace) -> bool:
        return namespace == ("db",)


def test_in_sparks_session_catalog_no_table_gets_a_name_of_sparks(tmp_path: Path) -> None:
    own = WarehouseCatalog("spark_catalog", str(tmp_path), LocalFileIO())
    opened = OpenCatalogs(lambda name, options: own, NamesOfSpark(frozenset({"plain"})))
    opened.initialize("spark_catalog", {})
    catalogs = Catalogs(opened, RememberedMetadata(), LocalFileIO())
    catalog, metadata = (
        catalogs.catalog("spark_catalog"),
        Writer(warehouse_catalog(tmp_path / "other")).create().metadata,
    )
    assert not own.namespace_exists(("db",))
    for name in ("plain", "mine"):
        identifier = TableIdentifier(("db",), name)
        assert catalog.table_exists(identifier) is (name == "plain")
        created = replace(metadata, location=own.default_table_location(identifier))
        if name == "plain":
            with pytest.raises(AlreadyExistsError):
                catalog.commit(identifier, None, created)
            with pytest.raises(AlreadyExistsError):
                catalog.register_table(identifier, "x/metadata.json")
            with pytest.raises(AlreadyExistsError):
                catalog.commit_tables([TableCommit(identifier, None, created)])
        else:
            catalog.commit(identifier, None, created)
    assert own.namespace_exists(("db",))
    assert not catalog.namespace_exists(("other",))
    assert [table.name for table in catalog.list_tables(("db",))] == ["mine"]
    names = ("mine",), ("mine", "files"), ("plain",)
    assert [catalogs.holds(("spark_catalog", "db", *name)) for name in names] == [True, True, False]
    with pytest.raises(AlreadyExistsError):
        catalog.rename_table(TableIdentifier(("db",), "mine"), TableIdentifier(("db",), "plain"))


def test_a_version_that_was_loaded_is_found_after_newer_ones(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path)
    catalogs = Catalogs(OpenCatalogs(lambda name, options: catalog), RememberedMetadata(), LocalFileIO())
    catalogs.opened.initialize("lake", {})
    writer = Writer(catalog)
    first = writer.create()
    parts = ("lake", *first.identifier.namespace, first.identifier.name)
    file = catalogs.load(parts).metadata_location.rpartition("/")[2]
    writer.append(1)
    newest = catalogs.load(parts)
    assert newest.metadata_location != first.metadata_location
    found = catalogs.remembered.table(parts, file)
    assert found is not None
    assert found.metadata == first.metadata
    assert handle_of("lake", found) == handle_of("lake", first)
    assert handle_of("lake", found).contents != handle_of("lake", newest).contents
    assert catalogs.remembered.table(parts, "v9.metadata.json") is None
    assert catalogs.remembered.table((*parts[:-1], "another"), file) is None


def test_catalogs_in_a_transaction_share_what_is_open_and_remembered(tmp_path: Path) -> None:
    """Neither sees what the other one has been told of the transaction, and both find what either has loaded."""
    catalog = warehouse_catalog(tmp_path)
    catalogs = Catalogs(OpenCatalogs(lambda name, options: catalog), RememberedMetadata(), LocalFileIO())
    writer = Writer(catalog)
    table = writer.create()
    parts = ("lake", *table.identifier.namespace, table.identifier.name)
    transaction = OpenTransaction("one", catalogs.remembered.keep_pending)
    within = catalogs.within(transaction)
    within.opened.initialize("lake", {})
    assert catalogs.catalog("lake") is catalog
    assert within.catalog("lake") is not catalog
    assert within.load(parts).metadata == table.metadata
    file = table.metadata_location.rpartition("/")[2]
    assert catalogs.remembered.table(parts, file) is within.remembered.table(parts, file) is not None


def test_a_catalog_is_open_whole_or_not_at_all(tmp_path: Path) -> None:
    """While one thread opens it, another one finds none, and never one without its options."""
    catalog, opening, found = warehouse_catalog(tmp_path), threading.Event(), threading.Event()

    def open_catalog(name: str, options: Mapping[str, str]) -> Catalog:
        opening.set()
        assert found.wait(10)
        return catalog

    opened = OpenCatalogs(open_catalog)
    thread = threading.Thread(target=opened.initialize, args=("lake", {"table-default.a": "1", "warehouse": "w"}))
    thread.start()
    assert opening.wait(10)
    with pytest.raises(NotFoundError):
        opened.of("lake")
    found.set()
    thread.join()
    assert opened.of("lake").table_defaults == {"a": "1"}
    with pytest.raises(AnalysisError, match="CATALOG_IS_OPEN"):
        opened.initialize("lake", {"warehouse": "w"})
    with pytest.raises(AnalysisError, match="CATALOG_IS_OPEN"):
        opened.require_settings({"lake": {"warehouse": "another"}})
    opened.require_settings({"lake": {"warehouse": "w"}, "pond": {}})
