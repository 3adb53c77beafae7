"""What is cut out of a statement is what Spark's own parser finds there, under each setting of its lexer."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from session.names.random_expression import RandomExpression
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import Delete, Merge, Slice, Update

COUNT = 1000
ESCAPED = "spark.sql.parser.escapedStringLiterals"
DOUBLE_QUOTED = "spark.sql.ansi.doubleQuotedIdentifiers"
ANSI = "spark.sql.ansi.enabled"
SETTINGS = list(itertools.product([False, True], repeat=3))


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    for name in (ESCAPED, DOUBLE_QUOTED, ANSI):
        spark.conf.unset(name)


def tree_of(session: SparkSession, text: str) -> str | None:
    """Spark's tree of an expression, without the numbers that it gives anew each time; None for what is none."""
    parser = session._jsparkSession.sessionState().sqlParser()
    try:
        tree = str(parser.parseExpression(text).treeString())
    except ParseException:
        return None
    return re.sub(r"#\d+", "#", tree)


def slices(statement: object) -> Iterator[Slice | None]:
    """Every expression of a statement, in the order of the text."""
    match statement:
        case Update(assignments=assignments, where=where):
            yield from (one.value for one in assignments)
            yield where
        case Delete(where=where):
            yield where
        case Merge(condition=condition, clauses=clauses):
            yield condition
            for clause in clauses:
                if clause.condition is not None:
                    yield clause.condition
                yield from (one.value for one in clause.assignments)
        case _:
            raise AssertionError(f"{statement} was read")


def statements(e: str, f: str) -> Iterator[tuple[str, list[str]]]:
    """Statements with two expressions in the places for one, and what stands where."""
    yield f"UPDATE lake.db.t SET a = {e}, b.c = {f}\nWHERE {e}", [e, f, e]
    yield f"DELETE FROM lake.db.t AS x WHERE {f}", [f]
    yield (
        f"MERGE INTO lake.db.t AS t USING lake.db.u AS s ON {e} WHEN MATCHED AND {f} THEN UPDATE SET a = {e}, b = {f} "
        f"WHEN NOT MATCHED AND {e} THEN INSERT (a, b) VALUES ({f}, {e}) "
        f"WHEN NOT MATCHED BY SOURCE AND {f} THEN DELETE",
        [e, f, e, f, e, f, e, f],
    )


@pytest.mark.parametrize(("escaped", "double_quoted", "ansi"), SETTINGS)
def test_slices(session: SparkSession, escaped: bool, double_quoted: bool, ansi: bool) -> None:
    for name, value in ((ESCAPED, escaped), (DOUBLE_QUOTED, double_quoted), (ANSI, ansi)):
        session.conf.set(name, value)
    made = RandomExpression(random.Random(f"{escaped} {double_quoted} {ansi}"))
    trees: dict[str, str] = {}
    while len(trees) < COUNT // len(SETTINGS):
        text = made.expression()
        tree = tree_of(session, text)
        if tree is not None:
            trees[text] = tree
    for e, f in zip(trees, [*trees][::-1], strict=True):
        for text, expected in statements(e, f):
            statement = parse(
                text,
                catalogs={"lake"},
                current=("lake", "db"),
                escaped_string_literals=escaped,
                double_quoted_identifiers=double_quoted and ansi,
            )
            found = [*slices(statement)]
            assert len(found) == len(expected), text
            for one, meant in zip(found, expected, strict=True):
                assert one is not None, text
                assert one.text == meant or tree_of(session, one.text) == trees[meant], f"{text}\n\n{one.text}"


def test_names_in_double_quotes(session: SparkSession, table_name: str) -> None:
    for name in (DOUBLE_QUOTED, ANSI):
        session.conf.set(name, True)
    catalog, namespace, table = table_name.split(".")
    # In the query of a view Spark 4.0 reads a doubled quote as the end of a name and the start of another.
    doubled = '"q""q"' if session.version >= "4.1" else '"q q"'
    name = f'"{catalog}"."{namespace}"."{table}"'
    session.sql(f'CREATE TABLE {name} ("id" INT, "two words" STRING, {doubled} INT)')
    session.sql(f"""INSERT INTO {name} ("id", "two words") VALUES (1, 'a'), (2, 'b')""")
    session.sql(f"""UPDATE {name} AS "t" SET "two words" = 'c', {doubled} = "t"."id" + 1 WHERE "t"."id" = 2""")
    session.sql(
        f"""MERGE INTO {name} AS "t" USING (SELECT 1 AS "id") AS "s" ON "t"."id" = "s"."id"
            WHEN MATCHED AND "two words" = 'a' THEN UPDATE SET {doubled} = "s"."id" * 10"""
    )
    session.sql(f'CREATE VIEW {catalog}.{namespace}."{table} view" AS SELECT "id", {doubled} FROM {name}')
    assert sorted(map(tuple, session.table(table_name).collect())) == [(1, "a", 10), (2, "c", 3)]
    for setting in (DOUBLE_QUOTED, ANSI):
        session.conf.unset(setting)
    view = f"{catalog}.{namespace}.`{table} view`"
    assert sorted(map(tuple, session.table(view).collect())) == [(1, 10), (2, 3)]
    (shown,) = session.sql(f"SHOW CREATE TABLE {view}").collect()
    assert f'SELECT "id", {doubled} FROM {name}' in shown[0]


def test_escaped_string_literals(session: SparkSession, table_name: str) -> None:
    session.sql(f"CREATE TABLE {table_name} (id INT, s STRING)")
    session.conf.set(ESCAPED, True)
    session.sql(f"INSERT INTO {table_name} VALUES (1, 'a\\tb')")
    session.sql(f"ALTER TABLE {table_name} ALTER COLUMN s COMMENT 'c\\td'")
    session.sql(f"UPDATE {table_name} SET s = 'e\\tf' WHERE s = 'a\\tb'")
    assert session.table(table_name).collect()[0].s == "e\\tf"
    session.conf.unset(ESCAPED)
    assert session.sql(f"DESCRIBE {table_name}").collect()[1].comment == "c\\td"
