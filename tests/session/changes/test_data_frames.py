"""DataFrame reads and writes, which come through Spark's own analysis rather than through a statement's text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    """A table of two partitions with a row in each."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, kind STRING) PARTITIONED BY (kind)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    return table_name


def rows_of(spark: SparkSession, table: str) -> list[list[object]]:
    return canonical_rows(spark.table(table))


def frame(spark: SparkSession, text: str, *names: str) -> DataFrame:
    return spark.sql(f"SELECT * FROM VALUES {text} AS v({', '.join(names)})")


def test_append_goes_by_name(spark: SparkSession, iceberg: IcebergJudge, table: str) -> None:
    frame(spark, "('c', 3)", "kind", "id").writeTo(table).append()
    assert rows_of(spark, table) == [[1, "a"], [2, "b"], [3, "c"]] == iceberg.sql(f"SELECT * FROM {table}")


def test_overwrite_partitions_leaves_the_others(spark: SparkSession, iceberg: IcebergJudge, table: str) -> None:
    frame(spark, "(9, 'a')", "id", "kind").writeTo(table).overwritePartitions()
    assert rows_of(spark, table) == [[2, "b"], [9, "a"]] == iceberg.sql(f"SELECT * FROM {table}")


@pytest.mark.parametrize("condition", ["kind = 'a'", "id IN (1, 7)", "id < 2 AND kind IS NOT NULL", "NOT id > 1"])
def test_overwrite_by_a_condition(spark: SparkSession, table: str, condition: str) -> None:
    frame(spark, "(9, 'z')", "id", "kind").writeTo(table).overwrite(F.expr(condition))
    assert rows_of(spark, table) == [[2, "b"], [9, "z"]]


