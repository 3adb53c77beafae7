"""CREATE TABLE … SHALLOW CLONE: what a clone has and refuses, and what becomes of tags and files of the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import files_below, ids_read_by_pyiceberg, rows_of
from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.sql.database import SqliteDatabase
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.command.ddl.shallow_clone import shallow_clone
from sqlext.command.ddl.table_changes import TableDefinitions
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.reference_change import CreateReference, DropReference
from sqlext.commit.actions.registration import RegisterTable, shared_copy
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, FieldTerm
from sqlext.commit.actions.table_creation import ReplaceTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import CommitStateUnknown, StorageError
from sqlext.spec.metadata.stream_state import CLONE_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema_change import AddColumn
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import LongType
from sqlext.storage.file_io import LocalFileIO
from sqlext.testing.faults import Faults
from sqlext.testing.interposed_catalog import InterposedCatalog
from unit.command.lake import Lake, read, refused

SOURCE, CLONE = TableIdentifier(("db",), "t"), TableIdentifier(("db",), "c")
KINDS = ["folder", "database"]


def in_database(folder: Path, io: LocalFileIO | None = None) -> SqlCatalog:
    records = CatalogRecords(SqliteDatabase("lake", f"{folder}/c.db"), "lake", create=True, upgrade=False)
    return SqlCatalog("lake", str(folder / "w"), io or LocalFileIO(), records)


def lake_in(kind: str, folder: Path, io: LocalFileIO | None = None) -> Lake:
    return Lake(folder, io, catalog=None if kind == "folder" else in_database(folder, io))


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    lake = lake_in(request.param, tmp_path)
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    return lake


def clone(lake: Lake, clause: str = "", table: str = "c", source: str = "t") -> None:
    shallow_clone(lake.environment, None, read(f"CREATE TABLE {table} SHALLOW CLONE {source} {clause}"))


def tags(lake: Lake, table: str = "t") -> list[str]:
    return [ref for ref in lake.load(table).metadata.refs if ref.startswith(CLONE_PREFIX)]


# transactions


def test_a_transaction_makes_no_clone(lake: Lake, tmp_path: Path) -> None:
    before = files_below(tmp_path)
    opened = OpenTransaction("x", lake.environment.catalogs.remembered.remember)
    within = replace(lake.environment, catalogs=lake.environment.catalogs.within(opened))
    with refused("NOT_IN_TRANSACTION", "SHALLOW CLONE"):
        shallow_clone(within, None, read("CREATE TABLE c SHALLOW CLONE t"))
    opened.roll_back()
    assert files_below(tmp_path) == before
    assert not tags(lake)


@pytest.mark.parametrize("reads_source", [False, True])
def test_a_transaction_that_is_taken_back_deletes_no_file_of_another_table(
    lake: Lake, tmp_path: Path, reads_source: bool
) -> None:
    """Whoever makes a table of another one's snapshots in it."""
    source, before = lake.load(), files_below(tmp_path)
    opened = OpenTransaction("x", lambda location, metadata: None)
    catalog = opened.catalog(lake.catalog)
    if reads_source:
        catalog.load_table(SOURCE)
    location = lake.catalog.default_table_location(CLONE)
    copied = shared_copy(source.metadata, location, "a8a1b1f0-0000-4000-8000-000000000000")
    commit(catalog, CLONE, RegisterTable(copied), base=None, clock=lake.clock, rng=lake.environment.rng)
    opened.roll_back()
    assert files_below(tmp_path) == before
    assert ids_read_by_pyiceberg(lake.load()) == [1]


def test_even_in_a_folder_that_the_other_table_lies_in(lake: Lake, tmp_path: Path) -> None:
    source, before = lake.load(), files_below(tmp_path)
    opened = OpenTransaction("x", lambda location, metadata: None)
    catalog = opened.catalog(lake.catalog)
    catalog.load_table(SOURCE)
    properties = {"write.data.path": source.metadata.location, "write.metadata.path": source.metadata.location}
    copied = shared_copy(source.metadata, lake.catalog.default_table_location(CLONE), "a8a1b1f0-0000-4000-8000-0")
    inside = replace(copied, properties=properties)
    commit(catalog, CLONE, RegisterTable(inside), base=None, clock=lake.clock, rng=lake.environment.rng)
    opened.roll_back()
    assert files_below(tmp_path) == before


