"""ANALYZE TABLE: its clauses, and what is Spark's."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.sql.parser import parse
from sqlext.sql.statements.maintenance_statement import AnalyzeTable


def read(text: str) -> object:
    return parse(text, catalogs=("lake",), current=("lake", "db"))


@pytest.mark.parametrize(
    ("clause", "columns"),
    [
        ("", None),
        ("NOSCAN", None),
        ("FOR ALL COLUMNS", ()),
        ("for columns a", (("a",),)),
        ("FOR COLUMNS a, s.f, `x.y`, `all`", (("a",), ("s", "f"), ("x.y",), ("all",))),
        ("FOR COLUMNS columns", (("columns",),)),
    ],
)
def test_clauses(clause: str, columns: object) -> None:
    statement = read(f"/* now */ ANALYZE TABLE t COMPUTE STATISTICS {clause}")
    assert isinstance(statement, AnalyzeTable)
    assert (statement.table.parts, statement.columns) == (("lake", "db", "t"), columns)


@pytest.mark.parametrize(
    "text",
    [
        "ANALYZE TABLES IN lake.db COMPUTE STATISTICS",
        "ANALYZE TABLES COMPUTE STATISTICS",
        "ANALYZE TABLE spark_catalog.db.t COMPUTE STATISTICS",
        "ANALYZE TABLE IDENTIFIER('t') COMPUTE STATISTICS",
    ],
)
def test_what_is_left_to_spark(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "rest",
    ["", "COMPUTE", "COMPUTE STATISTICS FOR", "COMPUTE STATISTICS FOR COLUMNS", "COMPUTE STATISTICS FOR COLUMNS a,",
     "COMPUTE STATISTICS FOR ALL", "COMPUTE STATISTICS NOSCAN FOR ALL COLUMNS", "COMPUTE STATISTICS FULL"],
)  # fmt: skip
def test_syntax_errors(rest: str) -> None:
    with pytest.raises(ParseError):
        read(f"ANALYZE TABLE t {rest}")


def test_partitions_are_refused() -> None:
    with pytest.raises(UnsupportedError) as caught:
        read("ANALYZE TABLE t PARTITION (a = 1) COMPUTE STATISTICS")
    assert "compute_partition_stats" in str(caught.value)
