"""Tables made of files and metadata that are there already: register_table, snapshot and migrate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from judges.judged import Judged
from judges.pyiceberg_judge import arrow_rows


def call(spark: SparkSession, statement: str) -> list[object]:
    (row,) = spark.sql(f"CALL lake.system.{statement}").collect()
    return list(row)


@pytest.fixture
def by_pyiceberg(spark: SparkSession, tmp_path: Path) -> Path:
    """The newest metadata file of a table that PyIceberg wrote, with a SQL catalog, to a place with odd characters."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/a ž%20b")
    catalog.create_namespace("n")
    rows = spark.sql("SELECT id, concat('s', id) AS s, DATE'2024-02-29' AS d FROM range(3)").toArrow()
    table = catalog.create_table("n.t", rows.schema)
    table.append(rows)
    table.append(rows)
    table.delete("id = 2")
    assert arrow_rows(table.scan().to_arrow()) == [[0, "s0", "2024-02-29"]] * 2 + [[1, "s1", "2024-02-29"]] * 2
    return Path(table.metadata_location.removeprefix("file://"))


def test_a_table_of_another_catalog_by_its_path(spark: SparkSession, by_pyiceberg: Path) -> None:
    """By the metadata file, or by the folder, whose newest file it is."""
    for path in (by_pyiceberg, by_pyiceberg.parents[1], f"file:{by_pyiceberg}", f"file://{by_pyiceberg}"):
        assert spark.read.format("sqlext").load(str(path)).count() == 4


def test_a_registered_table_leaves_the_other_one_alone(judged: Judged, by_pyiceberg: Path) -> None:
    spark, t = judged.spark, judged.table
    before = sorted(by_pyiceberg.parents[1].rglob("*"))
    snapshot_id, rows, files = call(spark, f"register_table('{t}', '{by_pyiceberg}')")
    assert (rows, files) == (4, 2)
    assert spark.sql(f"SELECT snapshot_id FROM {t}.refs").collect()[0].snapshot_id == snapshot_id
    judged.check()
    judged.run("INSERT INTO {table} VALUES (9, 'by sqlext', DATE'2024-03-01')")
    judged.run("DELETE FROM {table} WHERE id = 0")
    judged.run_in_iceberg("UPDATE {table} SET s = 'by iceberg' WHERE id = 1")
    with pytest.raises(Exception, match=r"PURGE is not supported.*gc\.enabled is false"):
        spark.sql(f"DROP TABLE {t} PURGE")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        call(spark, f"register_table('{t}', '{by_pyiceberg}')")
    spark.sql(f"DROP TABLE {t}")
    assert sorted(by_pyiceberg.parents[1].rglob("*")) == before
    assert spark.read.format("sqlext").load(str(by_pyiceberg)).count() == 4


def test_metadata_in_the_tables_own_folder_becomes_the_table(judged: Judged) -> None:
    """As where another catalog kept its tables in the warehouse folder, under its own names of metadata files."""
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id INT) TBLPROPERTIES ('gc.enabled'='true')")
    assert spark.table(t).collect() == []  # nothing of this v1.metadata.json may be taken for the one to come
    spark.sql(f"INSERT INTO {t} VALUES (1)")
    uuid = _uuid(spark, t)
    folder = judged.warehouse.joinpath(*t.split(".")[1:], "metadata")
    (folder / "v2.metadata.json").rename(folder / "00001-6c97e413-d51b-4538-ac70-12fe2a85cb83.metadata.json")
    for name in ("v1.metadata.json", "version-hint.text"):
        (folder / name).unlink()
    metadata_file = next(folder.glob("0*.metadata.json"))
    assert call(spark, f"register_table(table => '{t}', metadata_file => '{metadata_file}')")[1:] == [1, 1]
    judged.check()
    assert _uuid(spark, t) == uuid
    judged.run("INSERT INTO {table} VALUES (2)")