# refusals leave no tag


class _Full(LocalFileIO):
    """A store that makes no file of the clone."""

    failure: Exception = StorageError("STORAGE_FAILURE", operation="Writing", path="there", reason="it is full")

    def create(self, location: str, data: bytes, **given: Any) -> None:
        if "/c/" in location:
            raise self.failure
        super().create(location, data, **given)


def test_a_refusal_leaves_no_tag(lake: Lake) -> None:
    with refused("SCHEMA_NOT_FOUND", "absent"):
        clone(lake, table="lake.absent.c")
    with refused("CLONE_NOT_POSSIBLE"):
        clone(lake, source="lake.db.t.files")
    with refused("TABLE_OR_VIEW_ALREADY_EXISTS"):
        clone(lake, table="t")
    with refused("INVALID_BUCKETS"):
        clone(lake, "TBLPROPERTIES ('bucket'='4')")
    assert not tags(lake)


def test_a_failure_leaves_no_tag(tmp_path: Path) -> None:
    lake = lake_in("database", tmp_path, _Full())
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    with pytest.raises(StorageError):
        clone(lake)
    assert not tags(lake)


def test_a_location_in_use_leaves_no_tag(tmp_path: Path) -> None:
    lake = lake_in("database", tmp_path)
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    taken = lake.load().metadata.location
    lake.catalog.default_table_location = lambda identifier: taken  # type: ignore[method-assign]
    with refused("LOCATION_IN_USE"):
        clone(lake)
    assert not tags(lake)