@pytest.mark.parametrize(
    ("condition", "left", "deletes"),
    [
        ("day = DATE'2024-01-02'", 2, 0),
        ("day >= '2024-01-01' AND day < DATE'2024-01-02' + INTERVAL 1 DAY", 0, 0),
        ("id BETWEEN 1 AND 2", 2, 0),
        ("id = 2", 3, 1),
        ("id = 2 OR day = DATE'2024-01-02'", 1, 1),
        ("id + 1 = 5", 3, 0),
        ("id % 2 = 0", 2, 1),
        ("day IS NOT NULL AND NOT (id <=> 4)", 1, 0),
        ("id > 99", 4, 0),
    ],
)
def test_overwrite_by_a_condition_drops_files_where_all_rows_go(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, condition: str, left: int, deletes: int
) -> None:
    """Files: ids 1 and 2 of the first day, 3 and 4 of the second, each alone in its file."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, day DATE) PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-01'), (3, DATE'2024-01-02')")
    spark.sql(f"INSERT INTO {table_name} VALUES (4, DATE'2024-01-02')")
    frame(spark, "(9, DATE'2024-02-02')", "id", "day").writeTo(table_name).overwrite(F.expr(condition))
    rows = rows_of(spark, table_name)
    assert len(rows) == left + 1
    assert rows == iceberg.sql(f"SELECT * FROM {table_name}")
    assert spark.sql(f"SELECT * FROM {table_name}.files WHERE content > 0").count() == deletes


def test_overwrite_by_a_condition_in_format_version_1(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str
) -> None:
    properties = "TBLPROPERTIES ('format-version'='1')"
    spark.sql(f"CREATE TABLE {table_name} (id INT, kind STRING) PARTITIONED BY (kind) {properties}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'a'), (3, 'b'), (NULL, 'b')")
    rows = frame(spark, "(9, 'a')", "id", "kind")
    rows.writeTo(table_name).overwrite(F.expr("id = 1"))
    assert rows_of(spark, table_name) == [[2, "a"], [3, "b"], [9, "a"], [None, "b"]]
    frame(spark, "(7, 'b')", "id", "kind").where("id < 0").writeTo(table_name).overwrite(F.expr("id + 0 = 3"))
    assert rows_of(spark, table_name) == [[2, "a"], [9, "a"], [None, "b"]] == iceberg.sql(f"SELECT * FROM {table_name}")
    assert list(warehouse.joinpath(*table_name.split(".")[1:]).rglob("*delete*")) == []
    rows.writeTo(table_name).overwrite(F.expr("concat(kind, '') = 'a'"))
    assert rows_of(spark, table_name) == [[9, "a"], [None, "b"]] == iceberg.sql(f"SELECT * FROM {table_name}")


def test_insert_into_goes_by_position(spark: SparkSession, table: str) -> None:
    frame(spark, "(3, 'c')", "x", "y").write.insertInto(table)
    assert rows_of(spark, table) == [[1, "a"], [2, "b"], [3, "c"]]


def test_insert_into_overwrite_replaces_all(spark: SparkSession, table: str) -> None:
    frame(spark, "(3, 'c')", "x", "y").write.insertInto(table, overwrite=True)
    assert rows_of(spark, table) == [[3, "c"]]


@pytest.mark.parametrize("beside", ["sqlext", "parquet"])
def test_inserts_of_one_statement(spark: SparkSession, table_name: str, beside: str) -> None:
    """Into tables of either kind; what one of them writes the others do not read."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    other = f"{table_name}_other" if beside == "sqlext" else table_name.rpartition(".")[2]
    spark.sql(f"CREATE TABLE {other} (id INT, v STRING) {'USING parquet' if beside == 'parquet' else ''}")
    values = "FROM VALUES (1, 'a'), (2, 'b') AS x(id, v)"
    assert (
        spark.sql(f"{values} INSERT INTO {table_name} SELECT * INSERT INTO {other} SELECT * WHERE id = 1").count() == 0
    )
    assert sorted(spark.table(table_name).collect()) == [(1, "a"), (2, "b")]
    assert spark.table(other).collect() == [(1, "a")]
    spark.sql(f"FROM {table_name} INSERT OVERWRITE {table_name} SELECT id + 5, v INSERT INTO {table_name} SELECT id, v")
    assert sorted(spark.table(table_name).collect()) == [(1, "a"), (2, "b"), (6, "a"), (7, "b")]
    with_name = (
        f"WITH w AS (SELECT 9 AS id, 'w' AS v) FROM w INSERT INTO {table_name} SELECT * INSERT INTO {other} SELECT *"
    )
    assert spark.sql(with_name).count() == 0
    assert spark.table(table_name).where("id = 9").count() == spark.table(other).where("id = 9").count() == 1
    if beside == "parquet":
        spark.sql(f"DROP TABLE {other}")


def test_save_as_table_appends_by_name(spark: SparkSession, table: str) -> None:
    frame(spark, "('c', 3)", "kind", "id").write.mode("append").saveAsTable(table)
    assert rows_of(spark, table) == [[1, "a"], [2, "b"], [3, "c"]]