def test_refused_metadata_files(judged: Judged, by_pyiceberg: Path) -> None:
    refused = {
        "/etc/passwd": "it is no .metadata.json file",
        str(by_pyiceberg.parents[1]): "it is no .metadata.json file",
        f"{by_pyiceberg.parent}/00009-x.metadata.json": "the file does not exist",
        "http://host/v1.metadata.json": "UNSUPPORTED_LOCATION",
    }
    for metadata_file, message in refused.items():
        with pytest.raises(Exception, match=message):
            call(judged.spark, f"register_table('{judged.table}', '{metadata_file}')")
    for manifest_list in by_pyiceberg.parent.glob("snap-*.avro"):
        manifest_list.unlink()
    with pytest.raises(Exception, match=r"FILE_NOT_FOUND.*snap-"):
        call(judged.spark, f"register_table('{judged.table}', '{by_pyiceberg}')")
    assert not judged.warehouse.joinpath(*judged.table.split(".")[1:]).exists()


def test_snapshot_of_a_table_of_spark(judged: Judged, tmp_path: Path) -> None:
    spark, t, source = judged.spark, judged.table, "spark_catalog.default.snapshot_source"
    spark.sql(
        f"CREATE TABLE {source} (id INT, st STRUCT<x: INT>, p DATE) USING parquet PARTITIONED BY (p)"
        f" LOCATION '{tmp_path}/a'"
    )
    try:
        spark.sql(f"INSERT INTO {source} VALUES (1, named_struct('x', 1), DATE'2024-02-29'), (2, NULL, NULL)")
        assert call(spark, f"snapshot('{source}', '{t}', properties => map('owner-team', 'a'))") == [2]
        judged.check()
        judged.run("ALTER TABLE {table} RENAME COLUMN st.x TO y")
        judged.run("UPDATE {table} SET st = named_struct('y', 5) WHERE id = 1")
        judged.run("INSERT INTO {table} VALUES (3, NULL, DATE'2024-03-01')")
        properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {t}").collect()}
        wanted = {"gc.enabled": "false", "snapshot": "true", "owner-team": "a"}
        assert {key: properties[key] for key in wanted} == wanted
        spark.sql(f"DROP TABLE {t}")
        assert spark.table(source).count() == 2
    finally:
        spark.sql(f"DROP TABLE {source}")


def test_snapshot_of_a_folder(judged: Judged, tmp_path: Path) -> None:
    spark, t = judged.spark, judged.table
    spark.range(3).write.parquet(f"{tmp_path}/a b")
    assert call(spark, f"snapshot('parquet.`{tmp_path}/a b`', '{t}')")[0] >= 1  # type: ignore[operator]
    judged.check()
    with pytest.raises(Exception, match="would mix their files"):
        call(spark, f"snapshot('parquet.`{judged.warehouse}`', '{t}_other')")
    with pytest.raises(Exception, match=r"location.* is not supported by the catalog"):
        call(spark, f"snapshot('parquet.`{tmp_path}/a b`', '{t}_other', '{tmp_path}/b')")


def test_migrate_a_folder_in_the_warehouse(judged: Judged) -> None:
    spark, t = judged.spark, judged.table
    folder = judged.warehouse.joinpath(*t.split(".")[1:])
    spark.sql("SELECT id, id % 2 AS p FROM range(4)").write.partitionBy("p").parquet(str(folder))
    (folder / "metadata").mkdir()
    # What a process leaves that is killed before its commit.
    shutil.copy(next(folder.rglob("*.parquet")), folder / "metadata" / "left.avro")
    (migrated,) = call(spark, f"migrate('{t}')")
    assert migrated == len(list(folder.rglob("*.parquet")))
    judged.check()
    assert judged.count() == 4
    judged.run("DELETE FROM {table} WHERE p = 1")
    judged.run("INSERT INTO {table} VALUES (9, 9)")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        call(spark, f"migrate('{t}')")
    with pytest.raises(Exception, match="INVALID_SOURCE_TABLE"):
        call(spark, f"migrate('{t}_other')")
    spark.sql(f"DROP TABLE {t}")
    assert not folder.exists()


def _uuid(spark: SparkSession, table: str) -> str:
    (row,) = spark.sql(f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").collect()
    return str(json.loads(Path(row.file.removeprefix("file://")).read_text())["table-uuid"])
