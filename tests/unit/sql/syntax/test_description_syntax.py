from __future__ import annotations

import pytest

from sqlext.errors import ParseError
from sqlext.sql.parser import parse
from sqlext.sql.statements.description_statement import DescribeDetail, DescribeHistory
from sqlext.sql.statements.statement import TableName

T = TableName(("lake", "db", "t"), ("t",))
WHOLE = TableName(("lake", "db", "t"), ("lake", "db", "t"))


def read(text: str, *, current: tuple[str, ...] = ("lake", "db")) -> object:
    return parse(text, catalogs=("lake",), current=current)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("DESCRIBE HISTORY t", DescribeHistory(T)),
        ("desc /* all */ history t limit 3", DescribeHistory(T, 3)),
        ("DESCRIBE HISTORY lake.db.t", DescribeHistory(WHOLE)),
        ("DESCRIBE DETAIL `t`", DescribeDetail(T)),
        ("DESC DETAIL lake.db.t", DescribeDetail(WHOLE)),
        # tables of these names
        ("DESCRIBE history", None),
        ("DESCRIBE detail.t", None),
        ("DESCRIBE lake.db.history t", None),
        ("DESCRIBE TABLE history t", None),
        ("DESCRIBE HISTORY '/data/t'", None),
        ("DESCRIBE DETAIL spark_catalog.db.t", None),
    ],
)
def test_what_delta_describes(text: str, statement: object) -> None:
    assert read(text) == statement


def test_tables_of_another_current_catalog_are_sparks() -> None:
    for text in ("DESCRIBE HISTORY t", "DESCRIBE DETAIL db.lake"):
        assert read(text, current=("spark_catalog", "default")) is None


@pytest.mark.parametrize("text", ["DESCRIBE HISTORY t LIMIT x", "DESCRIBE HISTORY t VERSION", "DESC DETAIL t LIMIT 1"])
def test_what_follows_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        read(text)
