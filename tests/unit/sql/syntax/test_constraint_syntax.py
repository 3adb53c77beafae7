from __future__ import annotations

import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import (
    AddConstraint,
    AddPrimaryKey,
    CreateTable,
    DropConstraint,
    DropPrimaryKey,
    TableName,
)


def read(text: str) -> object:
    return parse(text, catalogs=("lake",), current=("lake", "db"))


def created(text: str) -> CreateTable:
    statement = read(text)
    assert isinstance(statement, CreateTable)
    return statement


def test_checks_of_table_and_column():
    text = "CREATE TABLE t (a INT CHECK (a > 1) CONSTRAINT c2 CHECK ( a < 9 ), CONSTRAINT c3 CHECK (f(a, ')') ), b INT)"
    checks = created(text).checks
    assert [(one.name, one.condition.text) for one in checks] == [(None, "a > 1"), ("c2", "a < 9"), ("c3", "f(a, ')')")]
    assert all(text[one.condition.start : one.condition.end] == one.condition.text for one in checks)


@pytest.mark.parametrize(
    ("behind", "enforced", "rely"),
    [
        ("", None, None),
        ("NOT ENFORCED", False, None),
        ("ENFORCED", True, None),
        ("NOT ENFORCED RELY", False, True),
        ("RELY ENFORCED", True, True),
        ("NORELY", None, False),
    ],
)
def test_what_stands_behind_a_key(behind: str, enforced: bool | None, rely: bool | None):
    for text in (f"CREATE TABLE t (a INT, PRIMARY KEY (a) {behind})", f"CREATE TABLE t (a INT PRIMARY KEY {behind})"):
        statement = created(text)
        assert (statement.key_enforced, statement.key_rely) == (enforced, rely)


def test_add_and_drop():
    added = read("ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)")
    assert isinstance(added, AddConstraint)
    assert (added.table.parts, added.check.name, added.check.condition.text) == (
        ("lake", "db", "t"),
        "positive",
        "a > 0",
    )
    assert read("ALTER TABLE t DROP CONSTRAINT IF EXISTS p CASCADE") == DropConstraint(added.table, "p", True)
    assert read("ALTER TABLE t DROP CONSTRAINT p") == DropConstraint(added.table, "p", False)


@pytest.mark.parametrize(
    ("text", "columns", "enforced", "rely"),
    [
        ("ADD PRIMARY KEY (a)", ("a",), False, False),
        ("ADD CONSTRAINT pk PRIMARY KEY (a, `b c`) NOT ENFORCED RELY", ("a", "b c"), False, True),
        ("ADD PRIMARY KEY (a) ENFORCED", ("a",), True, False),
    ],
)
def test_a_key_is_added(text: str, columns: tuple[str, ...], enforced: bool, rely: bool):
    table = TableName(("lake", "db", "t"), ("t",))
    assert read(f"ALTER TABLE t {text}") == AddPrimaryKey(table, columns, enforced, rely)


def test_a_key_is_dropped():
    table = TableName(("lake", "db", "t"), ("t",))
    assert read("ALTER TABLE t DROP PRIMARY KEY") == DropPrimaryKey(table)
    assert read("ALTER TABLE t DROP PRIMARY KEY IF EXISTS") == DropPrimaryKey(table, True)


@pytest.mark.parametrize("text", ["ALTER TABLE t ADD CONSTRAINT c UNIQUE (a)", "ALTER TABLE t ADD FOREIGN KEY (a)"])
def test_other_constraints_are_refused(text: str):
    with pytest.raises(UnsupportedError):
        read(text)


@pytest.mark.parametrize("text", ["CREATE TABLE t (a INT, CHECK ())", "ALTER TABLE t ADD CONSTRAINT c CHECK a > 1"])
def test_a_check_needs_a_condition(text: str):
    with pytest.raises(ParseError):
        read(text)


@pytest.mark.parametrize("text", ["ALTER TABLE other.db.t DROP CONSTRAINT c", "ALTER VIEW v AS SELECT 1"])
def test_what_is_not_ours_goes_to_spark(text: str):
    assert parse(text, catalogs=("lake",), current=("other", "db")) is None
