"""Branches and tags through the DataFrame API, and as Iceberg's own runtime sees them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge


@pytest.fixture
def branched(spark: SparkSession, table_name: str) -> str:
    """Rows 1 on main, 1 and 2 on the branch `b`; the tag `v` is of before a column was there."""
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG v")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    spark.createDataFrame([(2,)], "id INT").writeTo(f"{table_name}.branch_b").append()
    return table_name


def test_read_options(spark: SparkSession, branched: str) -> None:
    def ids(**options: object) -> list[int]:
        reader = spark.read
        for key, value in options.items():
            reader = reader.option(key.replace("_", "-"), value)
        return sorted(row.id for row in reader.table(branched).collect())

    assert ids() == [1]
    assert ids(branch="b") == [1, 2]
    assert ids(tag="v") == [1]
    first = spark.sql(f"SELECT snapshot_id FROM {branched}.refs WHERE name = 'b'").collect()[0][0]
    assert ids(snapshot_id=first) == [1, 2]
    assert ids(as_of_timestamp=4102444800000) == [1]
    with pytest.raises(Exception, match="TIME_TRAVEL_TWICE"):
        ids(branch="b", tag="v")
    with pytest.raises(Exception, match="REFERENCE_NOT_FOUND"):
        ids(branch="none")


def test_a_branch_may_have_any_name(spark: SparkSession, branched: str) -> None:
    """Even one that reads like a snapshot or a file."""
    first = spark.sql(f"SELECT snapshot_id FROM {branched}.refs WHERE name = 'v'").collect()[0][0]
    spark.sql(f"ALTER TABLE {branched} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    for name in (f"/{first}", f"/{first}/changelog", "a/b", "//", "v3.metadata.json"):
        spark.sql(f"ALTER TABLE {branched} CREATE BRANCH `{name}`")
        spark.conf.set("spark.wap.branch", name)
        try:
            spark.sql(f"INSERT INTO {branched} VALUES (3), (4)")
            spark.sql(f"UPDATE {branched} SET id = id + 10 WHERE id > 2")
            spark.sql(
                f"MERGE INTO {branched} AS t USING (SELECT 13 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE"
            )
        finally:
            spark.conf.unset("spark.wap.branch")
        assert sorted(canonical_rows(spark.read.option("branch", name).table(branched))) == [[1], [14]]
    assert canonical_rows(spark.table(branched)) == [[1]]


def test_the_write_option_makes_a_branch_that_is_not_there_as_icebergs_does(
    spark: SparkSession, iceberg: IcebergJudge, branched: str
) -> None:
    spark.createDataFrame([(2,)], "id INT").writeTo(branched).option("branch", "ours").append()
    iceberg.sql(f"INSERT INTO {branched} WITH ('branch'='theirs') VALUES (2)")
    for branch in ("ours", "theirs"):
        assert canonical_rows(spark.table(f"{branched}.branch_{branch}")) == [[1], [2]]
    assert canonical_rows(spark.table(branched)) == [[1]]
    with pytest.raises(Exception, match="REFERENCE_NOT_FOUND"):
        spark.sql(f"INSERT INTO {branched}.branch_none VALUES (2)")


def test_write_option(spark: SparkSession, branched: str) -> None:
    spark.createDataFrame([(3,)], "id INT").writeTo(branched).option("branch", "b").append()
    assert spark.table(f"{branched}.branch_b").count() == 3
    with pytest.raises(Exception, match="PLACE_READ_ONLY"):
        spark.createDataFrame([(3,)], "id INT").writeTo(f"{branched}.tag_v").append()


def test_iceberg_reads_the_same(spark: SparkSession, iceberg: IcebergJudge, branched: str) -> None:
    spark.sql(f"DELETE FROM {branched}.branch_b WHERE id = 1")
    for place in ("VERSION AS OF 'b'", "VERSION AS OF 'v'", ""):
        query = f"SELECT * FROM {branched} {place}"
        assert canonical_rows(spark.sql(query)) == iceberg.sql(query), place
    query = f"SELECT * FROM {branched}.refs"
    assert canonical_rows(spark.sql(query)) == iceberg.sql(query)


def test_sqlext_reads_and_writes_branches_of_iceberg(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    iceberg.sql(f"CREATE TABLE {table_name} (id INT) USING iceberg TBLPROPERTIES ('format-version'='2')")
    iceberg.sql(f"INSERT INTO {table_name} VALUES (1)")
    iceberg.sql(f"ALTER TABLE {table_name} CREATE BRANCH b RETAIN 3 DAYS")
    iceberg.sql(f"INSERT INTO {table_name}.branch_b VALUES (2)")
    spark.sql(f"INSERT INTO {table_name}.branch_b VALUES (3)")
    spark.sql(f"CALL lake.system.fast_forward('{table_name}', 'main', 'b')")
    assert iceberg.sql(f"SELECT * FROM {table_name}") == [[1], [2], [3]]


@pytest.mark.parametrize("how", ["dropped", "replaced"])
def test_rows_are_deleted_whose_partition_column_is_gone(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, how: str
) -> None:
    properties = "TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    spark.sql(f"CREATE TABLE {table_name} (id INT, b STRING) PARTITIONED BY (truncate(2, b)) {properties}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'one'), (2, 'only'), (3, 'onto')")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH old")
    if how == "dropped":
        spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD truncate(2, b)")
        spark.sql(f"ALTER TABLE {table_name} DROP COLUMN b")
    else:
        spark.sql(f"CREATE OR REPLACE TABLE {table_name} {properties} AS SELECT 7 AS id")
    spark.sql(f"DELETE FROM {table_name}.branch_old WHERE _pos = 1")
    of_branch = f"SELECT * FROM {table_name}.branch_old"
    left = canonical_rows(spark.sql(of_branch))
    assert left == iceberg.sql(of_branch)
    assert len(left) == 2
