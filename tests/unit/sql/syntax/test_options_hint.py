"""The hint OPTIONS behind a table that is read becomes a version; anywhere else it is refused."""

from __future__ import annotations

import random

import pytest

from sqlext.errors import SqlextError
from sqlext.sql.parser import parse
from sqlext.sql.syntax.options_hint import options_in_version, version_with_options, with_versions
from sqlext.sql.tokens.token_cursor import tokenize

HINT = "/*+ OPTIONS('branch'='b') */"
VERSION = "VERSION AS OF '@?branch=b'"


@pytest.mark.parametrize(
    "options",
    [{"tag": "rel-1.0"}, {"branch": "ä &=%'\"\\`", "split-size": ""}, {"as-of-timestamp": "-1"}, {"a": "1", "b": "2"}],
)
def test_a_version_says_the_options(options: dict[str, str]) -> None:
    version = version_with_options(options)
    assert options_in_version(version) == options
    assert not set(version) & set("'\"`\\\n ")


def test_other_versions_have_no_options() -> None:
    assert options_in_version("main") is None
    assert options_in_version("@v3.metadata.json/b") is None


READS = [
    "SELECT * FROM t #",
    "SELECT * FROM a.b.`c d` # AS x",
    "SELECT * FROM t # x, u # y",
    "SELECT a, b FROM t x JOIN u # ON x.i = u.i",
    "SELECT * FROM (t # JOIN u #)",
    "SELECT f(a, b), c FROM s, t #, u",
    "SELECT * FROM s WHERE i IN (SELECT i FROM t #)",
    "FROM t # SELECT i",
    "INSERT INTO t SELECT * FROM u #",
    "INSERT INTO t WITH w AS (SELECT * FROM u #) SELECT * FROM w",
    "WITH w AS (SELECT * FROM u #) DELETE FROM t WHERE i IN (SELECT i FROM w)",
    "MERGE INTO t USING u # s ON t.i = s.i WHEN MATCHED THEN DELETE",
    "UPDATE t SET a = (SELECT max(a) FROM u #)",
    "CREATE VIEW v AS SELECT * FROM u #",
    "EXPLAIN DELETE FROM t WHERE i IN (SELECT i FROM u #)",
    "SELECT /*+ BROADCAST(t) */ * FROM t # -- a comment",
    "SELECT extract(YEAR FROM d), i FROM s, t #",
    "SELECT i\nFROM t /* c */ #\nWHERE i > 0",
    "SELECT a IS DISTINCT FROM b, i FROM t #",
]
NO_READS = [
    "SELECT # * FROM t",
    "SELECT a # FROM t",
    "SELECT a, b # FROM t",
    "SELECT a IS DISTINCT FROM b, c # FROM t",
    "SELECT * FROM t x #",
    "SELECT * FROM # t",
    "SELECT * FROM (SELECT 1) #",
    "SELECT * FROM range(3) #",
    "SELECT * FROM t WHERE a = b #",
    "SELECT * FROM t LIMIT 5 #",
    "SELECT f(a #) FROM t",
    "SELECT * FROM s WHERE i IN (a #, 2)",
    "# SELECT 1",
    "TABLE t #",
    "INSERT INTO t VALUES (1) #",
    "INSERT INTO t TABLE u #",
    "DELETE FROM t #",
    "DELETE FROM t WHERE i = 1 #",
    "UPDATE t # SET a = 1",
    "UPDATE t SET a = b #",
    "MERGE INTO t USING u ON t.i = u.i # WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING u ON (t.i # = u.i) WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING u s # ON t.i = s.i WHEN MATCHED THEN DELETE",
    "ALTER TABLE t # RENAME TO u",
    "CREATE TABLE t (a INT) #",
    "DROP TABLE t #",
    "CALL lake.system.compact('t') #",
]
NO_HINTS = [
    "SELECT '#' FROM t",
    'SELECT "#" FROM t',
    "SELECT `#` FROM t",
    "SELECT * FROM t -- #",
    "SELECT * FROM t /* # ",
    "SELECT * FROM t /* OPTIONS('branch'='b') */",
    "SELECT /*+ BROADCAST(t) */ * FROM t",
    "SELECT * FROM t /*+ MERGE(t) */",
]


