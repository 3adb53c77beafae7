"""Statements that differ in the values they compare with run the same compiled code, and each with its own values."""

from __future__ import annotations

import itertools

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows

# Of each type some values, and what its column has in row `id`.
COLUMNS = {
    "TINYINT": ("cast(id % 7 - 3 as tinyint)", ("-2Y", "3Y")),
    "SMALLINT": ("cast(id % 700 - 300 as smallint)", ("-200S", "300S")),
    "INT": ("cast(id % 700 - 300 as int)", ("-200", "int(300)")),
    "BIGINT": ("id * 10000000000", ("9L", "3000000000000L")),
    "FLOAT": (
        "case id % 9 when 0 then float('NaN') when 1 then -0.0F else float(id) end",
        ("0F", "float('NaN')", "77.5F"),
    ),
    "DOUBLE": (
        "case id % 9 when 0 then double('NaN') when 1 then -0.0D else double(id) end",
        ("-0D", "double('NaN')", "1e2D"),
    ),
    "DECIMAL(9,2)": ("cast(id / 3 as decimal(9,2))", ("33.33", "100.00")),
    "STRING": ("cast(id as string)", ("'2'", "'77'")),
    "DATE": ("date_add(DATE '2024-01-01', int(id))", ("DATE '2024-02-01'", "DATE '1969-12-31'")),
    "TIMESTAMP": ("timestamp_seconds(id)", ("TIMESTAMP '1970-01-01 00:02:00Z'", "TIMESTAMP '1960-01-01'")),
    "TIMESTAMP_NTZ": ("cast(timestamp_seconds(id) as timestamp_ntz)", ("TIMESTAMP_NTZ '1970-01-01 00:01:00'",)),
    "BOOLEAN": ("id % 2 = 0", ("true", "false")),
}
CONDITIONS = ("c = {0}", "c <=> {0}", "c >= {0}", "{0} > c", "NOT (c < {0})", "c IN ({0}, {1}, null)", "c != {1}")


def compilations(spark: SparkSession) -> int:
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics  # type: ignore[union-attr]
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {t} WHERE id >= {a} AND n < {b} AND pmod(xxhash64(id), 10) = 3",
        "UPDATE {t} SET n = n + 1 WHERE id IN ({a}, {b}) AND d > DATE '2024-01-{a}'",
    ],
)
def test_another_value_compiles_nothing(spark: SparkSession, table_name: str, statement: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n BIGINT, d DATE) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, id % 50, date_add(DATE '2024-01-01', int(id)) FROM range(3000)")
    spark.sql(statement.format(t=table_name, a=11, b=40))
    # A table with deleted positions may be read in another way.
    spark.sql(statement.format(t=table_name, a=12, b=41))
    before = compilations(spark)
    spark.sql(statement.format(t=table_name, a=13, b=42))
    assert compilations(spark) == before


@pytest.mark.turns(2)
@pytest.mark.parametrize("type", COLUMNS)
def test_each_statement_has_its_own_values(spark: SparkSession, table_name: str, type: str) -> None:
    expression, values = COLUMNS[type]
    rows = spark.sql(f"SELECT id, cast(if(id = 50, null, {expression}) as {type}) AS c FROM range(200)")
    rows.createOrReplaceTempView("rows_there")
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, c {type}) TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    for condition, value in zip(CONDITIONS, itertools.cycle(values)):
        spark.sql(f"INSERT OVERWRITE {table_name} SELECT * FROM rows_there")
        told = condition.format(value, values[-1])
        spark.sql(f"DELETE FROM {table_name} WHERE pmod(id, 200) >= 0 AND {told}")
        left = f"SELECT id FROM rows_there WHERE NOT coalesce({told}, false)"
        found = canonical_rows(spark.sql(f"SELECT id FROM {table_name}"))
        assert found == canonical_rows(spark.sql(left)), told
