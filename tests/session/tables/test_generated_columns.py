"""Generated columns are computed by every way to write rows, and recomputed when a row changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sqlext.local
from judges.iceberg import IcebergJudge
from sqlext.errors import UnsupportedError

COLUMNS = "id INT, n INT, note STRING, twice INT GENERATED ALWAYS AS (n * 2)"
WAYS = [("1", "copy-on-write"), ("2", "merge-on-read"), ("2", "copy-on-write"), ("3", "auto")]


def _wrong(spark: SparkSession, table: str) -> list[Any]:
    return spark.sql(f"SELECT * FROM {table} WHERE NOT twice <=> n * 2").collect()


def _frame(spark: SparkSession, *rows: tuple[Any, ...], columns: str = "id INT, n INT, note STRING") -> DataFrame:
    return spark.createDataFrame(list(rows), columns)


@pytest.mark.parametrize(("version", "mode"), WAYS)
def test_changes(spark: SparkSession, table_name: str, version: str, mode: str) -> None:
    modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{version}', {modes})"
    )
    spark.sql(f"INSERT INTO {table_name} (id, n) SELECT id, id FROM range(20)")
    for statement in (
        "UPDATE {t} SET note = 'x' WHERE id = 1",
        "UPDATE {t} SET n = n + 1 WHERE id < 5",
        "DELETE FROM {t} WHERE id = 3",
        "MERGE INTO {t} USING (SELECT 4 AS id, 9 AS n) s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n",
        "MERGE INTO {t} USING (SELECT 1 AS id) s ON {t}.id = s.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = NULL",
        "MERGE INTO {t} USING (SELECT 40 AS id, 9 AS n, 's' AS note UNION ALL SELECT 1, 2, 't') s ON {t}.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "INSERT INTO {t} (id, n) VALUES (40, 3), (41, 4) ON CONFLICT (id) DO UPDATE SET n = excluded.n * 2",
        "UPSERT INTO {t} (id, n) SELECT id, 7 FROM range(3)",
    ):
        spark.sql(statement.format(t=table_name))
        assert _wrong(spark, table_name) == [], statement
    assert spark.table(table_name).where("twice IS NOT NULL").count() >= 3


@pytest.mark.parametrize("column", ["n", "twice"])
def test_no_write_widens_what_a_value_was_computed_from(spark: SparkSession, table_name: str, column: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS})")
    rows = f"SELECT 1 AS id, CAST(5 AS BIGINT) AS {column}"
    with pytest.raises(PySparkException, match="COLUMN_IN_USE"):
        spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {table_name} BY NAME {rows}")
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {table_name} BY NAME SELECT 1 AS id, 5 AS n, 'x' AS more")
    assert spark.table(table_name).first() == (1, 5, None, 10, "x")


def test_data_frames_and_streams(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id))")
    given = "id INT, n INT, note STRING, twice INT"
    _frame(spark, (1, 1, "a")).writeTo(table_name).append()
    _frame(spark, (2, 2, "a", 4), (3, 3, "a", None), columns=given).writeTo(table_name).append()
    _frame(spark, (3, 3, "b", 6), columns=given).write.insertInto(table_name)
    _frame(spark, (1, 5, "b")).writeTo(table_name).option("upsert-enabled", "true").append()
    _frame(spark, (9, 9, "b")).writeTo(table_name).overwrite(F.col("id") == 3)
    source = _frame(spark, (1, 6, "c"), (4, 4, "c")).alias("s")
    source = source.withColumn("twice", F.lit(None).cast("int")).alias("s")  # Spark asks for all columns of a star
    source.mergeInto(
        table_name, F.expr(f"s.id = {table_name}.id")
    ).whenMatched().updateAll().whenNotMatched().insertAll().merge()
    source_table = f"{table_name}_source"
    spark.sql(f"CREATE TABLE {source_table} (id INT, n INT)")
    spark.sql(f"INSERT INTO {source_table} VALUES (1, 70), (8, 80)")
    writer = spark.readStream.table(source_table).writeStream.outputMode("update")
    writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).toTable(table_name).awaitTermination()
    assert _wrong(spark, table_name) == []
    found = sorted((row.id, row.n, row.twice) for row in spark.table(table_name).collect())
    assert found == [(1, 70, 140), (2, 2, 4), (4, 4, 8), (8, 80, 160), (9, 9, 18)]
    for write in (
        lambda rows: rows.writeTo(table_name).append(),
        lambda rows: rows.write.mode("overwrite").insertInto(table_name),
        lambda rows: rows.writeTo(table_name).option("upsert-enabled", "true").append(),
    ):
        with pytest.raises(PySparkException, match="GENERATED_COLUMN_VIOLATION"):
            write(_frame(spark, (1, 1, "a", 3), columns=given))


@pytest.mark.parametrize("mode", ["resolved", "equality"])
def test_upserts(spark: SparkSession, table_name: str, mode: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='{mode}')")
    spark.sql(f"UPSERT INTO {table_name} (id, n) VALUES (1, 1), (2, 2)")
    spark.sql(f"UPSERT INTO {table_name} (id, n) SELECT id, 5 FROM range(2)")
    spark.sql(f"UPSERT INTO {table_name} (id, n, _row_kind) VALUES (2, 2, '-D'), (3, 3, '+I')")
    assert _wrong(spark, table_name) == []
    assert sorted(row.id for row in spark.table(table_name).collect()) == [0, 1, 3]


@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_changelogs_have_the_values(spark: SparkSession, table_name: str, producer: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='{producer}')"
    )
    spark.sql(f"INSERT INTO {table_name} (id, n) VALUES (1, 1), (2, 2)")
    spark.sql(f"UPSERT INTO {table_name} (id, n) VALUES (1, 10), (3, 3)")
    spark.sql(f"UPSERT INTO {table_name} (id, n) SELECT id, 20 FROM range(2, 4)")
    spark.sql(f"UPSERT INTO {table_name} (id, n, _row_kind) VALUES (3, 20, '-U'), (3, 30, '+U'), (2, 20, '-D')")
    spark.sql(f"UPDATE {table_name} SET n = 7 WHERE id = 1")
    changes = spark.sql(f"SELECT * FROM table_changes('{table_name}')").collect()
    assert [change for change in changes if change.twice != change.n * 2] == []
    assert {(3, 60), (1, 14)} <= {(change.id, change.twice) for change in changes}
    assert len(changes) >= 8


@pytest.mark.parametrize(("kinds", "kind"), [("", ""), (", _row_kind", ", '+I'")])
def test_a_check_beside_row_kinds(spark: SparkSession, table_name: str, kinds: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, n INT, CHECK (n > 0), PRIMARY KEY (id))")
    for n, ends in ((1, True), (0, False)):
        upsert = f"UPSERT INTO {table_name} (id, n{kinds}) VALUES (3, {n}{kind})"
        if ends:
            spark.sql(upsert)
            continue
        with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
            spark.sql(upsert)
    assert spark.table(table_name).collect() == [(3, 1)]


def test_rows_of_other_engines_are_read_and_mended(spark: SparkSession, table_name: str, iceberg: IcebergJudge) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS})")
    spark.sql(f"INSERT INTO {table_name} (id, n) VALUES (3, 3)")
    iceberg.sql(f"INSERT INTO {table_name} VALUES (1, 1, 'a', 7), (2, 2, 'a', NULL)")
    assert sorted(row.id for row in _wrong(spark, table_name)) == [1, 2]
    spark.sql(f"UPDATE {table_name} SET note = 'b'")
    assert _wrong(spark, table_name) == []
    assert spark.table(table_name).count() == 3


def test_without_a_jvm_such_tables_are_read_and_not_written(
    spark: SparkSession, table_name: str, warehouse: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS})")
    spark.sql(f"INSERT INTO {table_name} (id, n) VALUES (3, 3)")
    lake = sqlext.local.open(str(warehouse), {"care": "none"})
    table = lake.table(table_name.partition(".")[2])
    assert table.to_arrow().column("twice").to_pylist() == [6]
    for change in (
        lambda: table.append([{"id": 1, "n": 1}]),
        lambda: lake.create_table(f"CREATE TABLE db.g ({COLUMNS})"),
    ):
        with pytest.raises(UnsupportedError) as refused:
            change()
        assert refused.value.condition == "LOCAL_NEEDS_SPARK"
