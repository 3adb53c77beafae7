from __future__ import annotations

import pytest

from sqlext.errors import ParseError
from sqlext.sql.parser import parse
from sqlext.sql.statements.routine_statement import DescribeFunction, DescribeProcedure, ShowProcedures
from sqlext.sql.statements.statement import TableName, Truncate


def read(text: str, *, current: tuple[str, ...] = ("lake", "db")) -> object:
    return parse(text, catalogs=("lake",), current=current)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SHOW PROCEDURES", ShowProcedures("lake")),
        ("show procedures in lake", ShowProcedures("lake")),
        ("SHOW /* all */ PROCEDURES FROM lake.`system`", ShowProcedures("lake", ("system",))),
        ("SHOW PROCEDURES IN system", ShowProcedures("lake", ("system",))),
        ("DESC PROCEDURE lake.SYSTEM.Compact", DescribeProcedure("lake", "compact")),
        ("DESCRIBE PROCEDURE system.compact", DescribeProcedure("lake", "compact")),
        ("DESCRIBE FUNCTION lake.system.bucket", DescribeFunction("lake", "bucket")),
        ("DESC FUNCTION EXTENDED lake.system.bucket", DescribeFunction("lake", "bucket", True)),
        ("DESCRIBE FUNCTION extended.bucket", None),
        ("DESCRIBE FUNCTION extended", None),
        ("DESCRIBE FUNCTION EXTENDED '%'", None),
        ("DESCRIBE FUNCTION lake.db.mine", None),
        ("DESCRIBE FUNCTION upper", None),
        ("DESCRIBE lake.db.t", None),
        ("DESC EXTENDED lake.db.function", None),
        ("DESCRIBE SELECT * FROM lake.db.t", None),
        ("SHOW PROCEDURES IN spark_catalog.system", None),
        ("CALL other.system.compact()", None),
    ],
)
def test_routines(text: str, statement: object) -> None:
    assert read(text) == statement


def test_statements_of_another_current_catalog_are_sparks() -> None:
    for text in ("SHOW PROCEDURES", "DESCRIBE FUNCTION system.bucket", "DESCRIBE PROCEDURE system.lake"):
        assert read(text, current=("spark_catalog", "default")) is None


def test_truncate() -> None:
    assert read("TRUNCATE TABLE t") == Truncate(TableName(("lake", "db", "t"), ("t",)))
    statement = read("TRUNCATE TABLE lake.db.t PARTITION (p = date'2026-01-01', `Q r` = concat('a', 'b'))")
    assert isinstance(statement, Truncate)
    assert [(name, value.text) for name, value in statement.static_partition] == [
        ("p", "date'2026-01-01'"),
        ("Q r", "concat('a', 'b')"),
    ]
    assert read("TRUNCATE TABLE spark_catalog.db.t") is None


@pytest.mark.parametrize(
    "text",
    [
        "TRUNCATE TABLE t WHERE id = 1",
        "TRUNCATE TABLE t PARTITION (p)",
        "TRUNCATE TABLE t PARTITION ()",
        "SHOW PROCEDURES IN lake LIKE 'c*'",
        "DESCRIBE FUNCTION lake.system.bucket more",
    ],
)
def test_what_has_no_meaning_is_an_error(text: str) -> None:
    with pytest.raises(ParseError):
        read(text)
