"""Commits of several tables of a warehouse folder that are torn: by a crash, by a store that fails, by others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import ORDERS, Clock, Writer, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import CommitConflict, CorruptionError, NotFoundError, SqlextError, StorageError
from sqlext.storage.file_io import LocalFileIO

LINES = TableIdentifier(("db",), "lines")
TABLES = (ORDERS, LINES)
STEPS = 5


class Crash(BaseException):
    """The process ends here: nothing of it runs any more."""


class TornIO(LocalFileIO):
    """Fails at the `step`th file that is made, before or after it is there; `broken` ones fail ever after."""

    def __init__(self, step: int, failure: Callable[[], BaseException], *, after: bool, broken: bool) -> None:
        self._left = step
        self._failure = failure
        self._after = after
        self._broken = broken

    def create(self, location: str, data: bytes, **given: Any) -> None:
        self._left -= 1
        if (self._left == 0 and not self._after) or (self._left < 0 and self._broken):
            raise self._failure()
        super().create(location, data, **given)
        if self._left == 0:
            raise self._failure()


def changed(base: LoadedTable, **properties: str) -> Any:
    updated_ms = base.metadata.last_updated_ms + 1
    return replace(base.metadata, properties={**base.metadata.properties, **properties}, last_updated_ms=updated_ms)


def both(catalog: WarehouseCatalog, value: str) -> list[TableCommit]:
    bases = [catalog.load_table(identifier) for identifier in TABLES]
    return [TableCommit(base.identifier, base, changed(base, n=value)) for base in bases]


def values(catalog: WarehouseCatalog) -> list[str]:
    return [catalog.load_table(identifier).metadata.properties.get("n", "") for identifier in TABLES]


@pytest.fixture
def catalog(tmp_path: Path) -> WarehouseCatalog:
    catalog = warehouse_catalog(tmp_path)
    writer = Writer(catalog)
    orders = writer.create()
    action = CreateTable(
        schema=orders.metadata.schema(),
        spec=orders.metadata.spec(),
        sort_order=orders.metadata.sort_order(),
        properties={},
        format_version=2,
        location=catalog.default_table_location(LINES),
    )
    commit(catalog, LINES, action, base=None, clock=writer.clock, rng=writer.rng)
    return catalog


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(1, STEPS))
def test_a_crash_leaves_both_tables_old_or_both_new(
    tmp_path: Path, catalog: WarehouseCatalog, step: int, after: bool
) -> None:
    clock = Clock()
    torn = WarehouseCatalog("lake", str(tmp_path), TornIO(step, Crash, after=after, broken=True), clock=clock)
    changes = both(catalog, "1")
    with contextlib.suppress(Crash):
        torn.commit_tables(changes)
    seen = values(catalog)
    assert seen in (["", ""], ["1", "1"])
    assert (seen == ["1", "1"]) == ((step == 3 and after) or step > 3)
    later = WarehouseCatalog("lake", str(tmp_path), LocalFileIO(), clock=clock)
    if seen == ["", ""] and not (step == 1 and not after):
        with pytest.raises(CommitConflict):
            later.commit_tables(both(later, "2"))  # the other may still be at work
        clock.sleep(60)
        with pytest.raises(CommitConflict):
            later.commit_tables(both(later, "2"))  # takes the first table back
    while values(later) != ["2", "2"]:
        try:
            later.commit_tables(both(later, "2"))
        except CommitConflict:
            assert values(catalog) == seen
    assert values(catalog) == ["2", "2"]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(1, STEPS))
def test_a_store_that_fails_once_is_told_of_rightly(
    tmp_path: Path, catalog: WarehouseCatalog, step: int, after: bool
) -> None:
    def refused() -> BaseException:
        # A store that has made the file and then fails is in doubt; one that has not says why.
        return OSError("lost") if after else StorageError("STORAGE_FAILURE", operation="Writing", path="f", reason="r")

    torn = WarehouseCatalog("lake", str(tmp_path), TornIO(step, refused, after=after, broken=False), clock=Clock())
    try:
        torn.commit_tables(both(catalog, "1"))
        expected = ["1", "1"]
    except SqlextError:
        expected = ["", ""]
    assert values(catalog) == expected
    catalog.commit_tables(both(catalog, "2"))
    assert values(catalog) == ["2", "2"]


def test_one_that_was_aborted_by_others_does_not_land(tmp_path: Path, catalog: WarehouseCatalog) -> None:
    clock = Clock()

    class Slow(LocalFileIO):
        made = 0

        def create(self, location: str, data: bytes, **given: Any) -> None:
            super().create(location, data, **given)
            self.made += 1
            if self.made == 2:
                clock.sleep(60)
                other = WarehouseCatalog("lake", str(tmp_path), LocalFileIO(), clock=clock)
                base = other.load_table(LINES)
                with pytest.raises(CommitConflict):
                    other.commit(LINES, base, changed(base, n="other"))
                base = other.load_table(LINES)
                other.commit(LINES, base, changed(base, n="other"))

    slow = WarehouseCatalog("lake", str(tmp_path), Slow(), clock=clock)
    with pytest.raises(CommitConflict, match="aborted"):
        slow.commit_tables(both(catalog, "1"))
    assert values(catalog) == ["", "other"]
    catalog.commit_tables(both(catalog, "2"))
    assert values(catalog) == ["2", "2"]


def test_a_mark_leads_nowhere_else(tmp_path: Path, catalog: WarehouseCatalog) -> None:
    table = catalog.load_table(ORDERS)
    for mark in (
        {"id": "../../x", "base": "v1.metadata.json", "begun-ms": 1},
        {"id": "0" * 32, "base": "../x/v1.metadata.json", "begun-ms": 1},
        {"id": "0" * 32, "base": "v1.metadata.json", "begun-ms": "soon"},
        {"base": "v1.metadata.json"},
        7,
    ):
        other = warehouse_catalog(tmp_path)
        other.commit(ORDERS, table, replace(table.metadata, extra={"sqlext-transaction": mark}))
        with pytest.raises(CorruptionError, match="transaction mark"):
            catalog.load_table(ORDERS)
        newest = sorted((tmp_path / "db/orders/metadata").glob("v*.json"))[-1]
        newest.unlink()
        (tmp_path / "db/orders/metadata/version-hint.text").unlink()
    (tmp_path / "db/orders/metadata/v1.metadata.json").unlink()
    with pytest.raises(NotFoundError):
        catalog.load_table(ORDERS)


def test_a_table_that_a_transaction_is_changing_is_not_unchanged(tmp_path: Path, catalog: WarehouseCatalog) -> None:
    """A transaction that has died before its outcome is in the way for as long as it may still be alive."""
    orders, lines = (catalog.load_table(identifier) for identifier in TABLES)
    torn = warehouse_catalog(tmp_path, TornIO(2, Crash, after=True, broken=True))
    with contextlib.suppress(Crash):
        torn.commit_tables(both(catalog, "1"))
    assert values(catalog) == ["", ""]
    with pytest.raises(CommitConflict, match="another transaction is changing it"):
        catalog.commit_tables([], [orders])
    later = WarehouseCatalog("lake", str(tmp_path), LocalFileIO(), clock=lambda: 1 << 50)
    with pytest.raises(CommitConflict):
        later.commit_tables([], [lines])
    newest = later.load_table(LINES)
    assert newest.metadata_location != lines.metadata_location
    assert values(later) == ["", ""]
    later.commit_tables([], [newest])
