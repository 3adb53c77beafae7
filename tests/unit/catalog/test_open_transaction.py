"""A transaction over catalogs: what it sees, what it leaves behind, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import (
    ORDERS,
    SCHEMA,
    UNPARTITIONED,
    Writer,
    files_below,
    ids_read_by_pyiceberg,
    rows_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import AnalysisError, CommitConflict, CommitStateUnknown, UnsupportedError, ValidationConflict
from sqlext.spec.sort_order import UNSORTED
from sqlext.storage.file_io import LocalFileIO


def transaction(name: str = "the-transaction", *, serializable: bool = False) -> OpenTransaction:
    return OpenTransaction(name, lambda location, metadata: None, serializable=serializable)


def within(opened: OpenTransaction, catalog: WarehouseCatalog, seed: int) -> Writer:
    """A writer whose commits are the transaction's."""
    return Writer(opened.catalog(catalog), seed)  # type: ignore[arg-type]  # another catalog than a warehouse


def ids(writer: Writer) -> list[int]:
    return sorted(row["id"] for row in rows_of(writer.load()))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    writer.append(1)
    return writer


def test_appends_of_a_transaction_are_snapshots_of_one_commit(writer: Writer) -> None:
    before = writer.load()
    opened = transaction()
    inside = within(opened, writer.catalog, 2)
    inside.append(2)
    inside.append(3)
    assert len(inside.load().metadata.snapshots) == 3
    assert writer.load() == before
    opened.commit()
    after = writer.load()
    assert ids_read_by_pyiceberg(after) == [1, 2, 3]
    assert after.metadata_location.endswith("v3.metadata.json")
    assert after.metadata.metadata_log[-1].metadata_file == before.metadata_location


def test_a_rollback_leaves_the_files_that_were_there(tmp_path: Path, writer: Writer) -> None:
    before = files_below(tmp_path)
    opened = transaction()
    inside = within(opened, writer.catalog, 2)
    inside.append(2)
    inside.append(3)
    assert files_below(tmp_path) > before
    opened.roll_back()
    assert files_below(tmp_path) == before


def test_a_conflict_leaves_the_other_writers_state(tmp_path: Path, writer: Writer) -> None:
    opened = transaction()
    within(opened, writer.catalog, 2).append(2)
    writer.append(9)
    before = files_below(tmp_path)
    with pytest.raises(ValidationConflict, match="TRANSACTION_CONFLICT"):
        opened.commit()
    assert ids_read_by_pyiceberg(writer.load()) == [1, 9]
    assert files_below(tmp_path) < before


@pytest.mark.parametrize("made", [False, True])
def test_a_commit_without_an_answer_is_looked_for(tmp_path: Path, writer: Writer, made: bool) -> None:
    class Lost(LocalFileIO):
        def create(self, location: str, data: bytes, **given: Any) -> None:
            if "/v" not in location:
                super().create(location, data, **given)
                return
            if made:
                super().create(location, data, **given)
            raise OSError("the answer is lost")

    opened = transaction()
    within(opened, warehouse_catalog(tmp_path, Lost()), 2).append(2)
    if made:
        opened.commit()
    else:
        before = files_below(tmp_path)
        with pytest.raises(CommitStateUnknown):
            opened.commit()
        assert files_below(tmp_path) == before
    assert ids_read_by_pyiceberg(writer.load()) == ([1, 2] if made else [1])


def test_an_interrupt_after_the_commit_has_landed_takes_no_file(tmp_path: Path, writer: Writer) -> None:
    class Interrupted(LocalFileIO):
        def replace(self, location: str, data: bytes, **given: Any) -> None:
            raise KeyboardInterrupt

    opened = transaction()
    within(opened, warehouse_catalog(tmp_path, Interrupted()), 2).append(2)
    with pytest.raises(CommitStateUnknown, match="KeyboardInterrupt"):
        opened.commit()
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2]


def test_what_was_read_stays_as_it_was(writer: Writer) -> None:
    opened = transaction()
    inside = within(opened, writer.catalog, 2)
    first = inside.load()
    writer.append(9)
    assert inside.load() == first
    opened.commit()
    assert ids_read_by_pyiceberg(writer.load()) == [1, 9]


def test_savepoints_nest_and_hide_each_other(writer: Writer) -> None:
    opened = transaction()
    inside = within(opened, writer.catalog, 2)
    opened.set_savepoint("s")
    inside.append(2)
    opened.set_savepoint("S")
    inside.append(3)
    opened.roll_back_to("s")
    assert ids(inside) == [1, 2]
    opened.release("s")
    opened.roll_back_to("s")
    assert ids(inside) == [1]
    with pytest.raises(AnalysisError, match="SAVEPOINT_NOT_FOUND"):
        opened.release("t")
    opened.commit()
    assert ids_read_by_pyiceberg(writer.load()) == [1]


def test_changes_are_of_one_catalog(tmp_path: Path, writer: Writer) -> None:
    other = Writer(WarehouseCatalog("pond", str(tmp_path / "other"), writer.catalog.io), 3)
    other.create()
    opened = transaction()
    within(opened, writer.catalog, 2).append(2)
    inside = within(opened, other.catalog, 4)
    assert inside.load() == other.load()
    with pytest.raises(UnsupportedError, match="TRANSACTION_SPANS_CATALOGS"):
        inside.append(5)


