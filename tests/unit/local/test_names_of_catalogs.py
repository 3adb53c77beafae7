"""Under which name a catalog is opened: a database tells the tables of several catalogs apart by theirs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import sqlext.local
from sqlext.local import LocalCatalog
from unit.command.lake import refused

IDS = pa.schema([pa.field("id", pa.int64())])


def opened(folder: Path, name: str | None = None) -> LocalCatalog:
    found = sqlext.local.open(f"sqlite:{folder}/catalog.db", {"warehouse": f"{folder}/w"}, name=name)
    assert isinstance(found, LocalCatalog)
    return found


def test_a_new_database_has_none(tmp_path: Path) -> None:
    assert opened(tmp_path).name == "local"


def test_the_one_that_a_database_has_is_taken(tmp_path: Path) -> None:
    lake = opened(tmp_path, "lake")
    lake.create_namespace("db")
    lake.create_table("db.t", IDS)
    assert opened(tmp_path).name == "lake"
    assert opened(tmp_path).tables("db") == ["db.t"]


def test_one_of_several_is_to_be_named(tmp_path: Path) -> None:
    for name in ("lake", "pond"):
        opened(tmp_path, name).create_namespace("db")
    with refused("CATALOG_OPTION_INVALID", "lake, pond"):
        opened(tmp_path)
    assert opened(tmp_path, "pond").name == "pond"
