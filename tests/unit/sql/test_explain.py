"""EXPLAIN of a change is one statement around another; of anything else it is Spark's."""

from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.sql.parser import may_be_ours, parse
from sqlext.sql.statements.statement import Delete, Explain, Insert, Merge, Update
from sqlext.sql.statements.transaction_statement import ExplainCommit

MERGE = "MERGE INTO lake.db.t AS t USING s ON t.id = s.id WHEN MATCHED THEN DELETE"


@pytest.mark.parametrize(
    ("text", "kind", "mode"),
    [
        ("EXPLAIN INSERT INTO lake.db.t VALUES (1)", Insert, "simple"),
        ("EXPLAIN CODEGEN UPSERT INTO lake.db.t VALUES (1)", Insert, "codegen"),
        ("EXPLAIN WITH s AS (SELECT 1) INSERT OVERWRITE lake.db.t SELECT * FROM s", Insert, "simple"),
        ("EXPLAIN DELETE FROM lake.db.t WHERE id = 1", Delete, "simple"),
        ("explain extended /* why */ UPDATE lake.db.t SET id = 1", Update, "extended"),
        (f"EXPLAIN\nFORMATTED\n{MERGE}", Merge, "formatted"),
        (f"EXPLAIN COST WITH s AS (SELECT 1 AS id) {MERGE}", Merge, "cost"),
    ],
)
def test_changes(text: str, kind: type, mode: str) -> None:
    statement = parse(text, catalogs=("lake",), current=("spark_catalog", "default"))
    assert isinstance(statement, Explain)
    assert (type(statement.statement), statement.mode, str(statement.table)) == (kind, mode, "lake.db.t")


@pytest.mark.parametrize("text", ["EXPLAIN COMMIT", " explain -- why\n commit ", "/* a */EXPLAIN COMMIT"])
def test_why_a_commit_was_refused(text: str) -> None:
    assert may_be_ours(text)
    assert parse(text, catalogs=(), current=("spark_catalog", "default")) == ExplainCommit()


@pytest.mark.parametrize("text", ["EXPLAIN COMMIT t", "EXPLAIN EXTENDED COMMIT", "EXPLAIN COMMITS", "EXPLAIN BEGIN"])
def test_what_is_not_that(text: str) -> None:
    assert parse(text, catalogs=("lake",), current=("spark_catalog", "default")) is None


@pytest.mark.parametrize(
    "text",
    [
        "EXPLAIN SELECT * FROM lake.db.t",
        "EXPLAIN DELETE FROM other.db.t",
        "EXPLAIN WITH s AS (SELECT 1) SELECT * FROM lake.db.t, s",
        "EXPLAIN INSERT INTO other.db.t VALUES (1)",
        "EXPLAIN",
    ],
)
def test_what_spark_explains(text: str) -> None:
    assert parse(text, catalogs=("lake",), current=("spark_catalog", "default")) is None


@pytest.mark.parametrize(
    "text",
    [
        "CALL lake.system.compact('db.t')",
        "OPTIMIZE lake.db.t",
        "VACUUM lake.db.t",
        "UNDROP TABLE lake.db.t",
        "RESTORE TABLE lake.db.t TO VERSION AS OF 1",
        "PREVIEW DELETE FROM lake.db.t",
    ],
)
@pytest.mark.parametrize("mode", ["", "EXTENDED "])
def test_what_only_sqlext_runs_and_does_not_explain(text: str, mode: str) -> None:
    assert parse(text, catalogs=("lake",), current=("spark_catalog", "default")) is not None
    assert may_be_ours(f"EXPLAIN {mode}{text}")
    with pytest.raises(UnsupportedError, match="EXPLAIN of this statement"):
        parse(f"EXPLAIN {mode}{text}", catalogs=("lake",), current=("spark_catalog", "default"))


def test_a_call_of_another_catalog_is_explained_by_spark() -> None:
    text = "EXPLAIN CALL other.system.compact('db.t')"
    assert parse(text, catalogs=("lake",), other_catalogs=("other",), current=("spark_catalog", "default")) is None
