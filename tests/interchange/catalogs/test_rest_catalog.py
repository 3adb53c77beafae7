"""One REST server, asked by sqlext, by Iceberg's REST catalog and by PyIceberg: each reads what the others wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog as PyIcebergCatalog
from pyspark.sql import SparkSession

from catalog.rest_server import RestServer
from interchange.catalogs.judged_preview import check_preview_and_undo
from interchange.catalogs.judged_statistics import check_statistics_and_copy
from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge

NAME = "ocean"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    server = RestServer(tmp_path_factory.mktemp("rest"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def pyiceberg(server: RestServer, spark: SparkSession, iceberg: IcebergJudge) -> PyIcebergCatalog:
    """PyIceberg's view of the catalog that all three name `ocean`; it has the namespace `db`."""
    spark.conf.set(f"spark.sql.catalog.{NAME}", "io.sqlext.Catalog")
    for key, value in server.settings().items():
        spark.conf.set(f"spark.sql.catalog.{NAME}.{key}", value)
    iceberg.add_settings(NAME, server.settings())
    spark.sql(f"CREATE NAMESPACE {NAME}.db")
    return PyIcebergCatalog(NAME, uri=server.uri)


@pytest.mark.parametrize("version", [2, 3])
def test_tables_of_each_are_read_and_changed_by_the_others(
    spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog, version: int
) -> None:
    table = f"{NAME}.db.t{version}"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, v STRING, p INT, PRIMARY KEY (id)) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('format-version'='{version}')"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 'ours', 0), (2, 'ours', 1), (9, 'gone', 1)")
    iceberg.sql(f"INSERT INTO {table} VALUES (3, 'java', 0)")
    spark.sql(f"DELETE FROM {table} WHERE id = 9")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN w INT")
    spark.sql(
        f"MERGE INTO {table} t USING (VALUES (2, 'merged', 1, 7), (5, 'new', 1, 8)) AS s(id, v, p, w) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql(f"ALTER TABLE {table} CREATE TAG before")
    iceberg.sql(f"UPDATE {table} SET w = 1 WHERE id = 1")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    spark.sql(f"INSERT INTO {table} VALUES (6, 'last', 2, 9)")
    expected = [
        [1, "ours", 0, 1],
        [2, "merged", 1, 7],
        [3, "java", 0, None],
        [5, "new", 1, 8],
        [6, "last", 2, 9],
    ]
    assert canonical_rows(spark.table(table)) == expected == iceberg.sql(f"SELECT * FROM {table}")
    assert len(iceberg.sql(f"SELECT * FROM {table} VERSION AS OF 'before'")) == 4
    if version == 2:
        assert sorted(pyiceberg.load_table(f"db.t{version}").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 5, 6]


def test_tables_are_replaced_renamed_and_dropped(
    spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog
) -> None:
    spark.sql(f"CREATE TABLE {NAME}.db.a AS SELECT 1 AS id")
    spark.sql(f"CREATE OR REPLACE TABLE {NAME}.db.a AS SELECT 'x' AS name, 2 AS id")
    pyiceberg.create_table("db.snake", pa.schema([("id", pa.int64())])).append(pa.table({"id": [4]}))
    spark.sql(f"INSERT INTO {NAME}.db.snake SELECT id FROM {NAME}.db.a")
    spark.sql(f"ALTER TABLE {NAME}.db.snake RENAME TO {NAME}.db.boa")
    assert iceberg.sql(f"SELECT * FROM {NAME}.db.boa") == [[2], [4]]
    assert iceberg.sql(f"SELECT * FROM {NAME}.db.a") == [["x", 2]]
    spark.sql(f"DROP TABLE {NAME}.db.a PURGE")
    assert not pyiceberg.table_exists("db.a")


def test_views_go_both_ways(spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog) -> None:
    spark.sql(f"CREATE TABLE {NAME}.db.seen AS SELECT 1 AS id UNION ALL SELECT 2")
    spark.sql(f"CREATE VIEW {NAME}.db.ours AS SELECT id FROM {NAME}.db.seen WHERE id > 1")
    spark.sql(f"ALTER VIEW {NAME}.db.ours AS SELECT id * 10 AS id FROM {NAME}.db.seen WHERE id > 1")
    iceberg.sql(f"CREATE VIEW {NAME}.db.theirs AS SELECT id + 10 AS id FROM {NAME}.db.seen")
    assert iceberg.sql(f"SELECT * FROM {NAME}.db.ours") == [[20]]
    assert canonical_rows(spark.sql(f"SELECT * FROM {NAME}.db.theirs")) == [[11], [12]]
    spark.sql(f"DROP VIEW {NAME}.db.theirs")


def test_statistics_and_the_copy_of_a_table(
    spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog
) -> None:
    check_statistics_and_copy(spark, iceberg, NAME)


@pytest.mark.turns(1, pool="previews of catalogs")
def test_previews_and_undone_commits(spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog) -> None:
    check_preview_and_undo(spark, iceberg, NAME)
