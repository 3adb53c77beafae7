"""Statements of any length: nothing of ours recurses over what a user can make long, and no text is lost on the way."""

from __future__ import annotations

import re

import pytest

from long_conditions import LONG_CONDITIONS
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, NestedField, StringType
from sqlext.sql.binding import Relation, qualify
from sqlext.sql.lowering.key_upsert import _spelled
from sqlext.sql.parser import parse
from sqlext.sql.row_rules import checked_columns, require_plain_check
from sqlext.sql.statements.statement import CreateTable, Delete, Insert, Merge, Update
from sqlext.sql.tokens.expression_slice import column_references, equated_columns, has_subquery, plain_column
from sqlext.sql.tokens.literal_query import literal_query

# Python ends a recursion at 1,000 calls.
SIZES = (1, 30, 1_200)
SIDE = Relation(("x",), ("id", "a", "s"))
OTHER = Relation(("t",), ("k", "v"))
SCHEMA = Schema(
    (NestedField(1, "id", IntegerType()), NestedField(2, "a", IntegerType()), NestedField(3, "s", StringType()))
)
_NAMES = re.compile(r"\b(?:id|a|s)\b")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", LONG_CONDITIONS)
def test_a_long_condition_is_read_whole_or_not_at_all(kind: str, size: int) -> None:
    condition = LONG_CONDITIONS[kind]
    text = condition.text(size)
    references = column_references(text)
    if size <= 30 or not condition.nests:
        assert references is not None
    if references is not None:
        assert [reference.start for reference in references] == [match.start() for match in _NAMES.finditer(text)]
        assert has_subquery(text) == ("SELECT" in text)
    else:
        assert has_subquery(text)
    assert plain_column(text) is None
    assert equated_columns(text) is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", LONG_CONDITIONS)
def test_names_in_a_long_condition_get_their_side_and_the_other_side_s_are_refused(kind: str, size: int) -> None:
    text = LONG_CONDITIONS[kind].text(size)
    qualified = qualify(text, SIDE, OTHER, "a clause")
    if column_references(text) is None:
        assert qualified == text
    else:
        assert qualified == _NAMES.sub(lambda name: f"`x`.{name[0]}", text)
    with pytest.raises((AnalysisError, UnsupportedError)):
        qualify(text, OTHER, SIDE, "a clause")
    assert _spelled(qualified, SIDE) is not None
    if text.count("SELECT") == 0:
        require_plain_check("c", text, SCHEMA)
    assert {"a", "s"} & set(checked_columns(SCHEMA, text))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", LONG_CONDITIONS)
def test_statements_keep_the_text_of_long_conditions(kind: str, size: int) -> None:
    text = LONG_CONDITIONS[kind].text(size)
    assert _parsed(f"DELETE FROM t WHERE {text}", Delete).where.text == text
    update = _parsed(f"UPDATE t SET b = ({text}), a = 1 WHERE {text}", Update)
    assert update.where.text == text
    assert update.assignments[0].value.text == f"({text})"
    assert _parsed(f"INSERT INTO t SELECT id FROM x WHERE {text}", Insert).source.text.endswith(text)
    merge = _parsed(
        f"MERGE INTO t USING x ON t.id = x.id AND ({text}) WHEN MATCHED AND {text} THEN UPDATE SET a = ({text})"
        f" WHEN NOT MATCHED THEN INSERT (id, a) VALUES (x.id, ({text}))",
        Merge,
    )
    assert merge.condition.text == f"t.id = x.id AND ({text})"
    assert merge.clauses[0].condition.text == text
    assert [clause.assignments[-1].value.text for clause in merge.clauses] == [f"({text})"] * 2
    created = _parsed(f"CREATE TABLE t (id INT, a INT, s STRING, CONSTRAINT c CHECK ({text}))", CreateTable)
    assert text in str(created)
    assert (
        parse(f"CREATE VIEW v AS SELECT id FROM t WHERE {text}", catalogs=["lake"], current=("lake", "db")) is not None
    )
    assert _parsed(f"CREATE TABLE t AS SELECT id FROM x WHERE {text}", CreateTable) is not None
    assert literal_query(f"SELECT {text}") is None


def _parsed(text, kind):
    statement = parse(text, catalogs=["lake"], current=("lake", "db"))
    assert isinstance(statement, kind)
    return statement
