"""Tables that take rows by key."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer
from sqlext.command.upsert.upsert import require_upsertable
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StructType
from unit.command.lake import Lake, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_a_key_of_columns(lake: Lake) -> None:
    lake.create("CREATE TABLE t (`a.b` INT, PRIMARY KEY (`a.b`))")
    require_upsertable(lake.target())


def test_no_key(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT)")
    with refused("UPSERT_WITHOUT_KEY", "lake.db.t", "add rows with INSERT"):
        require_upsertable(lake.target())
    with refused("UPSERT_WITHOUT_KEY", "leave it out"):
        require_upsertable(lake.target(), "leave it out")


def test_a_key_within_a_struct(lake: Lake) -> None:
    """Iceberg allows it; another engine may have made the table."""
    struct = StructType((NestedField(2, "x", LongType(), required=True),))
    Writer(lake.catalog).create(schema=Schema((NestedField(1, "s", struct, required=True),), 0, (2,)))
    with refused("UPSERT_NESTED_KEY", "s.x"):
        require_upsertable(lake.target("orders"))
