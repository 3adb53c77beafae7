"""Where a statement's RETURNING begins, and where the word is a name."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError
from sqlext.sql.parser import parse
from sqlext.sql.statements.returning_statement import Returning

CURRENT = ("lake", "db")


def _list(text: str) -> str | None:
    found = parse(text, catalogs=["lake"], current=CURRENT)
    return found.items.text if isinstance(found, Returning) else None


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("INSERT INTO t VALUES (1) RETURNING *", "*"),
        ("INSERT INTO t SELECT * RETURNING *, 1", "*, 1"),
        ("INSERT INTO t SELECT s.* FROM s returning id ;", "id"),
        ("INSERT INTO t TABLE s RETURNING -id", "-id"),
        ("DELETE FROM t RETURNING id", "id"),
        ("DELETE FROM t x RETURNING x.id", "x.id"),
        ("DELETE FROM t WHERE a IN (SELECT returning FROM s) RETURNING NOT b", "NOT b"),
        ("UPDATE t SET a = CASE WHEN b THEN 1 END RETURNING (SELECT max(a) FROM s)", "(SELECT max(a) FROM s)"),
        ("UPDATE t SET returning = returning + 1 RETURNING returning", "returning"),
        ("UPSERT INTO t SELECT 1 returning RETURNING 'x'", "'x'"),
        ("MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE RETURNING merge_action()", "merge_action()"),
        ("MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT * RETURNING *", "*"),
        ("MERGE INTO t USING s ON a = b WHEN MATCHED THEN UPDATE SET * RETURNING `id`", "`id`"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO NOTHING RETURNING id", "id"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1 WHERE b RETURNING id", "id"),
    ],
)
def test_a_clause(text: str, items: str) -> None:
    assert _list(text) == items


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM t returning",
        "DELETE FROM t returning WHERE returning.id = 1",
        "DELETE FROM t WHERE returning",
        "DELETE FROM t WHERE returning = 1 AND returning IS NULL",
        "UPDATE t returning SET a = 1",
        "UPDATE t SET a = t.returning",
        "INSERT INTO t SELECT a returning FROM s",
        "INSERT INTO t SELECT returning, b FROM s returning JOIN u returning ON true",
        "INSERT INTO t SELECT a AS returning FROM s GROUP BY returning ORDER BY returning DESC",
        "INSERT INTO t SELECT 2 * returning FROM s",
        "INSERT INTO t SELECT a FROM s RETURNING WHERE a > 1",
        "INSERT INTO t WITH returning AS (SELECT 1) SELECT * FROM returning",
        "MERGE INTO t USING s returning ON a = b WHEN MATCHED AND returning.c THEN DELETE",
    ],
)
def test_a_name(text: str) -> None:
    assert parse(text, catalogs=["lake"], current=CURRENT) is not None
    assert _list(text) is None


def test_names_of_the_rows() -> None:
    found = parse("DELETE FROM t RETURNING WITH (new AS n, OLD AS `o`) o.id", catalogs=["lake"], current=CURRENT)
    assert isinstance(found, Returning)
    assert (found.old, found.new, found.items.text) == ("o", "n", "o.id")
    for text in ("WITH (x AS n) id", "WITH (OLD AS) id", "WITH (OLD n) id", "WITH (OLD AS o)"):
        with pytest.raises(ParseError):
            parse(f"DELETE FROM t RETURNING {text}", catalogs=["lake"], current=CURRENT)


def test_statements_of_other_catalogs_are_sparks() -> None:
    assert (
        parse("DELETE FROM other.db.t RETURNING id", catalogs=["lake"], current=CURRENT, other_catalogs=["other"])
        is None
    )
