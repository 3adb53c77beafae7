"""Clones on the files of other tables: beside Iceberg's own runtime, in a database, in transactions, through copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge


def _clone_tags(spark: SparkSession, table: str) -> int:
    return spark.sql(f"SELECT * FROM {table}.refs WHERE name LIKE 'sqlext.clone.%'").count()


def _ids(spark: SparkSession, table: str) -> list[int]:
    return sorted(row.id for row in spark.table(table).collect())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_icebergs_runtime_expires_nothing_of_a_clone(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, version: int
) -> None:
    clone, name = f"{table_name}_clone", table_name.partition(".")[2]
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING) TBLPROPERTIES ('format-version'='{version}')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"CREATE TABLE {clone} SHALLOW CLONE {table_name}")
    iceberg.sql(f"INSERT OVERWRITE {table_name} VALUES (9, 'z')")
    iceberg.sql(f"CALL lake.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP '2999-01-01 00:00:00')")
    assert len(iceberg.sql(f"SELECT * FROM {clone}")) == 2
    iceberg.sql(f"INSERT INTO {clone} VALUES (3, 'c')")
    spark.sql(f"UPDATE {clone} SET v = 'd' WHERE id = 1")
    assert (_ids(spark, clone), _ids(spark, table_name)) == ([1, 2, 3], [9])
    spark.sql(f"ALTER TABLE {clone} ADD COLUMN more INT")
    second = f"{table_name}_second"
    spark.sql(f"CREATE TABLE {second} SHALLOW CLONE {clone}")
    with pytest.raises(PySparkException, match="TABLE_HAS_CLONES"):
        spark.sql(f"DROP TABLE {clone}")
    spark.sql(f"DROP TABLE {second}")
    spark.sql(f"DROP TABLE {clone}")
    assert _clone_tags(spark, table_name) == 0
    spark.sql(f"DROP TABLE {table_name} PURGE")


def test_in_a_database_and_no_transaction(spark: SparkSession, tmp_path: Path) -> None:
    settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    spark.conf.set("spark.sql.catalog.clones", "io.sqlext.Catalog")
    for name, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.clones.{name}", value)
    spark.sql("CREATE NAMESPACE clones.db")
    spark.sql("CREATE TABLE clones.db.t (id INT)")
    spark.sql("INSERT INTO clones.db.t VALUES (1)")
    spark.sql("CREATE TABLE clones.db.c SHALLOW CLONE clones.db.t")
    spark.sql("BEGIN")
    with pytest.raises(PySparkException, match="NOT_IN_TRANSACTION"):
        spark.sql("CREATE TABLE clones.db.d SHALLOW CLONE clones.db.t")
    spark.sql("INSERT INTO clones.db.c VALUES (2)")
    spark.sql("ROLLBACK")
    assert (_ids(spark, "clones.db.c"), _ids(spark, "clones.db.t")) == ([1], [1])
    assert _clone_tags(spark, "clones.db.t") == 1
    with pytest.raises(PySparkException, match="TABLE_HAS_CLONES"):
        spark.sql("DROP TABLE clones.db.t PURGE")
    with pytest.raises(PySparkException, match="TABLE_HAS_CLONES"):
        spark.sql("ALTER TABLE clones.db.t RENAME TO clones.db.u")
    spark.sql("DROP TABLE clones.db.c")
    assert _clone_tags(spark, "clones.db.t") == 0
    spark.sql("ALTER TABLE clones.db.t RENAME TO clones.db.u")
    assert spark.sql("DROP TABLE clones.db.u").collect() == []


def test_icebergs_runtime_collects_a_clone_that_is_free_of_its_source(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    clone, name = f"{table_name}_clone", table_name.partition(".")[2]
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    spark.sql(f"CREATE TABLE {clone} SHALLOW CLONE {table_name}")
    with pytest.raises(PySparkException, match="TABLE_PROPERTY_REFUSED"):
        spark.sql(f"ALTER TABLE {clone} SET TBLPROPERTIES ('gc.enabled'='true')")
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}_clone', options => map('rewrite-all', 'true'))")
    spark.sql(f"INSERT INTO {clone} VALUES (3)")
    ever = "older_than => TIMESTAMP '2999-01-01 00:00:00'"
    spark.sql(f"CALL lake.system.expire_snapshots(table => '{name}_clone', {ever})")
    spark.sql(f"ALTER TABLE {clone} SET TBLPROPERTIES ('gc.enabled'='true')")
    iceberg.sql(f"INSERT OVERWRITE {clone} VALUES (9)")
    iceberg.sql(f"CALL lake.system.expire_snapshots(table => '{name}_clone', {ever})")
    assert (_ids(spark, clone), _ids(spark, table_name)) == ([9], [1, 2])
    assert len(iceberg.sql(f"SELECT * FROM {table_name}")) == 2


def test_copies_of_a_clone_do_not_release_its_source(spark: SparkSession, table_name: str) -> None:
    clone = f"{table_name}_clone"
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"CREATE TABLE {clone} SHALLOW CLONE {table_name}")
    shown = spark.sql(f"SHOW CREATE TABLE {clone}").collect()[0][0]
    assert "sqlext.clone" not in shown
    spark.sql(f"CREATE TABLE {table_name}_like LIKE {clone}")
    spark.sql(f"DROP TABLE {table_name}_like")
    assert _clone_tags(spark, table_name) == 1
    with pytest.raises(PySparkException, match="CLONE_NOT_POSSIBLE"):
        spark.sql(f"CREATE TABLE {table_name}_x SHALLOW CLONE {clone}.ro")
