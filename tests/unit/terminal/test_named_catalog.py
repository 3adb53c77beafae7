"""Catalogs that a command line names: folders, databases, servers, and options over them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import typer

from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField
from sqlext.terminal.named_catalog import NamedCatalog, named_catalog
from unit.terminal.command_line import CommandLine

T = TableIdentifier(("db",), "t")


def in_database(folder: Path, *names: str) -> str:
    """A database with a table `db.t` in each catalog of these names; its URI."""
    uri = f"sqlite:///{folder / 'tables.db'}"
    for name in names:
        options = {"type": "jdbc", "uri": uri, "warehouse": str(folder / name)}
        catalog = NamedCatalog(name, options).catalog
        catalog.create_namespace(T.namespace, {})
        action = CreateTable(
            schema=Schema((NestedField(1, "id", LongType()),)),
            spec=UNPARTITIONED,
            sort_order=UNSORTED,
            properties={},
            format_version=2,
            location=catalog.default_table_location(T),
        )
        commit(catalog, T, action, base=None, clock=lambda: 0, rng=random.Random(1))
    return uri


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("https://host/api", {"type": "rest", "uri": "https://host/api"}),
        ("s3://bucket/warehouse", {"type": "hadoop", "warehouse": "s3://bucket/warehouse"}),
        ("./warehouse", {"type": "hadoop", "warehouse": "./warehouse"}),
    ],
)
def test_the_text_says_what_kind_of_catalog_it_is(text: str, options: dict[str, str]) -> None:
    assert named_catalog(text, (), None).options == options


def test_options_decide_where_they_say_more() -> None:
    named = named_catalog("https://host", ["token=a=b", "warehouse=w", "type=rest"], "prod")
    assert named.options == {"type": "rest", "uri": "https://host", "token": "a=b", "warehouse": "w"}
    assert named.name == "prod"


def test_a_database_tells_the_name_of_its_one_catalog(tmp_path: Path) -> None:
    uri = in_database(tmp_path, "prod")
    named = named_catalog(uri, [f"warehouse={tmp_path / 'prod'}"], None)
    assert named.name == "prod"
    assert named.table("prod.db.t").name == "prod.db.t"
    assert named.catalog.list_tables(("db",)) == (T,)


def test_of_several_catalogs_in_a_database_one_is_chosen(tmp_path: Path) -> None:
    uri = in_database(tmp_path, "one", "two")
    with pytest.raises(typer.BadParameter, match="one, two"):
        _ = named_catalog(uri, [], None).name
    assert named_catalog(uri, [f"warehouse={tmp_path}"], "two").catalog.list_tables(("db",)) == (T,)


def test_a_look_makes_no_database_and_no_tables_in_one(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="there is no"):
        _ = named_catalog(f"sqlite:///{tmp_path}/none.db", [], None).name
    assert not list(tmp_path.iterdir())
    (tmp_path / "empty.db").touch()
    named = named_catalog(f"sqlite:///{tmp_path}/empty.db", ["warehouse=w"], None)
    with pytest.raises(Exception, match="no table iceberg_tables"):
        _ = named.catalog
    assert not (tmp_path / "empty.db").stat().st_size


def test_a_database_needs_a_warehouse(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="warehouse=FOLDER"):
        _ = named_catalog(in_database(tmp_path, "prod"), [], None).catalog


def test_the_environment_names_catalog_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(monkeypatch, capsys, in_database(tmp_path, "prod", "test"))
    monkeypatch.setenv("SQLEXT_CATALOG_NAME", "prod")
    monkeypatch.setenv("SQLEXT_OPTIONS", f"warehouse={tmp_path / 'prod'} jdbc.schema-version=V1")
    assert run("tables", "--json").document == [{"name": "db.t", "kind": "table"}]
    assert run("describe", "prod.db.t", "--json").document["name"] == "prod.db.t"
    assert run("fsck").out.strip() == "nothing is wrong"


def test_no_tables_under_a_name_tells_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(monkeypatch, capsys, in_database(tmp_path, "prod", "test"))
    asked = ("tables", "--option", f"warehouse={tmp_path}", "--name")
    told = "no tables under the name prdo, but under prod, test: choose by --name"
    assert _on_one_line(run(*asked, "prdo").out) == told
    assert run(*asked, "prod", "--json").document == [{"name": "db.t", "kind": "table"}]


def test_a_server_that_does_not_answer_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(monkeypatch, capsys, "http://127.0.0.1:9")
    assert run("tables", code=1).error.startswith("CATALOG_UNREACHABLE: The catalog lake cannot be reached")


def test_a_namespace_of_the_catalogs_name_is_a_namespace(tmp_path: Path) -> None:
    named = NamedCatalog("lake", {"warehouse": str(tmp_path)})
    assert named.identifier("lake.db.t") == T
    named.catalog.create_namespace(("lake",), {})
    named.catalog.create_namespace(("lake", "db"), {})
    assert named.identifier("lake.db.t").namespace == ("lake", "db")


def test_a_table_or_a_file_is_no_warehouse(run: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "warehouse" / "db" / "orders"
    assert f"{folder} is the folder of a table" in _on_one_line(run("tables", "-c", str(folder), code=2).error)
    file = tmp_path / "tables.csv"
    file.write_text("id\n")
    assert "tables.csv is no folder" in _on_one_line(run("tables", "-c", str(file), code=2).error)
    assert run("describe", str(folder), "--json").document["key"] == ["id", "day"]


@pytest.mark.parametrize("catalog", ["two", "none", "unreachable"])
def test_a_table_that_is_named_by_its_place_needs_no_catalog(
    run: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: str
) -> None:
    uris = {"two": in_database(tmp_path, "one", "two"), "none": f"sqlite:///{tmp_path}/none.db"}
    monkeypatch.setenv("SQLEXT_CATALOG", uris.get(catalog, "postgresql://127.0.0.1:1/lake"))
    folder = str(tmp_path / "warehouse" / "db" / "orders")
    for command in ("describe", "history", "health", "files", "fsck", "changes", "cat"):
        assert run(command, folder).out


def _on_one_line(told: str) -> str:
    return " ".join(told.split())