def test_without_an_answer_the_tag_stays(tmp_path: Path) -> None:
    """The clone may have been made."""
    lake = lake_in("folder", tmp_path)
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    made = lake.catalog.commit

    def lost(identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        table = made(identifier, base, updated)
        if identifier == CLONE:
            raise KeyboardInterrupt
        return table

    lake.catalog.commit = lost  # type: ignore[method-assign]
    with pytest.raises(CommitStateUnknown):
        clone(lake)
    assert len(tags(lake)) == 1
    assert ids_read_by_pyiceberg(lake.load("c")) == [1]


# versions and properties


def test_an_old_version_is_read_and_written_by_todays_definition(lake: Lake) -> None:
    lake.commit(CreateReference("v1", "tag"))
    lake.commit(ChangeSchema((AddColumn(("d",), LongType()),), False))
    lake.commit(ChangeSpec((AddField(FieldTerm("d", IdentityTransform()), None),)))
    lake.append(id=[2], d=[7])
    clone(lake, "VERSION AS OF 'v1'")
    made, source = lake.load("c").metadata, lake.load().metadata
    assert (made.schema(), made.spec(), made.properties["gc.enabled"]) == (source.schema(), source.spec(), "false")
    assert [row["id"] for row in rows_of(lake.load("c"))] == [1]
    lake.append("c", id=[3], d=[8])
    assert ids_read_by_pyiceberg(lake.load("c")) == [1, 3]


def test_properties_are_taken_or_refused(lake: Lake, tmp_path: Path) -> None:
    for said in ("write.data.path", "write.metadata.path"):
        with refused("TABLE_PROPERTY_REFUSED", said):
            clone(lake, f"TBLPROPERTIES ('{said}'='{tmp_path}/x')")
    with refused("TABLE_PROPERTY_REFUSED", "gc.enabled"):
        clone(lake, "TBLPROPERTIES ('gc.enabled'='true')")
    with refused("FORMAT_VERSION_DOWNGRADE", "lake.db.c"):
        clone(lake, "TBLPROPERTIES ('format-version'='1')")
    with refused("UNKNOWN_TABLE_PROPERTY"):
        clone(lake, "TBLPROPERTIES ('sqlext.clone.tag'='x')")
    assert not tags(lake)
    clone(lake, "TBLPROPERTIES ('format-version'='3', 'gc.enabled'='false', 'a.b'='1')")
    made = lake.load("c").metadata
    assert (made.format_version, made.properties["a.b"], made.properties["gc.enabled"]) == (3, "1", "false")
    assert "format-version" not in made.properties
    lake.append("c", id=[2])
    assert sorted(row["id"] for row in rows_of(lake.load("c"))) == [1, 2]
    assert lake.load().metadata.format_version == 2


# files


def test_the_clone_gets_free_of_its_source(lake: Lake, tmp_path: Path) -> None:
    """Only then its files may be collected by all engines; until then its own expiry takes none of the source's."""
    clone(lake)
    before = {one for one in files_below(tmp_path) if "/t/" in one}
    definitions = TableDefinitions(lake.environment)

    def collect(**removed: frozenset[str]) -> None:
        changed = {} if removed else {"gc.enabled": "true"}
        definitions.alter_properties("s", ("lake", "db", "c"), changed, removed.get("removed", frozenset()))

    with refused("TABLE_PROPERTY_REFUSED", "/t/", "expire_snapshots"):
        collect()
    with refused("TABLE_PROPERTY_REFUSED", "/t/"):
        collect(removed=frozenset({"gc.enabled"}))
    (old,) = lake.files("c")
    lake.append("c", id=[2])
    (new,) = [file for file in lake.files("c") if file != old]
    lake.commit(OverwriteFiles((), (old,)), "c")
    _expire(lake, "c")
    with refused("TABLE_PROPERTY_REFUSED", "/t/"):
        collect()
    lake.append("c", id=[3])
    _expire(lake, "c")
    assert before <= files_below(tmp_path)
    assert ids_read_by_pyiceberg(lake.load()) == [1]
    collect()
    assert lake.load("c").metadata.properties["gc.enabled"] == "true"
    assert ids_read_by_pyiceberg(lake.load("c")) == [2, 3]
    assert new.file_path in [file.file_path for file in lake.files("c")]


def _expire(lake: Lake, table: str) -> None:
    action = ExpireSnapshots(older_than_ms=10**15, retain_last=1)
    expire_snapshots(lake.environment, "lake", lake.load(table), action)


def test_another_table_with_shared_files_expires_nothing(lake: Lake) -> None:
    clone(lake)
    location = lake.catalog.default_table_location(TableIdentifier(("db",), "d"))
    copied = shared_copy(lake.load("c").metadata, location, "a8a1b1f0-0000-4000-8000-000000000000")
    assert not any(one.startswith(CLONE_PREFIX) for one in (*copied.refs, *copied.properties))
    with refused("FILES_ARE_SHARED"):
        ExpireSnapshots().expired(copied, "d", 10**15)


def test_copies_of_a_source_keep_nothing_for_its_clones(lake: Lake) -> None:
    clone(lake)
    clone(lake, table="d", source="c")
    location = lake.catalog.default_table_location(TableIdentifier(("db",), "e"))
    copied = shared_copy(lake.load().metadata, location, "a8a1b1f0-0000-4000-8000-000000000000")
    assert [*copied.refs] == ["main"]
    with refused("TABLE_HAS_CLONES", "dropped"):
        lake.catalog.drop_table(CLONE, purge=False)


def test_a_clone_that_is_replaced_stays_one(lake: Lake) -> None:
    clone(lake)
    metadata = lake.load("c").metadata
    given = (metadata.schema(), metadata.spec(), metadata.sort_order())
    with refused("TABLE_PROPERTY_REFUSED"):
        lake.commit(ReplaceTable(*given, properties={"gc.enabled": "true"}), "c")
    lake.commit(ReplaceTable(*given, properties={"gc.enabled": "false"}), "c")
    assert lake.load("c").metadata.current_snapshot() is None
    assert lake.catalog.drop_table(CLONE, purge=False)
    assert not tags(lake)


# drops


def test_a_namespace_goes_with_clones_and_sources_or_not_at_all(lake: Lake) -> None:
    clone(lake, table="a")
    clone(lake, table="z", source="a")
    for inner in (("other",), ("db", "inner")):
        lake.catalog.create_namespace(inner, {})
    clone(lake, table="lake.other.c")
    clone(lake, table="lake.db.inner.c")
    clone(lake, table="lake.db.b", source="lake.db.inner.c")
    before = lake.catalog.list_tables(("db",))
    with refused("TABLE_HAS_CLONES", "lake.db.t"):
        lake.catalog.drop_namespace(("db",), cascade=True)
    assert lake.catalog.list_tables(("db",)) == before
    assert lake.catalog.list_tables(("db", "inner"))
    assert lake.catalog.drop_namespace(("other",), cascade=True)
    assert lake.catalog.drop_namespace(("db",), cascade=True)
    assert not lake.catalog.namespace_exists(("db",))


class _Flaky(LocalFileIO):
    """A store that at times reads no metadata."""

    is_down = False

    def read(self, location: str) -> bytes:
        if self.is_down and location.endswith(".metadata.json"):
            raise StorageError("STORAGE_FAILURE", operation="Reading", path=location, reason="it times out")
        return super().read(location)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("purge", [False, True])
def test_a_store_without_an_answer_does_not_hide_clones(tmp_path: Path, kind: str, purge: bool) -> None:
    io = _Flaky()
    lake = lake_in(kind, tmp_path, io)
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    clone(lake)
    io.is_down = True
    with pytest.raises(StorageError):
        lake.catalog.drop_table(SOURCE, purge=purge)
    with pytest.raises(StorageError):
        lake.catalog.drop_namespace(("db",), cascade=True)
    io.is_down = False
    assert ids_read_by_pyiceberg(lake.load("c")) == [1]
    assert lake.catalog.table_exists(SOURCE)


def test_a_clone_without_its_source_is_dropped_again(lake: Lake, tmp_path: Path) -> None:
    """The source was dropped after it got the tag, by who did not see that; or lost the tag."""
    for lose in (_without_tag, _dropped):
        _after(lake.catalog, CLONE, lambda lose=lose: lose(lake))
        with refused("CONCURRENT_CHANGE", "lake.db.t"):
            clone(lake)
        assert not lake.catalog.table_exists(CLONE)


def _without_tag(lake: Lake) -> None:
    for tag in tags(lake):
        lake.commit(DropReference(tag, "tag"))
    assert ids_read_by_pyiceberg(lake.load()) == [1]


def _dropped(lake: Lake) -> None:
    _without_tag(lake)
    assert lake.catalog.drop_table(SOURCE, purge=False)


def _after(catalog: Catalog, identifier: TableIdentifier, then: Callable[[], None]) -> None:
    """Runs `then` once, right after the commit that makes the table."""
    made = catalog.commit

    def commit_and_then(committed: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        table = made(committed, base, updated)
        if committed == identifier and base is None:
            catalog.commit = made  # type: ignore[method-assign]
            then()
        return table

    catalog.commit = commit_and_then  # type: ignore[method-assign]


def test_a_clone_made_during_a_drop_of_a_folder_stops_it(tmp_path: Path) -> None:
    lake = lake_in("folder", tmp_path)
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    catalog = lake.catalog
    assert isinstance(catalog, WarehouseCatalog)
    looked = catalog._why_no_purge

    def look(identifier: TableIdentifier) -> str | None:
        clone(lake)
        return looked(identifier)

    catalog._why_no_purge = look  # type: ignore[method-assign]
    with refused("TABLE_HAS_CLONES"):
        catalog.drop_table(SOURCE, purge=True)
    assert ids_read_by_pyiceberg(lake.load("c")) == [1]


def test_a_source_keeps_its_name(tmp_path: Path) -> None:
    lake = lake_in("database", tmp_path)
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    clone(lake)
    to = TableIdentifier(("db",), "u")
    with refused("TABLE_HAS_CLONES", "lake.db.t cannot be renamed", "DROP TAG"):
        lake.catalog.rename_table(SOURCE, to)
    lake.catalog.rename_table(CLONE, to)
    assert lake.catalog.drop_table(to, purge=False)
    assert not tags(lake)
    lake.catalog.rename_table(SOURCE, to)


# catalogs


def test_a_wrapped_catalog_tells_whether_it_can_be_cloned_in(tmp_path: Path) -> None:
    class OfServer(WarehouseCatalog):
        @property
        def keeps_files_of_clones(self) -> bool:
            return False

    server = OfServer("lake", str(tmp_path), LocalFileIO())
    for catalog in (server, InterposedCatalog(server, {}, Faults())):
        lake = Lake(tmp_path, catalog=catalog)  # type: ignore[arg-type]  # a wrapped catalog
        if not lake.catalog.table_exists(SOURCE):
            lake.create("CREATE TABLE t (id BIGINT)")
            lake.append(id=[1])
        with refused("CLONE_NOT_POSSIBLE", "server"):
            clone(lake)
        assert not tags(lake)
