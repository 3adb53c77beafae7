"""Tables that Spark has cached: what a statement of the session changes is seen by the next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def cached(spark: SparkSession, table_name: str) -> Iterator[str]:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    spark.table(table_name).cache()
    spark.table(table_name).where("id > 1").cache().createOrReplaceTempView("cached_view")
    assert spark.table(table_name).count() == 2
    yield table_name
    spark.catalog.clearCache()


def test_a_change_is_seen_by_the_next_query(spark: SparkSession, cached: str) -> None:
    first = spark.sql(f"SELECT max(snapshot_id) FROM {cached}.snapshots").first()[0]
    merge = "USING (SELECT 2 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v + 1"
    of_plan = f"MERGE INTO IDENTIFIER('{cached}') AS t {merge}"
    for statement, ids, total in (
        (f"INSERT INTO {cached} VALUES (3, 3)", [1, 2, 3], 6),
        (f"UPSERT INTO {cached} VALUES (3, 30)", [1, 2, 3], 33),
        (f"UPDATE {cached} SET v = 0 WHERE id = 1", [1, 2, 3], 32),
        (f"MERGE INTO {cached} AS t {merge}", [1, 2, 3], 33),
        (of_plan, [1, 2, 3], 34),
        (f"INSERT INTO {cached}.branch_main VALUES (4, 4)", [1, 2, 3, 4], 38),
        (f"DELETE FROM {cached} WHERE id = 3", [1, 2, 4], 8),
        (f"CALL lake.system.rollback_to_snapshot('{cached.removeprefix('lake.')}', {first})", [1, 2], 3),
        (f"INSERT OVERWRITE {cached} VALUES (2, 7)", [2], 7),
        (f"ALTER TABLE {cached} ADD COLUMN more INT", [2], 7),
    ):
        spark.sql(statement)
        found = spark.sql(f"SELECT * FROM {cached}").collect()
        assert sorted(row.id for row in found) == ids, statement
        assert sum(row.v for row in found) == total, statement
        assert sorted(row.id for row in spark.table("cached_view").collect()) == [id for id in ids if id > 1], statement
    assert spark.table(cached).columns == ["id", "v", "more"]


def test_a_write_of_a_data_frame_is_seen_by_the_next_query(spark: SparkSession, cached: str) -> None:
    rows = spark.createDataFrame([(5, 5)], "id INT, v INT")
    rows.writeTo(cached).append()
    assert spark.table(cached).count() == 3
    rows.writeTo(cached).using("iceberg").createOrReplace()
    assert spark.table(cached).count() == 1


def test_a_cache_that_cannot_be_made_anew_is_dropped(spark: SparkSession, cached: str) -> None:
    spark.sql(f"SELECT v AS w FROM {cached}").cache().createOrReplaceTempView("cached_column")
    assert spark.table("cached_column").count() == 2
    spark.sql(f"ALTER TABLE {cached} DROP COLUMN v")
    spark.sql(f"INSERT INTO {cached} VALUES (3)")
    assert sorted(row.id for row in spark.table(cached).collect()) == [1, 2, 3]
