"""One catalog in a database, opened by sqlext, Iceberg's JDBC catalog and PyIceberg: each reads what others wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog as PyIcebergCatalog
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from catalog.postgres_server import USER, PostgresServer
from interchange.catalogs.judged_preview import check_preview_and_undo
from interchange.catalogs.judged_statistics import check_statistics_and_copy
from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("jdbc")
    settings = {"type": "jdbc", "warehouse": f"file://{folder}/w", "jdbc.schema-version": "V1"}
    if request.param == "sqlite":
        return {**settings, "uri": f"jdbc:sqlite:{folder}/catalog.db"}
    return {**settings, **request.getfixturevalue("postgres").new_database()}


@pytest.fixture(scope="module")
def name(settings: dict[str, str], spark: SparkSession, iceberg: IcebergJudge) -> str:
    """The catalog's name in all three; it has the namespace `db`."""
    name = "pool" if "sqlite" in settings["uri"] else "sea"
    spark.conf.set(f"spark.sql.catalog.{name}", "io.sqlext.Catalog")
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    iceberg.add_settings(name, settings)
    spark.sql(f"CREATE NAMESPACE {name}.db COMMENT 'shared'")
    return name


@pytest.fixture(scope="module")
def pyiceberg(settings: dict[str, str], name: str, request: pytest.FixtureRequest) -> PyIcebergCatalog:
    uri = settings["uri"].removeprefix("jdbc:").replace("sqlite:", "sqlite:///")
    if name == "sea":
        server = request.getfixturevalue("postgres")
        uri = uri.replace("postgresql://", f"postgresql+psycopg://{USER}:{server.password}@")
    return PyIcebergCatalog(name, uri=uri, warehouse=settings["warehouse"])


def test_tables_of_each_are_read_and_changed_by_the_others(
    spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog, name: str
) -> None:
    spark.sql(f"CREATE TABLE {name}.db.t (id BIGINT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {name}.db.t VALUES (1, 'ours'), (2, 'ours')")
    iceberg.sql(f"INSERT INTO {name}.db.t VALUES (3, 'java')")
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.string())])
    rows = pa.table({"id": [4], "v": ["pyiceberg"]}, schema=columns)
    pyiceberg.load_table("db.t").append(rows)
    spark.sql(
        f"MERGE INTO {name}.db.t t USING (VALUES (2, 'merged'), (5, 'new')) AS s(id, v) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    expected = [[1, "ours"], [2, "merged"], [3, "java"], [4, "pyiceberg"], [5, "new"]]
    assert canonical_rows(spark.table(f"{name}.db.t")) == expected
    assert iceberg.sql(f"SELECT * FROM {name}.db.t") == expected
    assert sorted(pyiceberg.load_table("db.t").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4, 5]

    iceberg.sql(f"CREATE TABLE {name}.db.java (id INT) USING iceberg")
    spark.sql(f"INSERT INTO {name}.db.java VALUES (1)")
    assert iceberg.sql(f"SELECT * FROM {name}.db.java") == [[1]]
    spark.sql(f"DROP TABLE {name}.db.java PURGE")
    assert not pyiceberg.table_exists("db.java")


def test_names_move_in_all_of_them(
    spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog, name: str
) -> None:
    spark.sql(f"CREATE TABLE {name}.db.before AS SELECT 1 AS id")
    spark.sql(f"ALTER TABLE {name}.db.before RENAME TO {name}.db.between")
    iceberg.sql(f"ALTER TABLE {name}.db.between RENAME TO db.after")
    pyiceberg.rename_table("db.after", "db.final")
    assert canonical_rows(spark.table(f"{name}.db.final")) == [[1]]
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table(f"{name}.db.before").collect()
    spark.sql(f"CREATE TABLE {name}.db.before AS SELECT 2 AS id")
    spark.sql(f"DROP TABLE {name}.db.before PURGE")
    assert iceberg.sql(f"SELECT * FROM {name}.db.final") == [[1]]


def test_namespaces_and_their_properties(
    spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog, name: str
) -> None:
    spark.sql(f"ALTER NAMESPACE {name}.db SET PROPERTIES ('team' = 'sales', 'gone' = '1')")
    spark.sql(f"ALTER NAMESPACE {name}.db UNSET PROPERTIES ('gone')")
    properties = pyiceberg.load_namespace_properties("db")
    assert (properties["team"], properties["comment"]) == ("sales", "shared")
    assert "gone" not in properties
    pyiceberg.create_namespace("snakes", {"team": "python"})
    iceberg.sql(f"CREATE NAMESPACE {name}.beans")
    names = {row[0] for row in spark.sql(f"SHOW NAMESPACES IN {name}").collect()}
    assert {"db", "snakes", "beans"} <= names
    assert "(team,python)" in str(spark.sql(f"DESCRIBE NAMESPACE EXTENDED {name}.snakes").collect())
    spark.sql(f"DROP NAMESPACE {name}.beans")
    assert ("beans",) not in pyiceberg.list_namespaces()


def test_views_go_both_ways(spark: SparkSession, iceberg: IcebergJudge, pyiceberg: PyIcebergCatalog, name: str) -> None:
    spark.sql(f"CREATE TABLE {name}.db.seen AS SELECT 1 AS id UNION ALL SELECT 2")
    spark.sql(f"CREATE VIEW {name}.db.ours AS SELECT id FROM {name}.db.seen WHERE id > 1")
    iceberg.sql(f"CREATE VIEW {name}.db.theirs AS SELECT id + 10 AS id FROM {name}.db.seen")
    assert iceberg.sql(f"SELECT * FROM {name}.db.ours") == [[2]]
    assert canonical_rows(spark.sql(f"SELECT * FROM {name}.db.theirs")) == [[11], [12]]
    assert ("db", "ours") not in pyiceberg.list_tables("db")
    spark.sql(f"DROP VIEW {name}.db.theirs")
    with pytest.raises(Exception, match="cannot be found"):
        iceberg.sql(f"SELECT * FROM {name}.db.theirs")


def test_statistics_and_the_copy_of_a_table(spark: SparkSession, iceberg: IcebergJudge, name: str) -> None:
    check_statistics_and_copy(spark, iceberg, name)


@pytest.mark.turns(1, pool="previews of catalogs")
def test_previews_and_undone_commits(spark: SparkSession, iceberg: IcebergJudge, name: str) -> None:
    check_preview_and_undo(spark, iceberg, name)
