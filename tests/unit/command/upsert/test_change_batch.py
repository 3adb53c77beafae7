"""Which columns of a source have the kinds of its rows, and keys as they are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.command.upsert.change_batch import has_order_or_kinds, own_kind_column, row_kind_column, stored_columns
from unit.command.lake import Lake, refused

KEYED = "CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ({})"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_kinds_are_in_the_column_of_their_name_in_any_case(lake: Lake) -> None:
    lake.create(KEYED.format("'comment'=''"))
    target = lake.target()
    assert row_kind_column(target, ("id", "_ROW_KIND")) == "_ROW_KIND"
    assert row_kind_column(target, ("id", "row_kind")) is None
    assert own_kind_column(target) is None


def test_kinds_stand_in_one_column(lake: Lake) -> None:
    lake.create(KEYED.format("'rowkind.field'='S'"))
    target = lake.target()
    assert own_kind_column(target) == "s"
    assert row_kind_column(target, ("id", "s")) is None
    with refused("ROW_KIND_TWICE", "lake.db.t", "s"):
        row_kind_column(target, ("id", "s", "_row_kind"))


def test_a_table_with_a_column_of_that_name_takes_no_kinds(lake: Lake) -> None:
    """Another engine has made it."""
    lake.create(KEYED.format("'comment'=''"))
    target = lake.target()
    schema = target.table.metadata.schema()
    theirs = replace(schema, fields=(schema.fields[0], replace(schema.fields[1], name="_Row_Kind")))
    table = replace(target.table, metadata=replace(target.table.metadata, schemas=(theirs,)))
    with refused("ROW_KIND_IN_TABLE", "lake.db.t"):
        row_kind_column(replace(target, table=table), ("id", "_row_kind"))
    assert row_kind_column(replace(target, table=table), ("id",)) is None


@pytest.mark.parametrize(
    ("properties", "columns", "looked_at"),
    [
        ("'comment'=''", ("id", "s"), False),
        ("'comment'=''", ("id", "_row_kind"), True),
        ("'sequence.field'='s'", ("id", "s"), True),
        ("'rowkind.field'='s'", (), True),
    ],
)
def test_rows_with_kinds_or_an_order_are_looked_at(
    lake: Lake, properties: str, columns: tuple[str, ...], looked_at: bool
) -> None:
    lake.create(KEYED.format(properties))
    assert has_order_or_kinds(lake.target(), columns) is looked_at


def test_a_uuid_in_the_key_has_one_spelling(lake: Lake) -> None:
    schema = lake.create("CREATE TABLE t (u UUID, v UUID, `a.b` INT, PRIMARY KEY (u, `a.b`))").metadata.schema()
    key, other, dotted = stored_columns(schema)
    assert key.endswith(" AS `u`")
    assert "`u`" in key.removesuffix(" AS `u`")
    assert (other, dotted) == ("`v`", "`a.b`")
