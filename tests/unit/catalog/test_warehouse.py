"""The warehouse folder: names and places, and what a drop takes with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import (
    ORDERS,
    Writer,
    data_file,
    files_below,
    ids_read_by_pyiceberg,
    warehouse_catalog,
)
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    NotFoundError,
    UnsupportedError,
)
from sqlext.storage.file_io import LocalFileIO


@pytest.fixture
def catalog(writer: Writer) -> WarehouseCatalog:
    return writer.catalog


def test_a_custom_location_is_refused(writer: Writer, tmp_path: Path) -> None:
    base = writer.create()
    with pytest.raises(UnsupportedError, match="Leave the location out"):
        writer.catalog.commit(ORDERS, base, replace(base.metadata, location=str(tmp_path / "x")))
    with pytest.raises(UnsupportedError, match=r"write\.metadata\.path"):
        writer.catalog.commit(ORDERS, base, replace(base.metadata, properties={"write.metadata.path": "/x"}))


def test_tables_and_namespaces_are_told_apart(writer: Writer, catalog: WarehouseCatalog, tmp_path: Path) -> None:
    catalog.create_namespace(("db",), {})
    catalog.create_namespace(("db", "inner"), {"owner": "me"})
    writer.create()
    (tmp_path / "db/.hidden").mkdir()
    (tmp_path / "db/file.txt").write_text("x")

    assert catalog.list_namespaces() == (("db",),)
    assert catalog.list_namespaces(("db",)) == (("db", "inner"),)
    assert catalog.list_tables(("db",)) == (ORDERS,)
    assert catalog.load_namespace(("db",)) == {"location": f"file://{tmp_path}/db"}
    assert not catalog.namespace_exists(("db", "orders"))
    assert catalog.table_exists(ORDERS)
    assert not catalog.table_exists(TableIdentifier(("db",), "inner"))
    with pytest.raises(AlreadyExistsError):
        catalog.create_namespace(("db", "orders"), {})
    with pytest.raises(AlreadyExistsError):
        catalog.create_namespace(("db",), {})


def test_a_warehouse_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path / "none")
    assert catalog.list_namespaces() == ()
    assert not catalog.namespace_exists(("db",))
    assert not (tmp_path / "none").exists()


def test_a_namespace_keeps_no_properties(catalog: WarehouseCatalog) -> None:
    with pytest.raises(UnsupportedError, match="property colour"):
        catalog.create_namespace(("db",), {"colour": "red"})
    with pytest.raises(UnsupportedError, match="property location"):
        catalog.create_namespace(("db",), {"location": "/elsewhere"})
    assert not catalog.namespace_exists(("db",))


def test_a_namespace_is_dropped_only_when_empty(writer: Writer, catalog: WarehouseCatalog, tmp_path: Path) -> None:
    writer.create()
    with pytest.raises(AnalysisError, match=r"db\.orders") as raised:
        catalog.drop_namespace(("db",), cascade=False)
    assert raised.value.condition == "SCHEMA_NOT_EMPTY"
    assert catalog.drop_namespace(("db",), cascade=True)
    assert not catalog.drop_namespace(("db",), cascade=False)
    assert files_below(tmp_path) == set()


def test_missing_tables_and_namespaces_are_named_in_full(catalog: WarehouseCatalog) -> None:
    with pytest.raises(NotFoundError, match=r"lake\.db\.orders"):
        catalog.load_table(ORDERS)
    with pytest.raises(NotFoundError, match=r"lake\.db\.orders"):
        catalog.current_metadata_location(ORDERS)
    with pytest.raises(NotFoundError, match=r"lake\.db cannot"):
        catalog.list_tables(("db",))
    with pytest.raises(NotFoundError):
        catalog.load_namespace(("db",))
    assert not catalog.drop_table(ORDERS, purge=True)


@pytest.mark.parametrize("purge", [True, False])
def test_a_drop_removes_the_folder(writer: Writer, tmp_path: Path, purge: bool) -> None:
    writer.append(1, base=writer.create())
    assert writer.catalog.drop_table(ORDERS, purge=purge)
    assert not writer.catalog.table_exists(ORDERS)
    assert files_below(tmp_path) == set()


def test_a_purge_removes_data_elsewhere_file_by_file(writer: Writer, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    table = writer.create(properties={"write.data.path": str(shared)})
    writer.append(1, base=table)
    (shared / "of_another_table.parquet").write_text("x")
    writer.catalog.drop_table(ORDERS, purge=True)
    assert files_below(tmp_path) == {"shared/of_another_table.parquet"}


def test_files_that_others_may_use_are_not_purged(writer: Writer, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    writer.append(1, base=writer.create(properties={"write.data.path": str(shared), "gc.enabled": "false"}))
    with pytest.raises(UnsupportedError, match=r"gc\.enabled is false"):
        writer.catalog.drop_table(ORDERS, purge=True)
    assert writer.catalog.drop_namespace(("db",), cascade=True)
    assert [Path(name).suffix for name in files_below(tmp_path)] == [".parquet"]


def test_a_damaged_table_can_be_dropped(writer: Writer, metadata_folder: Path) -> None:
    writer.create()
    (metadata_folder / "v1.metadata.json").write_text("{")
    assert writer.catalog.drop_table(ORDERS, purge=True)


def test_a_link_out_of_the_warehouse_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    (warehouse / "db").symlink_to(outside)
    catalog = warehouse_catalog(warehouse)
    for refused in (lambda: catalog.load_table(ORDERS), lambda: catalog.drop_table(ORDERS, purge=True)):
        with pytest.raises(AnalysisError) as raised:
            refused()
        assert raised.value.condition == "PATH_OUTSIDE_WAREHOUSE"


def test_a_table_cannot_lie_inside_a_table(writer: Writer) -> None:
    writer.create()
    inner = TableIdentifier(("db", "orders"), "inner")
    metadata = replace(writer.load().metadata, location=writer.catalog.default_table_location(inner))
    with pytest.raises(AlreadyExistsError):
        writer.catalog.commit(inner, None, metadata)


def test_a_relative_warehouse_counts_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = Writer(WarehouseCatalog("lake", "./warehouse", LocalFileIO()))
    table = writer.create()
    monkeypatch.chdir("/")
    file = data_file(table.metadata, [1])
    assert ids_read_by_pyiceberg(writer.commit(AppendFiles((file,)), base=table).table) == [1]
    assert table.metadata.location == f"file://{tmp_path}/warehouse/db/orders"
