"""BEGIN, COMMIT, ROLLBACK and savepoints: which texts are ours, and which Spark's."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError
from sqlext.sql.parser import parse
from sqlext.sql.statements.transaction_statement import (
    BeginTransaction,
    CommitTransaction,
    ReleaseSavepoint,
    RollBackTransaction,
    SetSavepoint,
)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("BEGIN", BeginTransaction()),
        ("begin transaction;", BeginTransaction()),
        ("BEGIN WORK", BeginTransaction()),
        ("START /* it */ TRANSACTION", BeginTransaction()),
        ("BEGIN ISOLATION LEVEL serializable", BeginTransaction(serializable=True)),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", BeginTransaction(serializable=True)),
        ("BEGIN WORK ISOLATION LEVEL SNAPSHOT", BeginTransaction()),
        ("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ", BeginTransaction()),
        ("COMMIT", CommitTransaction()),
        ("-- at last\nCOMMIT TRANSACTION", CommitTransaction()),
        ("ROLLBACK", RollBackTransaction()),
        ("ROLLBACK WORK", RollBackTransaction()),
        ("ROLLBACK TO a", RollBackTransaction("a")),
        ("ROLLBACK TRANSACTION TO SAVEPOINT `a b`", RollBackTransaction("a b")),
        ("ROLLBACK TO savepoint", RollBackTransaction("savepoint")),
        ("SAVEPOINT a", SetSavepoint("a")),
        ("SAVEPOINT savepoint", SetSavepoint("savepoint")),
        ("RELEASE a", ReleaseSavepoint("a")),
        ("RELEASE SAVEPOINT a", ReleaseSavepoint("a")),
    ],
)
def test_statements(text: str, statement: object) -> None:
    assert parse(text, catalogs=["lake"], current=("spark_catalog", "default")) == statement


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN SELECT 1; END",
        "BEGIN\n  DECLARE x INT DEFAULT 1;\n  SELECT x;\nEND",
        "BEGIN TRANSACTION READ ONLY",
        "START",
        "COMMIT AND CHAIN",
        "ROLLBACK TO",
        "ROLLBACK TO a b",
        "SAVEPOINT",
        "RELEASE",
        "RELEASE SAVEPOINT a, b",
    ],
)
def test_the_rest_is_left_to_spark(text: str) -> None:
    assert parse(text, catalogs=["lake"], current=("lake", "db")) is None


@pytest.mark.parametrize("level", ["READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE", ""])
def test_other_isolation_levels_are_refused_with_those_there_are(level: str) -> None:
    with pytest.raises(ParseError, match="SERIALIZABLE, SNAPSHOT or REPEATABLE READ"):
        parse(f"BEGIN ISOLATION LEVEL {level}", catalogs=["lake"], current=("lake", "db"))