def test_save_as_table_makes_a_table(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    frame(spark, "(1, 'a')", "id", "kind").write.saveAsTable(table_name)
    assert rows_of(spark, table_name) == [[1, "a"]] == iceberg.sql(f"SELECT * FROM {table_name}")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame(spark, "(1, 'a')", "id", "kind").write.saveAsTable(table_name)


def test_create_makes_a_partitioned_table(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    rows = frame(spark, "(1, DATE'2024-01-31'), (2, DATE'2024-02-01'), (3, NULL)", "id", "day")
    writer = rows.writeTo(table_name).using("iceberg").tableProperty("owner-team", "data")
    writer.partitionedBy(F.partitioning.months("day"), F.partitioning.bucket(2, "id")).create()
    expected = [[1, "2024-01-31"], [2, "2024-02-01"], [3, None]]
    assert rows_of(spark, table_name) == expected == iceberg.sql(f"SELECT * FROM {table_name}")
    shown = spark.sql(f"SHOW CREATE TABLE {table_name}").first()
    assert shown is not None
    assert "PARTITIONED BY (months(`day`), bucket(2, `id`))" in shown[0]
    assert "'owner-team' = 'data'" in shown[0]


def versions(warehouse: Path, table: str) -> list[str]:
    """The metadata files that a table's commits have made."""
    return sorted(path.name for path in warehouse.joinpath(*table.split(".")[1:], "metadata").glob("*.metadata.json"))


def test_create_is_one_commit(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    """Also for rows that executors write."""
    spark.range(3_000_000).selectExpr("id", "concat('row ', id) AS name").writeTo(table_name).create()
    assert versions(warehouse, table_name) == ["v1.metadata.json"]
    assert spark.table(table_name).count() == 3_000_000
    assert [row.operation for row in spark.table(f"{table_name}.snapshots").collect()] == ["append"]


@pytest.mark.parametrize("way", ["replace", "createOrReplace", "saveAsTable"])
def test_a_replaced_table_keeps_its_history(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table: str, way: str
) -> None:
    before = versions(warehouse, table)
    first = spark.table(f"{table}.snapshots").first()
    rows = spark.table(table).selectExpr("kind AS name", "id * 10L AS big")
    if way == "saveAsTable":
        rows.write.mode("overwrite").partitionBy("name").saveAsTable(table)
    else:
        getattr(rows.writeTo(table).partitionedBy(F.col("name")), way)()
    assert rows_of(spark, table) == [["a", 10], ["b", 20]] == iceberg.sql(f"SELECT * FROM {table}")
    assert len(versions(warehouse, table)) == len(before) + 1
    assert first is not None
    old = spark.sql(f"SELECT * FROM {table} VERSION AS OF {first.snapshot_id}")
    assert canonical_rows(old) == [[1, "a"], [2, "b"]]


def test_a_replacement_that_fails_leaves_the_table(spark: SparkSession, warehouse: Path, table: str) -> None:
    files = sorted(warehouse.joinpath(*table.split(".")[1:]).rglob("*"))
    failing = spark.range(3).selectExpr("CAST(raise_error('stop here') AS INT) AS id")
    with pytest.raises(Exception, match="stop here"):
        failing.writeTo(table).createOrReplace()
    assert rows_of(spark, table) == [[1, "a"], [2, "b"]]
    assert sorted(warehouse.joinpath(*table.split(".")[1:]).rglob("*")) == files


def test_replace_is_refused_where_no_table_is(spark: SparkSession, table_name: str) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.range(1).writeTo(table_name).replace()
    assert not spark.catalog.tableExists(table_name)


def test_what_a_data_frame_asks_of_a_new_table_is_checked(spark: SparkSession, table_name: str) -> None:
    rows = spark.range(1)
    for writer, condition in [
        (rows.writeTo(table_name).using("orc"), "UNSUPPORTED_PROVIDER"),
        (rows.writeTo(table_name).tableProperty("write.format.default", "orc"), "INVALID_TABLE_PROPERTY"),
    ]:
        with pytest.raises(AnalysisException) as refusal:
            writer.create()
        assert refusal.value.getCondition() == condition
    assert not spark.catalog.tableExists(table_name)


@pytest.mark.parametrize(
    "make",
    [
        lambda rows, table: rows.writeTo(table).using("avro").create(),
        lambda rows, table: rows.writeTo(table).using("Delta").createOrReplace(),
        lambda rows, table: rows.write.format("orc").saveAsTable(table),
        lambda rows, table: rows.sparkSession.sql(f"CREATE TABLE IDENTIFIER('{table}') (id INT) USING orc"),
        lambda rows, table: rows.sparkSession.catalog.createTable(table, source="orc", schema=rows.schema),
    ],
)
def test_a_format_that_is_named_is_icebergs_or_that_of_its_data_files(
    spark: SparkSession, table_name: str, make: Callable[[DataFrame, str], object]
) -> None:
    with pytest.raises(AnalysisException) as refusal:
        make(spark.range(1), table_name)
    assert refusal.value.getCondition() == "UNSUPPORTED_PROVIDER"
    assert not spark.catalog.tableExists(table_name)


@pytest.mark.parametrize(
    "make",
    [
        lambda rows, table: rows.writeTo(table).using("sqlext").create(),
        lambda rows, table: rows.writeTo(table).using("Parquet").create(),
        lambda rows, table: rows.sparkSession.sql(f"CREATE TABLE {table} (id INT) USING parquet"),
        lambda rows, table: rows.write.format("sqlext").saveAsTable(table),
        lambda rows, table: rows.sparkSession.catalog.createTable(table, schema=rows.schema),
    ],
)
def test_formats_that_make_an_iceberg_table(
    spark: SparkSession, table_name: str, make: Callable[[DataFrame, str], object]
) -> None:
    make(spark.range(1), table_name)
    assert spark.catalog.tableExists(table_name)


def test_save_as_table_that_ignores_leaves_the_table(spark: SparkSession, table: str) -> None:
    spark.range(1).write.mode("ignore").saveAsTable(table)
    assert rows_of(spark, table) == [[1, "a"], [2, "b"]]


def test_create_is_refused_where_a_table_is(spark: SparkSession, table: str) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.range(1).writeTo(table).create()
    assert rows_of(spark, table) == [[1, "a"], [2, "b"]]


def test_a_failing_create_leaves_no_table(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    with pytest.raises(Exception, match="stop here"):
        spark.range(3).selectExpr("CAST(raise_error('stop here') AS INT) AS id").writeTo(table_name).create()
    assert not spark.catalog.tableExists(table_name)
    assert not warehouse.joinpath(*table_name.split(".")[1:]).exists()


def test_a_column_too_many_is_refused(spark: SparkSession, table: str) -> None:
    with pytest.raises(AnalysisException) as refusal:
        frame(spark, "(3, 'c', 1)", "id", "kind", "more").writeTo(table).append()
    assert (refusal.value.getCondition() or "").startswith(("INSERT_COLUMN_ARITY_MISMATCH", "INCOMPATIBLE_DATA"))
    assert rows_of(spark, table) == [[1, "a"], [2, "b"]]


def test_a_table_is_read_by_its_folder(spark: SparkSession, warehouse: Path, table: str) -> None:
    folder = warehouse.joinpath(*table.split(".")[1:])
    first = spark.table(f"{table}.snapshots").first()
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    reader = spark.read.format("sqlext")
    assert canonical_rows(reader.load(str(folder))) == [[2, "b"]]
    assert canonical_rows(reader.load(f"file://{folder}")) == [[2, "b"]]
    assert canonical_rows(reader.load(str(folder / "metadata" / "v2.metadata.json"))) == [[1, "a"], [2, "b"]]
    assert first is not None
    pinned = reader.option("versionAsOf", first["snapshot_id"]).load(str(folder))
    assert canonical_rows(pinned.where("kind = 'a'")) == [[1, "a"]]
    spark.read.format("sqlext").load(str(folder)).selectExpr("id + 10 AS id", "kind").writeTo(table).append()
    assert rows_of(spark, table) == [[12, "b"], [2, "b"]]


def test_a_folder_without_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException) as refusal:
        spark.read.format("sqlext").load(str(tmp_path))
    assert refusal.value.getCondition() == "NO_TABLE_AT_LOCATION"


def test_a_table_opened_by_its_path_is_not_written(spark: SparkSession, warehouse: Path, table: str) -> None:
    folder = warehouse.joinpath(*table.split(".")[1:])
    with pytest.raises(AnalysisException, match="PATH_TABLE_READ_ONLY"):
        frame(spark, "(3, 'c')", "id", "kind").write.format("sqlext").mode("append").save(str(folder))
    assert rows_of(spark, table) == [[1, "a"], [2, "b"]]


def test_a_frame_shows_the_version_of_its_run(spark: SparkSession, table: str) -> None:
    """A DataFrame made before a commit shows the new rows; one that has run keeps its plan."""
    before, run = spark.table(table), spark.table(table)
    assert len(run.collect()) == 2
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    assert before.count() == spark.table(table).count() == run.count() == 3
    assert len(run.collect()) == 2