def test_a_statement_on_an_older_state_of_the_transaction_loses(writer: Writer) -> None:
    opened = transaction()
    catalog = opened.catalog(writer.catalog)
    stale: LoadedTable = catalog.load_table(ORDERS)
    within(opened, writer.catalog, 2).append(2)
    with pytest.raises(CommitConflict):
        catalog.commit(ORDERS, stale, replace(stale.metadata, properties={"a": "1"}))


def test_names_and_views_do_not_change(writer: Writer) -> None:
    catalog = transaction().catalog(writer.catalog)
    for change in (
        lambda: catalog.drop_table(ORDERS, purge=False),
        lambda: catalog.rename_table(ORDERS, ORDERS),
        lambda: catalog.create_namespace(("n",), {}),
        lambda: catalog.drop_namespace(("db",), cascade=True),
        lambda: catalog.set_namespace_properties(("db",), {"a": "1"}),
        lambda: catalog.views.drop_view(ORDERS),
    ):
        with pytest.raises(UnsupportedError, match="NOT_IN_TRANSACTION"):
            change()
    assert catalog.list_tables(("db",)) == (ORDERS,)


def _skewed(tmp_path: Path, *, serializable: bool) -> list[str]:
    """Two transactions, each of which reads the table that the other one changes: which of them have landed."""
    catalog = warehouse_catalog(tmp_path)
    writers = [Writer(catalog, 1), Writer(catalog, 2)]
    names = [ORDERS, replace(ORDERS, name="lines")]
    for writer, name in zip(writers, names, strict=True):
        create_at(writer, name)
    opened = [transaction(f"t{number}", serializable=serializable) for number in range(2)]
    for number, one in enumerate(opened):
        inside = one.catalog(catalog)
        inside.load_table(names[1 - number])
        table = inside.load_table(names[number])
        updated = replace(table.metadata, properties={"by": str(number)})
        inside.commit(names[number], table, updated)
    landed = []
    for number, one in enumerate(opened):
        try:
            one.commit()
            landed.append(str(number))
        except ValidationConflict:
            continue
    assert [catalog.load_table(name).metadata.properties.get("by") for name in names] == [
        str(number) if str(number) in landed else None for number in range(2)
    ]
    return landed


def create_at(writer: Writer, identifier: TableIdentifier) -> None:
    if not writer.catalog.namespace_exists(identifier.namespace):
        writer.catalog.create_namespace(identifier.namespace, {})
    location = writer.catalog.default_table_location(identifier)
    action = CreateTable(SCHEMA, UNPARTITIONED, UNSORTED, {}, 2, location)
    commit(writer.catalog, identifier, action, base=None, clock=writer.clock, rng=writer.rng)


def test_write_skew_is_a_conflict_of_serializable_transactions_alone(tmp_path: Path) -> None:
    assert _skewed(tmp_path / "a", serializable=False) == ["0", "1"]
    assert _skewed(tmp_path / "b", serializable=True) == ["0"]


def test_a_serializable_transaction_that_only_reads_needs_one_state_of_all(writer: Writer) -> None:
    opened = transaction(serializable=True)
    inside = within(opened, writer.catalog, 2)
    inside.load()
    opened.commit()
    opened = transaction(serializable=True)
    within(opened, writer.catalog, 2).load()
    writer.append(2)
    with pytest.raises(ValidationConflict):
        opened.commit()


def test_a_serializable_transaction_depends_on_one_catalog(tmp_path: Path) -> None:
    catalogs = [WarehouseCatalog(name, str(tmp_path / name), LocalFileIO()) for name in ("first", "second")]
    for catalog in catalogs:
        Writer(catalog).create()
    opened = transaction(serializable=True)
    for catalog in catalogs:
        within(opened, catalog, 2).load()
    opened.commit()
    opened = transaction(serializable=True)
    within(opened, catalogs[0], 2).load()
    within(opened, catalogs[1], 2).append(1)
    with pytest.raises(UnsupportedError, match="SERIALIZABLE_SPANS_CATALOGS"):
        opened.commit()
    assert not ids(Writer(catalogs[1]))


def test_a_transaction_over_another_sees_its_changes_and_leaves_them(tmp_path: Path, writer: Writer) -> None:
    outer = transaction()
    outside = within(outer, writer.catalog, 2)
    outside.append(2)
    before = files_below(tmp_path)
    inner = OpenTransaction("inner", lambda location, metadata: None, over=outer)
    inside = within(inner, writer.catalog, 3)
    assert ids(inside) == [1, 2]
    inside.append(3)
    assert ids(inside) == [1, 2, 3]
    assert ids(outside) == [1, 2]
    with pytest.raises(UnsupportedError, match="NOT_IN_TRANSACTION"):
        inner.commit()
    assert files_below(tmp_path) == before
    assert ids(outside) == [1, 2]
    outer.commit()
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2]
