"""Parameters of `spark.sql(text, args=…)` and of EXECUTE IMMEDIATE … USING, in syntax of Spark and of sqlext."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

Args = dict[str, Any] | list[Any]


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    return table_name


def rows_of(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.table(table).collect()))


@pytest.mark.parametrize(
    ("statement", "args", "rows"),
    [
        ("INSERT INTO {t} VALUES (?, ?)", [3, "c"], [(1, "a"), (2, "b"), (3, "c")]),
        ("INSERT INTO IDENTIFIER(:t) VALUES (:id, 'c')", {"id": 3}, [(1, "a"), (2, "b"), (3, "c")]),
        ("UPSERT INTO {t} VALUES (:id, :v), (2, ':v?')", {"id": 1, "v": "c"}, [(1, "c"), (2, ":v?")]),
        ("WITH s AS (SELECT ? AS id) INSERT INTO {t} SELECT id, ? FROM s", [3, "c"], [(1, "a"), (2, "b"), (3, "c")]),
        ("UPDATE {t} SET v = :v WHERE id = :id", {"v": None, "id": 2}, [(1, "a"), (2, None)]),
        ("DELETE FROM IDENTIFIER(:t) WHERE array_contains(:gone, id)", {"gone": [1, 7]}, [(2, "b")]),
        (
            "MERGE INTO {t} USING (SELECT explode(:ids) AS id) s ON {t}.id = s.id"
            " WHEN MATCHED THEN UPDATE SET v = :v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, :w)",
            {"ids": [2, 3], "v": "matched", "w": "not"},
            [(1, "a"), (2, "matched"), (3, "not")],
        ),
        (
            "/* 😀 :no ? */ UPSERT INTO {t} VALUES (1, concat('😀', :`a b`)) -- :no ?",
            {"a b": "c"},
            [(1, "😀c"), (2, "b")],
        ),
        (
            "UPDATE {t} SET v = CAST(named_struct('v', :v) AS STRUCT<v :STRING>).v WHERE id = 1",
            {"v": "c", "STRING": "no"},
            [(1, "c"), (2, "b")],
        ),
    ],
)
def test_a_change(spark: SparkSession, table: str, statement: str, args: Args, rows: list[tuple[Any, ...]]) -> None:
    given = {**args, "t": table} if isinstance(args, dict) else args
    spark.sql(statement.replace("{t}", table), args=given)
    assert rows_of(spark, table) == rows


def test_values_of_all_types_arrive_as_they_are(spark: SparkSession, table_name: str) -> None:
    values = {
        "s": 'it\'s\n\\n "q" `b` 😀',
        "i": -(2**31),
        "l": 2**63 - 1,
        "d": Decimal("-1.50"),
        "f": 1e-300,
        "b": True,
        "x": b"\x00'\xff",
        "day": datetime.date(1900, 1, 1),
        "ts": datetime.datetime(2020, 1, 2, 3, 4, 5, 678900),
        "many": ["it's", "\\"],
    }
    types = "s STRING, i INT, l BIGINT, d DECIMAL(9,2), f DOUBLE, b BOOLEAN, x BINARY, day DATE, ts TIMESTAMP"
    spark.sql(f"CREATE TABLE {table_name} ({types}, many ARRAY<STRING>)")
    statement = f"INSERT INTO {table_name} SELECT {', '.join(':' + name for name in values)}"
    spark.sql(statement, args={**values, "many": F.array(F.lit("it's"), F.lit("\\"))})
    assert spark.table(table_name).collect() == [tuple(values.values())]
    spark.sql(f"UPDATE {table_name} SET f = ?", args=[math.nan])
    assert math.isnan(spark.table(table_name).collect()[0].f)


def test_strings_without_escapes(spark: SparkSession, table: str) -> None:
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        spark.sql(f"UPDATE {table} SET v = :v WHERE id = 1", args={"v": "it's\\d"})
        with pytest.raises(PySparkException) as caught:
            spark.sql(f"UPDATE {table} SET v = :v[0] WHERE id = 2", args={"v": F.array(F.lit("it's\\d"))})
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.LITERAL_TYPE"
    assert rows_of(spark, table) == [(1, "it's\\d"), (2, "b")]


@pytest.mark.parametrize(
    ("values", "changed"), [("? WHERE id = ?' USING 'c', 1", 1), (":v WHERE id = :id' USING 2 AS id, 'c' AS v", 2)]
)
def test_execute_immediate(spark: SparkSession, table: str, values: str, changed: int) -> None:
    spark.sql(f"EXECUTE IMMEDIATE 'UPDATE {table} SET v = {values}")
    assert [id for id, v in rows_of(spark, table) if v == "c"] == [changed]


def test_execute_immediate_with_a_variable(spark: SparkSession, table: str) -> None:
    spark.sql("DECLARE OR REPLACE which INT DEFAULT 2")
    spark.sql(f"EXECUTE IMMEDIATE 'UPSERT INTO {table} VALUES (?, ?)' USING which, 'c'")
    assert rows_of(spark, table) == [(1, "a"), (2, "c")]


@pytest.mark.parametrize(
    ("statement", "args", "condition"),
    [
        ("DELETE FROM {t} WHERE id = :id", {"other": 1}, "UNBOUND_SQL_PARAMETER"),
        ("DELETE FROM {t} WHERE id = :id", {}, "UNBOUND_SQL_PARAMETER"),
        ("UPSERT INTO {t} VALUES (?, ?)", [1], "UNBOUND_SQL_PARAMETER"),
        ("UPSERT INTO {t} VALUES (:id, ?)", {"id": 1}, "INVALID_QUERY_MIXED_QUERY_PARAMETERS"),
    ],
)
def test_what_has_no_value_is_refused(
    spark: SparkSession, table: str, statement: str, args: Args, condition: str
) -> None:
    with pytest.raises((AnalysisException, ParseException)) as caught:
        spark.sql(statement.replace("{t}", table), args=args)
    assert caught.value.getCondition() == condition
    assert rows_of(spark, table) == [(1, "a"), (2, "b")]
