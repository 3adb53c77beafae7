"""PREVIEW in the parser: the statement behind it is parsed as it is alone."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.sql.parser import may_be_ours, parse
from sqlext.sql.statements.statement import Delete, Insert, Merge, Preview, Update


def _parse(text: str) -> object:
    return parse(text, catalogs={"lake"}, current=("lake", "db"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO t VALUES (1)", Insert),
        ("UPSERT INTO t VALUES (1)", Insert),
        ("INSERT INTO t /*+ OPTIONS('branch'='b') */ VALUES (1)", Insert),
        ("DELETE FROM t", Delete),
        ("WITH s AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM s)", Delete),
        ("UPDATE t SET a = 1", Update),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", Merge),
    ],
)
def test_the_statement_is_that_of_the_text_behind(text: str, kind: type) -> None:
    for start, summary in (("PREVIEW ", False), ("preview\nSummary /* so */ ", True), ("-- first\nPREVIEW  ", False)):
        assert may_be_ours(start + text)
        preview = _parse(start + text)
        assert isinstance(preview, Preview)
        assert isinstance(preview.statement, kind)
        assert preview.summary is summary
        assert preview.table.parts == ("lake", "db", "t")
        assert preview.statement == _parse(" " * len(start) + text)


@pytest.mark.parametrize("text", ["TRUNCATE TABLE t", "SELECT 1", "CALL system.compact('t')", "EXPLAIN DELETE FROM t"])
def test_other_statements_are_left_to_spark(text: str) -> None:
    assert not may_be_ours(f"PREVIEW {text}")


def test_a_statement_that_spark_would_run_is_refused() -> None:
    for text in (
        "DELETE FROM other.db.t",
        "INSERT INTO t REPLACE WHERE a = 1 VALUES (1)",
        "WITH s AS (SELECT 1) SELECT 1",
    ):
        with pytest.raises(UnsupportedError, match="PREVIEW of this statement"):
            parse(f"PREVIEW {text}", catalogs={"lake"}, other_catalogs={"other"}, current=("lake", "db"))


def test_errors_have_the_place_in_the_whole_text() -> None:
    with pytest.raises(ParseError) as refused:
        _parse("PREVIEW\n  DELETE t")
    assert "line 2, column 10" in str(refused.value)
