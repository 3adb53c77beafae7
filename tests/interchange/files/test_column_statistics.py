"""What Iceberg computed about a table's columns reaches Spark's optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from judges.iceberg import IcebergJudge


def _figures(frame: DataFrame) -> dict[str, Any]:
    """By column: different values, nulls, least and largest, as Spark's optimizer knows them before it reads."""
    figures = {}
    statistics = frame._jdf.queryExecution().optimizedPlan().stats().attributeStats()  # type: ignore[operator]
    entries = statistics.iterator()
    while entries.hasNext():
        entry = entries.next()
        told = entry._2()
        known = (told.distinctCount(), told.nullCount(), told.min(), told.max())
        figures[entry._1().name()] = tuple(one.get() if one.isDefined() else None for one in known)
    return figures


@pytest.fixture(autouse=True)
def _cost_based(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.cbo.enabled", "true")
    yield
    spark.conf.unset("spark.sql.cbo.enabled")


def test_distinct_counts_of_statistics_files(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    t = table_name
    spark.sql(f"CREATE TABLE {t} (id BIGINT, kind STRING, part INT) PARTITIONED BY (part)")
    spark.sql(f"INSERT INTO {t} SELECT id, 'k' || id % 7, id % 3 FROM range(100)")
    iceberg.sql(f"CALL lake.system.compute_table_stats(table => '{t}', columns => array('id', 'kind'))")
    figures = _figures(spark.table(t))
    assert figures["id"] == (100, 0, 0, 99)
    assert figures["kind"][:2] == (7, 0)
    assert figures["part"] == (None, 0, 0, 2)
    spark.sql(f"INSERT INTO {t} VALUES (1000, NULL, 5)")
    assert _figures(spark.table(t))["id"] == (100, 0, 0, 1000)
    assert _figures(spark.table(t))["kind"][:2] == (7, 1)
    # An estimate, as deleted rows are still in the files; without nulls Spark would not use the distinct counts.
    spark.sql(f"DELETE FROM {t} WHERE id < 10")
    assert _figures(spark.table(t))["id"] == (100, 0, 0, 1000)
