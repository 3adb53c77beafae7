"""Where in the user's own text an error of Spark is, though Spark was given other SQL for the statement."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    return table_name


def refusal(spark: SparkSession, statement: str) -> PySparkException:
    with pytest.raises(PySparkException) as raised:
        spark.sql(statement).collect()
    assert "__operation" not in str(raised.value).split("JVM stacktrace")[0]
    return raised.value


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {t} SET v = [[nobody]] || 'x'",
        "UPDATE {t}\n  SET id = 1,\n v = (SELECT max([[nobody]]) FROM {t})",
        "UPDATE {t} SET id = id + 1, v = id || [[nobody]]",
        "DELETE FROM {t} WHERE id = 3 OR [[CAST(v || 'é' AS INT)]] = 1",
        "DELETE FROM {t} WHERE [[element_at(array(1), id + 5)]] = 1",
        "INSERT INTO {t}\nSELECT [[CAST('x' AS INT)]], 'b'",
        "WITH s AS (SELECT [[nobody]]) INSERT INTO {t} SELECT * FROM s",
        "CREATE TABLE {t}x AS SELECT 1 AS a, [[1 / (id - 1)]] AS b FROM {t}",
        "MERGE INTO {t} AS t USING (SELECT 1 AS id, 'b' AS v) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = [[s.nobody]]",
        "MERGE INTO {t} AS t USING (SELECT [[1 % 0]] AS id, 'b' AS v) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "MERGE INTO {t} AS t USING (SELECT 1 AS id, 'b' AS v) AS s ON t.id = s.id"
        " WHEN NOT MATCHED AND [[date_add(DATE'2024-01-01', s.v)]] > s.v THEN INSERT *",
    ],
)
def test_the_fragment_is_of_the_statement(spark: SparkSession, table: str, statement: str) -> None:
    text = statement.replace("{t}", table)
    start = text.index("[[")
    fragment = text[start + 2 : text.index("]]")]
    text = text.replace("[[", "").replace("]]", "")
    (context,) = refusal(spark, text).getQueryContext()
    assert (context.fragment(), context.startIndex(), context.stopIndex()) == (
        fragment,
        start,
        start + len(fragment) - 1,
    )
    line, position = text[:start].count("\n") + 1, start - (text[:start].rfind("\n") + 1)
    assert f"(line {line}, position {position + 1})" in context.summary()


def test_an_error_of_the_analysis_tells_line_and_position(spark: SparkSession, table: str) -> None:
    message = str(refusal(spark, f"UPDATE {table}\nSET v = upper(nobody)"))
    assert "line 2 pos 14" in message


def test_an_error_of_the_grammar_tells_line_and_position(spark: SparkSession, table: str) -> None:
    error = refusal(spark, f"UPDATE {table}\nSET id = 2, v = concat('a' +* 2)")
    assert error.getCondition() == "PARSE_SYNTAX_ERROR"
    assert "line 2 pos 30" in str(error)


def test_a_place_that_could_be_two_is_left_out(spark: SparkSession, table: str) -> None:
    error = refusal(
        spark,
        f"MERGE INTO {table} AS t USING (SELECT 1 AS id) AS s ON t.id = s.id"
        " WHEN MATCHED AND s.nobody THEN DELETE WHEN MATCHED AND s.nobody THEN UPDATE SET v = 'x'",
    )
    assert error.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert error.getQueryContext() == []
    assert " pos " not in str(error)


def test_a_place_in_no_text_of_the_user_is_left_out(spark: SparkSession, table: str) -> None:
    error = refusal(spark, f"UPDATE {table} SET v = map('a', 1)")
    assert error.getQueryContext() == []
    assert " pos " not in str(error)


def test_a_place_in_the_text_of_a_view_stays(spark: SparkSession, table: str) -> None:
    spark.sql(f"SELECT CAST(v AS INT) AS id, v FROM {table}").createOrReplaceTempView("cast_in_a_view")
    (context,) = refusal(spark, f"INSERT INTO {table} SELECT * FROM cast_in_a_view").getQueryContext()
    assert (context.fragment(), context.startIndex()) == ("CAST(v AS INT)", 7)
