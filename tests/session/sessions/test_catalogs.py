"""Catalogs of a session: several at once, by configure() and by plain settings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from sqlext.spark.shim.java_objects import jvm

# its own process, since a JVM keeps the jars and the catalogs that it was started with
PLAIN_SETTINGS = """
import sys
import sqlext
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
for name, folder in zip(("first", "second"), sys.argv[1:]):
    builder = builder.config(f"spark.sql.catalog.{name}", "io.sqlext.Catalog")
    builder = builder.config(f"spark.sql.catalog.{name}.warehouse", folder)
slip = SparkSession.builder.master("local[1]").config("spark.sqlext.manifest-cach.max-bytes", "1g")
try:
    sqlext.configure(slip).getOrCreate()
except sqlext.SqlextError as refused:
    assert "SETTING_UNKNOWN" in str(refused) and "Did you mean spark.sqlext.manifest-cache.max-bytes?" in str(refused)
assert SparkSession.getActiveSession() is None
builder = builder.config("spark.sql.catalog.second.default-namespace", "db")
spark = sqlext.configure(builder.config("spark.sql.defaultCatalog", "second")).getOrCreate()
spark.sql("CREATE NAMESPACE first.db")
spark.sql("CREATE TABLE first.db.t (id INT PRIMARY KEY)")
spark.sql("INSERT INTO first.db.t VALUES (1), (2)")
spark.sql("CREATE NAMESPACE db")
spark.sql("CREATE TABLE t AS SELECT id + 10 AS id FROM first.db.t")
print(sorted(row[0] for row in spark.table("db.t").collect()))
spark.stop()
try:
    sqlext.attach(spark)
except sqlext.SqlextError as refused:
    print(refused)
"""


def test_two_catalogs_in_one_session(spark: SparkSession, iceberg: IcebergJudge, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.pond", "io.sqlext.Catalog")
    spark.conf.set("spark.sql.catalog.pond.warehouse", str(tmp_path))
    iceberg.add_catalog("pond", tmp_path)
    for catalog in ("lake", "pond"):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.both")
    spark.sql("CREATE TABLE lake.both.t (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("CREATE TABLE pond.both.t (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("INSERT INTO lake.both.t VALUES (1, 'lake'), (2, 'lake')")
    spark.sql("INSERT INTO pond.both.t SELECT id + 1, 'pond' FROM lake.both.t")
    spark.sql(
        "MERGE INTO lake.both.t AS t USING pond.both.t AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    expected = {"lake": [[1, "lake"], [2, "pond"], [3, "pond"]], "pond": [[2, "pond"], [3, "pond"]]}
    for catalog, rows in expected.items():
        assert (
            canonical_rows(spark.table(f"{catalog}.both.t")) == rows == iceberg.sql(f"SELECT * FROM {catalog}.both.t")
        )
    assert (tmp_path / "both" / "t" / "metadata" / "v2.metadata.json").exists()


def test_a_new_session_of_the_application_knows_the_catalog(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    other = spark.newSession()
    other.sql(f"INSERT INTO {table_name} VALUES (1)")
    assert other.table(table_name).count() == spark.table(table_name).count() == 1


def test_a_clone_of_a_session(spark: SparkSession, table_name: str) -> None:
    """Spark clones sessions to cache queries, for streams, and for frameworks that isolate what they run."""
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW seven AS SELECT 7 AS id")
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    clone.sql(f"INSERT INTO {table_name} SELECT id FROM seven")
    spark.catalog.dropTempView("seven")
    clone.sql("BEGIN")
    clone.sql(f"UPDATE {table_name} SET id = id + 1")
    assert [clone.table(table_name).first().id, spark.table(table_name).first().id] == [8, 7]
    clone.sql("COMMIT")
    assert spark.table(table_name).first().id == 8


def test_a_clone_of_a_session_with_a_transaction_reads_in_it_and_changes_nothing(
    spark: SparkSession, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql("BEGIN")
    try:
        spark.sql(f"INSERT INTO {table_name} VALUES (1)")
        clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
        assert clone.table(table_name).first().id == 1
        for change in (
            lambda: clone.sql(f"INSERT INTO {table_name} VALUES (2)"),
            lambda: clone.range(2).selectExpr("int(id) AS id").writeTo(table_name).append(),
            lambda: clone.sql(f"CREATE TABLE {table_name}_2 (id INT)"),
        ):
            with pytest.raises(PySparkException, match="TRANSACTION_OF_ANOTHER_SESSION"):
                change()
    finally:
        spark.sql("ROLLBACK")
    clone.sql(f"INSERT INTO {table_name} VALUES (2)")
    assert clone.table(table_name).first().id == spark.table(table_name).first().id == 2


def test_changes_of_columns_that_a_program_of_the_jvm_asks_for_are_refused(
    spark: SparkSession, table_name: str
) -> None:
    """SQL has statements of sqlext for them, with the rules of the table's format."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    java, gateway = jvm(spark), spark.sparkContext._gateway
    assert gateway is not None
    connector = java.org.apache.spark.sql.connector.catalog
    namespace, names = gateway.new_array(java.java.lang.String, 1), gateway.new_array(java.java.lang.String, 1)
    namespace[0], names[0] = "db", "v"
    changes = gateway.new_array(connector.TableChange, 1)
    changes[0] = connector.TableChange.deleteColumn(names, False)
    table = connector.Identifier.of(namespace, table_name.rpartition(".")[2])
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog("lake")
    with pytest.raises(Exception, match=r"ALTER_TABLE_NOT_SUPPORTED.*DeleteColumn"):
        catalog.alterTable(table, changes)
    assert spark.table(table_name).columns == ["id", "v"]


