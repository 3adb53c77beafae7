"""Databases that cannot be opened, stand still, or have another layout: one clear error each, and no secret in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.made_tables import DB, OTHER, VIEW, changed, create, said_last, view_at
from catalog.postgres_server import PostgresServer
from small_tables import ORDERS, files_below
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.sql import database
from sqlext.catalog.sql.database import NoAnswer, SqliteDatabase
from sqlext.errors import AnalysisError, CommitConflict, CommitStateUnknown, StorageError, UnsupportedError

V0 = (
    "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,"
    " table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),"
    " PRIMARY KEY (catalog_name, table_namespace, table_name))"
)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


def sqlite_settings(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"jdbc:sqlite:{folder}/catalog.db", "warehouse": str(folder / "w")}


def opened(options: dict[str, str]) -> Catalog:
    catalog = open_catalog("lake", options)
    catalog.create_namespace(DB, {})
    return catalog


@pytest.mark.parametrize(
    "uri", ["{}/catalog.db", "sqlite:{}/catalog.db", "jdbc:sqlite:file:{}/catalog.db", "sqlite:///{}/catalog.db"]
)
def test_a_file_by_any_spelling_of_its_uri(tmp_path: Path, uri: str) -> None:
    options = {**sqlite_settings(tmp_path), "uri": uri.format(tmp_path)}
    if ":" not in uri:
        with pytest.raises(AnalysisError) as caught:
            open_catalog("lake", options)
        assert caught.value.condition == "CATALOG_OPTION_INVALID"
        return
    opened(options)
    assert files_below(tmp_path) == {"catalog.db"}


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"uri": ""}, "CATALOG_OPTION_INVALID"),
        ({"uri": "jdbc:mysql://host/db"}, "CATALOG_OPTION_INVALID"),
        ({"uri": "jdbc:sqlite::memory:"}, "CATALOG_OPTION_INVALID"),
        ({"uri": "jdbc:postgresql://ada:s3cret@host/db"}, "CATALOG_OPTION_INVALID"),
        ({"uri": "jdbc:postgresql://host/db?user=ada&password=s3cret"}, "CATALOG_OPTION_INVALID"),
        ({"uri": "jdbc:sqlite:/no/such/folder/catalog.db"}, "CATALOG_UNREACHABLE"),
        ({"uri": "jdbc:postgresql://127.0.0.1:1/db", "jdbc.password": "s3cret"}, "CATALOG_UNREACHABLE"),
        ({"warehouse": ""}, "CATALOG_OPTION_REQUIRED"),
        ({"type": "jbdc"}, "CATALOG_OPTION_INVALID"),
    ],
)
def test_settings_that_open_nothing(tmp_path: Path, changes: dict[str, str], condition: str) -> None:
    with pytest.raises((AnalysisError, StorageError)) as caught:
        open_catalog("lake", {**sqlite_settings(tmp_path), **changes})
    assert caught.value.condition == condition
    assert "s3cret" not in str(caught.value)


def test_a_wrong_password_is_told_and_not_shown(tmp_path: Path, postgres: PostgresServer) -> None:
    options = {"type": "jdbc", "warehouse": str(tmp_path), **postgres.new_database(), "jdbc.password": "wr0ng"}
    with pytest.raises(StorageError) as caught:
        open_catalog("lake", options)
    assert caught.value.condition == "CATALOG_LOGIN_FAILED"
    assert "wr0ng" not in str(caught.value)


def test_a_server_that_was_started_anew_is_found_again(tmp_path: Path, postgres: PostgresServer) -> None:
    catalog = opened({"type": "jdbc", "warehouse": str(tmp_path), **postgres.new_database()})
    base = create(catalog)
    postgres.restart()
    landed = catalog.commit(ORDERS, base, changed(base, a="1"))
    assert catalog.load_table(ORDERS).metadata == landed.metadata


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("no database at all, but a text of some length")
    with pytest.raises(StorageError) as caught:
        opened(sqlite_settings(tmp_path))
    assert caught.value.condition == "CATALOG_FAILURE"


def test_a_database_that_stays_busy_is_a_lost_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_SQLITE_WAIT_S", 0.05)
    catalog = opened(sqlite_settings(tmp_path))
    base = create(catalog)
    before = files_below(tmp_path / "w")
    other = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CommitConflict):
        catalog.commit(ORDERS, base, changed(base, a="1"))
    other.execute("ROLLBACK")
    assert files_below(tmp_path / "w") == before
    assert said_last(catalog.commit(ORDERS, base, changed(base, a="2")))["a"] == "2"


@pytest.mark.parametrize("landed", [True, False])
def test_a_commit_without_an_answer_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    catalog = opened(sqlite_settings(tmp_path))
    base = create(catalog)
    change = SqliteDatabase.change

    def cut_off(self: SqliteDatabase, *steps: tuple[str, tuple[object, ...]]) -> list[int]:
        if landed:
            change(self, *steps)
        raise NoAnswer("the connection was lost")

    monkeypatch.setattr(SqliteDatabase, "change", cut_off)
    with pytest.raises(CommitStateUnknown):
        catalog.commit(ORDERS, base, changed(base, a="1"))
    monkeypatch.undo()
    assert len([name for name in files_below(tmp_path / "w") if name.endswith(".metadata.json")]) == 2
    assert said_last(catalog.load_table(ORDERS)).get("a") == ("1" if landed else None)


def test_a_database_of_the_layout_without_views(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute(V0)
    catalog = opened(sqlite_settings(tmp_path))
    base = create(catalog)
    assert catalog.commit(ORDERS, base, changed(base, a="1")) == catalog.load_table(ORDERS)
    view = view_at(catalog)
    with pytest.raises(UnsupportedError):
        catalog.views.commit_view(VIEW, None, view)
    upgraded = open_catalog("lake", {**sqlite_settings(tmp_path), "jdbc.schema-version": "V1"})
    assert said_last(upgraded.load_table(ORDERS))["a"] == "1"
    upgraded.views.commit_view(VIEW, None, view)
    assert upgraded.list_tables(DB) == (ORDERS,)


def test_catalogs_of_two_names_share_a_database(tmp_path: Path) -> None:
    first = opened(sqlite_settings(tmp_path))
    table = create(first)
    second = open_catalog("other", sqlite_settings(tmp_path))
    assert second.list_namespaces() == ()
    second.create_namespace(DB, {})
    assert second.list_tables(DB) == ()
    made = create(second)
    assert made.metadata.location != table.metadata.location
    with pytest.raises(AnalysisError) as caught:
        create(second, OTHER, location=table.metadata.location + "/inner")
    assert caught.value.condition == "LOCATION_IN_USE"
    second.drop_table(ORDERS, purge=True)
    assert first.load_table(ORDERS).metadata == table.metadata


def test_a_level_with_a_dot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError) as caught:
        opened(sqlite_settings(tmp_path)).create_namespace(("a.b",), {})
    assert caught.value.condition == "INVALID_NAME"
