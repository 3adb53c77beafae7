"""Rows of queries as the driver takes them, against Spark's own way."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sqlext.spark.query.driver_rows import DRIVER_BYTES, collect_few

QUERIES = {
    "many files": "SELECT id, 'f' || pmod(hash(id), 9000) AS _file, id AS _pos FROM range(0, 20000, 1, 3)",
    "runs of one file": "SELECT 1Y AS op, concat('f', id DIV 7000) AS _file, 'é' AS v FROM range(0, 20000, 1, 2)",
    "rows of no file": "SELECT if(id % 3 = 0, NULL, concat('f', id % 5)) AS _file, id FROM range(0, 10000, 1, 2)",
    "no file at all": "SELECT CAST(NULL AS STRING) AS _file, id FROM range(0, 100, 1, 2)",
    "nothing else": "SELECT concat('f', id % 5) AS _file FROM range(0, 100, 1, 2)",
    "literals": "SELECT * FROM VALUES (1, 'a', 2.5BD), (2, 'b', NULL), (3, 'a', 1.5BD) AS rows (id, _file, d)",
    "no rows": "SELECT 'a' AS _file, id FROM range(10) WHERE id > 20",
    "another type": "SELECT id AS _file, 'a' AS v FROM range(0, 100, 1, 2)",
    "no such column": "SELECT id, 'a' AS v FROM range(0, 100, 1, 2)",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rows_are_those_that_spark_gives(spark: SparkSession, query: str) -> None:
    rows = spark.sql(query)
    expected, found = rows.toArrow(), collect_few(rows)
    assert found is not None
    assert found.column_names == expected.column_names
    columns = [column.cast(of.type) for column, of in zip(found.columns, expected.columns, strict=True)]
    assert columns == expected.columns
    assert collect_few(rows, expected.num_rows) == found


def test_paths_of_files_come_once(spark: SparkSession) -> None:
    rows = collect_few(spark.sql(QUERIES["runs of one file"]))
    assert rows is not None
    found = rows.column("_file")
    assert found.type == pa.dictionary(pa.int32(), pa.string())
    assert {tuple(chunk.dictionary.to_pylist()) for chunk in found.chunks} == {("f0", "f1", "f2")}


COLUMNS = ("repeat('a', {n}) AS v", "id, concat('f', id % 3) AS _file, repeat(uuid(), {n} DIV 36 + 1) AS v")


@pytest.mark.parametrize("tasks", [1, 4])
@pytest.mark.parametrize("length", [500, 20_000, 5_000_000])
@pytest.mark.parametrize("columns", COLUMNS)
def test_no_more_bytes_are_taken_than_the_driver_takes(
    spark: SparkSession, tasks: int, length: int, columns: str
) -> None:
    """As many rows as fit are taken, and twice as many are not, whatever their length and however well they pack."""
    query = f"SELECT {columns.format(n=length)} FROM range(0, {{rows}}, 1, {tasks})"
    few = min(DRIVER_BYTES // (length + 64), 2_000)
    found = collect_few(spark.sql(query.format(rows=few)))
    assert found is not None
    assert found.num_rows == few
    many = 2 * DRIVER_BYTES // length
    assert collect_few(spark.sql(query.format(rows=many))) is None
