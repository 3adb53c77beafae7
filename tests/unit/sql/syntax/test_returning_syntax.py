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


@pytest.mark.parametrize(
    ("items", "near"),
    [
        ("DISTINCT id", "DISTINCT"),
        ("distinct (id)", "distinct"),
        ("ALL id", "ALL"),
        ("1 UNION ALL SELECT id", "UNION"),
        ("id EXCEPT SELECT 1", "EXCEPT"),
        ("* MINUS SELECT 1", "MINUS"),
        ("* EXCEPT SELECT 1", "EXCEPT"),
        ("id LIMIT 1", "LIMIT"),
        ("id, f(v) LIMIT ALL", "LIMIT"),
        ("id WHERE id = 1", "WHERE"),
        ("id INTO x", "INTO"),
        ("id FROM s", "FROM"),
        ("*, 1 ORDER BY 1", "ORDER"),
        ("count(*) GROUP BY id", "GROUP"),
        ("id AS x LATERAL VIEW explode(v) e", "LATERAL"),
        ("TRANSFORM (id) USING 'cat'", "USING"),
        ("(id) |> WHERE id = 1", ""),
        ("id; DELETE FROM t", ";"),
    ],
)
def test_what_only_a_select_has(items: str, near: str) -> None:
    with pytest.raises(ParseError, match=r"PARSE_SYNTAX_ERROR") as error:
        parse(f"DELETE FROM t RETURNING {items}", catalogs=["lake"], current=CURRENT)
    assert not near or f"'{near}'" in str(error.value)


@pytest.mark.parametrize(
    "items",
    [
        "id AS limit, v AS `where`",
        "t.limit, t.offset, `group`, 1 + limit",
        "a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY id)",
        "(SELECT max(a) FROM s WHERE s.b = id LIMIT 1), extract(year FROM d)",
        "count(*) FILTER (WHERE id > 1), sum(id) OVER (PARTITION BY v ORDER BY id)",
        "count(DISTINCT id), a * limit",
        "CASE WHEN a THEN b END, a IN (SELECT 1 UNION ALL SELECT 2)",
    ],
)
def test_words_of_select_within_a_list(items: str) -> None:
    assert _list(f"DELETE FROM t RETURNING {items}") == items


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