@pytest.mark.parametrize("text", READS)
def test_a_hint_of_a_read_becomes_a_version_in_its_place(text: str) -> None:
    hinted = text.replace("#", HINT)
    versioned = with_versions(hinted)
    assert [token.text for token in tokenize(versioned)] == [
        token.text for token in tokenize(text.replace("#", VERSION))
    ]
    assert versioned.count("\n") == hinted.count("\n")
    # What stands around a hint keeps its place, where the version is no longer than the hint.
    assert len(versioned) == len(hinted) + (len(VERSION) + 2 - len(HINT)) * hinted.count(HINT)


@pytest.mark.parametrize("text", NO_READS)
def test_a_hint_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(SqlextError, match="HINT_MISPLACED"):
        parse(text.replace("#", HINT), catalogs={"lake"}, current=("lake", "db"))


@pytest.mark.parametrize("text", NO_HINTS)
def test_what_is_no_hint_stays(text: str) -> None:
    text = text.replace("#", HINT)
    assert with_versions(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t VERSION AS OF 5 #",
        "SELECT * FROM t FOR TIMESTAMP AS OF now() #",
        "SELECT * FROM t # VERSION AS OF 5",
        "SELECT * FROM t # FOR SYSTEM_TIME AS OF '2024-01-01'",
        "MERGE INTO t USING u # VERSION AS OF 5 s ON t.i = s.i WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING u VERSION AS OF 5 # s ON t.i = s.i WHEN MATCHED THEN DELETE",
    ],
)
def test_a_hint_beside_a_version_is_refused(text: str) -> None:
    with pytest.raises(SqlextError, match="TIME_TRAVEL_TWICE"):
        parse(text.replace("#", HINT), catalogs={"lake"}, current=("lake", "db"))


@pytest.mark.parametrize(
    "hint", ["/*+ OPTIONS */", "/*+ OPTIONS() */", "/*+ OPTIONS('a'='b' */", "/*+ OPTIONS('a') */"]
)
def test_a_hint_that_cannot_be_read_is_refused(hint: str) -> None:
    with pytest.raises(SqlextError, match="PARSE_SYNTAX_ERROR"):
        with_versions(f"SELECT * FROM t {hint}")


def test_the_target_of_an_insert_keeps_its_hint() -> None:
    for head in (
        "INSERT INTO t",
        "INSERT INTO TABLE t",
        "INSERT OVERWRITE t",
        "INSERT OVERWRITE TABLE a.t",
        "UPSERT INTO t",
    ):
        text = f"{head} {HINT} SELECT * FROM u"
        assert with_versions(text) == text


_WORDS = [
    "SELECT", "FROM", "JOIN", "t", "a.b", ",", "(", ")", "1", "'x'", "AS", "x", "WHERE", "=", "INTO", "USING", "ON",
    "-- c\n", "/* c */", "/* /* */ */", f"'{HINT.replace(chr(39), '')}'", f"-- {HINT}\n", "/*+ BROADCAST(t) */", "`q`",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_no_hint_is_lost(seed: int) -> None:
    """Each hint of random words becomes a version, stays behind INTO, or stops the statement."""
    rng = random.Random(seed)
    words = [rng.choice([*_WORDS, HINT, HINT]) for _ in range(rng.randint(3, 14))]
    text = " ".join(words)
    hints = words.count(HINT)
    try:
        versioned = with_versions(text)
    except SqlextError:
        assert hints
        return
    left = sum(token.kind == "hint" and "OPTIONS" in token.text for token in tokenize(versioned))
    assert versioned.count("@?branch=b") + left == hints, text
    assert all(
        before.word == "INTO" or tokens_before.word == "INTO" or tokens_before.text == "."
        for tokens_before, before, token in zip(*(tokenize(versioned)[i:] for i in range(3)), strict=False)
        if token.kind == "hint" and "OPTIONS" in token.text
    ), text
