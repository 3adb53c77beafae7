"""What a transaction reads is of one point in time; where that is no longer there, the read is refused."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.made_tables import changed, create, said_last
from catalog.rest_model_server import RestModelServer
from small_tables import Clock, warehouse_catalog
from sqlext.catalog.catalog import Catalog, LoadedTable, TableCommit
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.loop.transaction import commit
from sqlext.errors import CommitConflict, ValidationConflict
from sqlext.storage.file_io import LocalFileIO

A, B, C = (TableIdentifier(("db",), name) for name in "abc")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["folder", "sqlite"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    if request.param == "folder":
        return _made(warehouse_catalog(tmp_path))
    options = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    return _made(open_catalog("lake", options))


@pytest.fixture
def folder(tmp_path: Path) -> WarehouseCatalog:
    catalog = warehouse_catalog(tmp_path)
    _made(catalog)
    return catalog


def _made(catalog: Catalog) -> Catalog:
    catalog.create_namespace(("db",), {})
    for identifier in (A, B, C):
        create(catalog, identifier)
    return catalog


def put(catalog: Any, clock: Callable[[], int], identifier: TableIdentifier, value: str, **given: Any) -> None:
    """Lets the table say this in its newest snapshot."""
    base = catalog.load_table(identifier)
    updated = changed(base, at_ms=max(clock(), base.metadata.last_updated_ms), n=value)
    catalog.commit(identifier, base, replace(updated, **given))


def put_all(catalog: Catalog, clock: Callable[[], int], value: str, *identifiers: TableIdentifier) -> None:
    """In one transaction."""
    opened = transaction(clock)
    inside = opened.catalog(catalog)
    for identifier in identifiers:
        put(inside, clock, identifier, value)
    opened.commit()


def transaction(clock: Callable[[], int], *, serializable: bool = False) -> OpenTransaction:
    return OpenTransaction(f"t{clock()}", lambda *_: None, clock=clock, serializable=serializable)


def said(catalog: Any, *identifiers: TableIdentifier) -> list[str]:
    return [said_last(catalog.load_table(identifier)).get("n", "") for identifier in identifiers]


@pytest.mark.parametrize("serializable", [False, True])
def test_a_further_table_is_read_as_it_was_when_those_before_it_were_current(
    catalog: Catalog, clock: Clock, serializable: bool
) -> None:
    put_all(catalog, clock, "0", A, B, C)
    opened = transaction(clock, serializable=serializable)
    inside = opened.catalog(catalog)
    assert said(inside, A) == ["0"]
    put_all(catalog, clock, "1", A, B)
    put_all(catalog, clock, "2", B, C)
    assert said(inside, B, C, A) == ["0", "0", "0"]
    if serializable:
        with pytest.raises(ValidationConflict, match="TRANSACTION_CONFLICT"):
            opened.commit()
    else:
        opened.commit()


def test_what_changed_before_the_first_read_is_seen(catalog: Catalog, clock: Clock) -> None:
    opened = transaction(clock)
    put_all(catalog, clock, "1", A, B)
    inside = opened.catalog(catalog)
    assert said(inside, A) == ["1"]
    put(catalog, clock, A, "2")
    assert said(inside, B) == ["1"]


def test_a_table_that_changed_before_those_that_were_read_is_taken_as_it_is(catalog: Catalog, clock: Clock) -> None:
    opened = transaction(clock)
    inside = opened.catalog(catalog)
    assert said(inside, A) == [""]
    put(catalog, clock, B, "1")
    put(catalog, clock, A, "2")
    put(catalog, clock, B, "3")
    assert said(inside, B) == ["1"]


@pytest.mark.parametrize("moment", range(5))
def test_many_tables_are_read_with_one_look_at_each(folder: WarehouseCatalog, tmp_path: Path, moment: int) -> None:
    """And are of one point in time, whenever others change them meanwhile."""
    clock = Clock()
    put_all(folder, clock, "0", A, B, C)

    class Looks(WarehouseCatalog):
        loads = 0

        def load_table(self, identifier: TableIdentifier) -> LoadedTable:
            if self.loads == moment:
                put_all(folder, clock, "1", C, A)
                put_all(folder, clock, "2", B, C)
            self.loads += 1
            return super().load_table(identifier)

    looks = Looks("lake", str(tmp_path), LocalFileIO())
    inside = transaction(clock).catalog(looks)
    found = inside.load_tables([A, B, C])
    assert [said_last(table)["n"] for table in found] == (["0", "0", "0"] if moment else ["1", "2", "2"])
    assert [inside.load_table(identifier) for identifier in (A, B, C)] == found
    assert looks.loads <= 7


def test_the_point_in_time_is_one_of_all_catalogs(tmp_path: Path, clock: Clock) -> None:
    catalogs = [_made(WarehouseCatalog(name, str(tmp_path / name), LocalFileIO())) for name in ("lake", "pond")]
    opened = transaction(clock)
    inside = [opened.catalog(catalog) for catalog in catalogs]
    assert said(inside[0], A) == [""]
    put(catalogs[0], clock, A, "1")
    put(catalogs[1], clock, A, "1")
    assert said(inside[1], A) == [""]


def test_a_change_of_a_version_that_is_no_longer_current_loses(catalog: Catalog, clock: Clock) -> None:
    opened = transaction(clock)
    inside = opened.catalog(catalog)
    said(inside, A)
    put_all(catalog, clock, "1", A, B)
    put(inside, clock, B, "mine")
    assert said(inside, A, B) == ["", "mine"]
    with pytest.raises(ValidationConflict, match="TRANSACTION_CONFLICT"):
        opened.commit()
    assert said(catalog, A, B) == ["1", "1"]


def test_rolling_back_to_a_savepoint_keeps_the_point_in_time(catalog: Catalog, clock: Clock) -> None:
    opened = transaction(clock)
    inside = opened.catalog(catalog)
    opened.set_savepoint("s")
    said(inside, A)
    put(inside, clock, A, "mine")
    opened.roll_back_to("s")
    put_all(catalog, clock, "1", A, B)
    assert said(inside, A, B) == ["", ""]


# the time stamps


def test_all_that_a_transaction_makes_has_the_time_of_its_commit(catalog: Catalog, clock: Clock) -> None:
    opened = transaction(clock)
    inside = opened.catalog(catalog)
    put(inside, clock, A, "1")
    put(inside, clock, A, "2")
    put(inside, clock, B, "1")
    commit(inside, C, ChangeProperties({"x": "1"}, frozenset()), base=inside.load_table(C), clock=clock, rng=_rng())
    staged_ms = clock()
    opened.commit()
    stamps = set()
    for identifier in (A, B, C):
        metadata = catalog.load_table(identifier).metadata
        stamps |= {metadata.last_updated_ms, *(one.timestamp_ms for one in metadata.snapshots)}
        stamps |= {entry.timestamp_ms for entry in metadata.snapshot_log}
    assert len(stamps) == 1
    assert stamps > {staged_ms} or min(stamps) > staged_ms
    metadata = catalog.load_table(A).metadata
    assert metadata.snapshot_as_of(min(stamps)).summary["n"] == "2"


def _rng() -> random.Random:
    return random.Random(1)


@pytest.mark.parametrize(("ahead_ms", "follows"), [(50_000, True), (3_600_000, False)])
def test_a_commit_is_stamped_no_earlier_than_what_it_depends_on(
    catalog: Catalog, clock: Clock, ahead_ms: int, follows: bool
) -> None:
    """The clock of another host may be fast; one that is fast by far is not followed."""
    put(catalog, lambda: clock() + ahead_ms, A, "1")
    stamped_ms = catalog.load_table(A).metadata.last_updated_ms
    opened = transaction(clock)
    inside = opened.catalog(catalog)
    assert said(inside, A) == ["1"]
    put(inside, clock, B, "2")
    opened.commit()
    assert (catalog.load_table(B).metadata.last_updated_ms >= stamped_ms) == follows


# what is refused


def _refused(inside: Any, identifier: TableIdentifier, reason: str) -> None:
    for _ in range(2):
        with pytest.raises(ValidationConflict, match=reason) as caught:
            inside.load_table(identifier)
        assert caught.value.condition == "TRANSACTION_READ_CONFLICT"


def test_a_change_stamped_with_a_time_before_the_transaction(catalog: Catalog, clock: Clock) -> None:
    """Which of two tables was changed first is not known then."""
    staged_ms = clock()
    inside = transaction(clock).catalog(catalog)
    said(inside, A)
    put(catalog, lambda: staged_ms, A, "1")
    _refused(inside, B, "before the first read")
    assert said(inside, A) == [""]


def test_a_version_that_has_left_the_log(catalog: Catalog, clock: Clock) -> None:
    for identifier in (A, B):
        short = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
        table = catalog.load_table(identifier)
        commit(catalog, identifier, ChangeProperties(short, frozenset()), base=table, clock=clock, rng=_rng())
    inside = transaction(clock).catalog(catalog)
    said(inside, A)
    put(catalog, clock, A, "1")
    for number in range(3):
        put(catalog, clock, B, str(number))
    _refused(inside, B, "does not go back so far")
    for number in range(3):
        put(catalog, clock, A, str(number))
    inside = transaction(clock).catalog(catalog)
    said(inside, C)
    said(inside, A)
    for number in range(3):
        put(catalog, clock, A, str(number))
    _refused(inside, B, "do not tell when")


def test_a_metadata_file_that_is_gone(catalog: Catalog, clock: Clock, tmp_path: Path) -> None:
    inside = transaction(clock).catalog(catalog)
    said(inside, A)
    before = catalog.load_table(B).metadata_location
    put_all(catalog, clock, "1", A, B)
    Path(before.removeprefix("file://")).unlink()
    _refused(inside, B, "cannot be read")


def test_a_snapshot_that_has_expired(catalog: Catalog, clock: Clock) -> None:
    put(catalog, clock, B, "0")
    inside = transaction(clock).catalog(catalog)
    said(inside, A)
    put_all(catalog, clock, "1", A, B)
    table = catalog.load_table(B)
    kept = tuple(one for one in table.metadata.snapshots if one.summary["n"] == "1")
    catalog.commit(B, table, replace(table.metadata, snapshots=kept, snapshot_log=()))
    _refused(inside, B, "has expired")


def test_a_table_that_was_made_later(catalog: Catalog, clock: Clock) -> None:
    inside = transaction(clock).catalog(catalog)
    said(inside, A)
    put(catalog, clock, A, "1")
    later = replace(A, name="later")
    made = create(catalog, later)
    catalog.commit(later, made, changed(made, at_ms=clock()))
    catalog.drop_table(later, purge=True)
    clock.sleep(1)
    table = catalog.load_table(B)
    catalog.commit(later, None, replace(table.metadata, last_updated_ms=clock(), location=made.metadata.location))
    _refused(inside, later, "made later")


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_was_dropped(catalog: Catalog, clock: Clock, again: bool) -> None:
    """Made anew it has the same file names in a folder."""
    inside = transaction(clock).catalog(catalog)
    said(inside, A)
    catalog.drop_table(A, purge=True)
    if again:
        create(catalog, A)
    _refused(inside, B, "do not tell when" if again else "was dropped")


# a server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Catalog]:
    server = RestModelServer(tmp_path)
    yield _made(open_catalog("lake", server.settings()))
    server.stop()


@pytest.mark.parametrize("later", [0, 1])
def test_a_server_stamps_versions_without_a_snapshot_itself(server: Catalog, later: int) -> None:
    """So these may have another time than what landed with them, and do not tell what belongs together."""
    clock = Clock(time.time_ns() // 1_000_000 + 1)
    inside = transaction(clock).catalog(server)
    said(inside, A)
    put_all(server, clock, "1", A, B)
    assert said(inside, B) == [""]
    inside = transaction(clock).catalog(server)
    said(inside, A)
    commit(server, A, ChangeProperties({"x": "1"}, frozenset()), base=server.load_table(A), clock=clock, rng=_rng())
    for number in range(later):
        put(server, clock, A, str(number))
    _refused(inside, B, "do not tell when")


# commits of several tables in a folder


def test_a_transaction_that_has_no_outcome_yet_has_changed_nothing(folder: WarehouseCatalog, tmp_path: Path) -> None:
    clock = Clock()
    died = _Dying(tmp_path, clock, files=2)
    bases = [folder.load_table(identifier) for identifier in (A, B)]
    with contextlib.suppress(KeyboardInterrupt):
        died.commit_tables([TableCommit(base.identifier, base, changed(base, at_ms=clock())) for base in bases])
    inside = transaction(clock).catalog(folder)
    said(inside, A)
    newest = folder.current_metadata_location(A)
    assert newest != folder.load_table(A).metadata_location
    put(folder, clock, C, "1")
    assert said(inside, C) == ["1"]


def test_a_transaction_that_was_aborted_has_changed_nothing(folder: WarehouseCatalog, tmp_path: Path) -> None:
    """The version that takes it back goes on with the log and with the time, as Iceberg demands of each version."""
    clock = Clock()
    for identifier in (A, B):
        put(folder, clock, identifier, "0")
    clock.sleep(3600)
    died = _Dying(tmp_path, clock, files=2)
    bases = [folder.load_table(identifier) for identifier in (A, B)]
    with contextlib.suppress(KeyboardInterrupt):
        died.commit_tables([TableCommit(one.identifier, one, changed(one, at_ms=clock(), n="x")) for one in bases])
    clock.sleep(60)
    later = WarehouseCatalog("lake", str(tmp_path), LocalFileIO(), clock=clock)
    with pytest.raises(CommitConflict):
        put(later, clock, A, "1")
    inside = transaction(clock).catalog(later)
    said(inside, A)
    metadata = later.load_table(A).metadata
    files = [entry.metadata_file for entry in metadata.metadata_log]
    assert bases[0].metadata_location in files
    stamps = [*(entry.timestamp_ms for entry in metadata.metadata_log), metadata.last_updated_ms]
    assert stamps == sorted(stamps)
    put_all(later, clock, "1", A, C)
    with contextlib.suppress(CommitConflict):
        put(later, clock, B, "1")
    put(later, clock, B, "2")
    assert said(inside, C, B) == ["", "0"]


class _Dying(WarehouseCatalog):
    """Of a process that dies when it has made so many files."""

    def __init__(self, folder: Path, clock: Clock, files: int) -> None:
        class DyingIO(LocalFileIO):
            left = files

            def create(self, location: str, data: bytes, **given: Any) -> None:
                if not self.left:
                    raise KeyboardInterrupt
                self.left -= 1
                super().create(location, data, **given)

        super().__init__("lake", str(folder), DyingIO(), clock=clock)
