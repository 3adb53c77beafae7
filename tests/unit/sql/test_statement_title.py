"""Titles of statements: verb and table, whatever the text is like."""

from __future__ import annotations

import pytest

from sqlext.sql.parser import parse
from sqlext.sql.statement_title import statement_title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("INSERT INTO t SELECT 1", "INSERT INTO lake.db.t"),
        ("WITH s AS (SELECT 1) INSERT OVERWRITE t SELECT * FROM s", "INSERT OVERWRITE lake.db.t"),
        ("UPSERT INTO lake.x.`a.b` VALUES (1)", "UPSERT INTO lake.x.`a.b`"),
        ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE", "MERGE INTO lake.db.t"),
        ("UPDATE t SET a = 1", "UPDATE lake.db.t"),
        ("DELETE FROM t.branch_b WHERE id = 1", "DELETE FROM lake.t.branch_b"),
        ("TRUNCATE TABLE t", "TRUNCATE TABLE lake.db.t"),
        ("EXPLAIN FORMATTED UPDATE t SET a = 1", "EXPLAIN UPDATE lake.db.t"),
        ("PREVIEW DELETE FROM t", "PREVIEW DELETE FROM lake.db.t"),
        ("CALL lake.system.compact('db.t')", "CALL lake.system.compact on db.t"),
        ("CALL lake.system.compact(branch => 'b', `table` => \"db.t\")", "CALL lake.system.compact on db.t"),
        ("CALL lake.system.compact(concat('db', '.t'))", "CALL lake.system.compact"),
        ("OPTIMIZE t", "OPTIMIZE lake.db.t"),
        ("VACUUM t", "VACUUM lake.db.t"),
        ("ANALYZE TABLE t COMPUTE STATISTICS", "ANALYZE TABLE lake.db.t"),
        ("CREATE TABLE t AS SELECT 1 AS id", "CREATE TABLE lake.db.t"),
        ("ALTER TABLE t ADD PRIMARY KEY (id)", "ADD PRIMARY KEY lake.db.t"),
        ("COMMIT", "COMMIT TRANSACTION"),
        ("EXPLAIN COMMIT", "EXPLAIN COMMIT"),
    ],
)
def test_a_title(text: str, title: str) -> None:
    assert statement_title(parse(text, catalogs=("lake",), current=("lake", "db"))) == title