def test_a_catalog_without_warehouse_says_so(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.catalog.nowhere", "io.sqlext.Catalog")
    with pytest.raises(PySparkException, match="CATALOG_OPTION_REQUIRED"):
        spark.sql("SHOW NAMESPACES IN nowhere").collect()
    spark.conf.unset("spark.sql.catalog.nowhere")


def test_an_option_set_after_the_catalog_was_opened_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark gives a catalog its options once: the rows would go into the folder before."""
    option = "spark.sql.catalog.settled.warehouse"
    spark.conf.set("spark.sql.catalog.settled", "io.sqlext.Catalog")
    spark.conf.set(option, str(tmp_path / "before"))
    spark.sql("CREATE NAMESPACE settled.db")
    spark.sql("CREATE TABLE settled.db.t (id INT, PRIMARY KEY (id))")
    for name, value in (("warehouse", str(tmp_path / "after")), ("table-default.format-version", "2")):
        spark.conf.set(f"spark.sql.catalog.settled.{name}", value)
        for statement in (
            "SELECT * FROM settled.db.t",
            "CREATE NAMESPACE settled.other",
            "CREATE TABLE settled.db.other (id INT)",
            "INSERT INTO settled.db.t VALUES (1)",
            "UPSERT INTO settled.db.t VALUES (1)",
            "MERGE INTO settled.db.t USING (SELECT 1 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
            "DELETE FROM settled.db.t",
            "ALTER TABLE settled.db.t ADD COLUMN n INT",
            "CALL settled.system.compact('db.t')",
            "DROP TABLE settled.db.t",
        ):
            with pytest.raises(PySparkException, match=f"CATALOG_IS_OPEN.*another {name}"):
                spark.sql(statement).collect()
        with pytest.raises(PySparkException, match="CATALOG_IS_OPEN"):
            sqlext.table(spark, "settled.db.t").history().collect()
        spark.conf.set(option, str(tmp_path / "before"))
    spark.conf.unset("spark.sql.catalog.settled.table-default.format-version")
    assert spark.table("settled.db.t").count() == 0


def test_a_dropped_table_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    spark.conf.set("spark.sql.catalog.well", "io.sqlext.Catalog")
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.well.{key}", value)
    spark.sql("CREATE NAMESPACE well.db")
    spark.sql("CREATE TABLE well.db.t AS SELECT 1 AS id")
    spark.sql("INSERT INTO well.db.t VALUES (2)")
    spark.sql("DROP TABLE well.db.t")
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table("well.db.t").collect()
    assert [row.table_name for row in spark.sql("CALL well.system.dropped_tables('db')").collect()] == ["t"]
    spark.sql("UNDROP TABLE well.db.t")
    assert canonical_rows(spark.sql("SELECT count(*) FROM well.db.t.snapshots")) == [[2]]
    spark.sql("INSERT INTO well.db.t VALUES (3)")
    assert canonical_rows(spark.table("well.db.t")) == [[1], [2], [3]]
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql("UNDROP TABLE well.db.t")
    with pytest.raises(PySparkException, match="DROPPED_TABLE_NOT_FOUND"):
        spark.sql("UNDROP TABLE well.db.other")
    with pytest.raises(PySparkException, match="UNSUPPORTED_CATALOG_OPERATION"):
        spark.sql("UNDROP TABLE lake.db.other")


def test_a_table_moves_from_a_folder_to_a_database(spark: SparkSession, tmp_path: Path, table_name: str) -> None:
    settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    spark.conf.set("spark.sql.catalog.cellar", "io.sqlext.Catalog")
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.cellar.{key}", value)
    spark.sql("CREATE NAMESPACE cellar.db")
    spark.sql(f"CREATE TABLE {table_name} AS SELECT 1 AS id")
    newest = "SELECT max_by(file, timestamp) FROM {}.metadata_log_entries".format
    file = spark.sql(newest(table_name)).first()[0]
    answer = spark.sql(f"CALL cellar.system.register_table('db.t', '{file}')").first()
    assert answer.total_records_count == 1
    spark.sql("INSERT INTO cellar.db.t VALUES (2)")
    assert canonical_rows(spark.table("cellar.db.t")) == [[1], [2]]
    assert spark.sql(newest("cellar.db.t")).first()[0].startswith(file.rpartition("/")[0])


def test_settings_that_are_secret_are_hidden_by_spark() -> None:
    hidden = re.compile(sqlext.configure(SparkSession.builder)._options["spark.redaction.regex"])
    for name in ("jdbc.password", "s3.secret-access-key", "s3.session-token", "token", "credential"):
        assert hidden.search(f"spark.sql.catalog.lake.{name}")
    own = sqlext.configure(SparkSession.builder.config("spark.redaction.regex", "own"))
    assert own._options["spark.redaction.regex"] == "own"


@pytest.mark.turns(1, pool="own sessions")
def test_plain_settings(tmp_path: Path, shown_error: Callable[[str, str], None]) -> None:
    folders = [str(tmp_path / "first"), str(tmp_path / "second")]
    ended = subprocess.run(
        [sys.executable, "-c", PLAIN_SETTINGS, *folders], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    rows, refused = ended.stdout.splitlines()[-2:]
    assert (rows, refused.partition(" ")[0]) == ("[11, 12]", "[SESSION_STOPPED]")
    shown_error("SESSION_STOPPED", refused)
    assert all(Path(folder, "db", "t", "metadata", "v1.metadata.json").exists() for folder in folders)


def test_files_are_queried_by_their_path_where_the_catalog_is_the_current_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(3).write.parquet(str(tmp_path / "files"))
    before = spark.catalog.currentCatalog()
    spark.sql("USE lake")
    try:
        assert spark.sql(f"SELECT count(*) FROM parquet.`{tmp_path}/files`").first() == (3,)
    finally:
        spark.catalog.setCurrentCatalog(before)
