"""Care for all tables of a catalog, within a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> str:
    """A catalog with a table of many small files, one of old snapshots, one that needs nothing and one that is
    damaged."""
    name = f"cared_{tmp_path.name.replace('-', '_')}"
    spark.conf.set(f"spark.sql.catalog.{name}", "io.sqlext.Catalog")
    spark.conf.set(f"spark.sql.catalog.{name}.warehouse", str(tmp_path))
    spark.sql(f"CREATE NAMESPACE {name}.a")
    spark.sql(f"CREATE NAMESPACE {name}.a.b")
    for table, properties in (
        ("a.small_files", "'write-only'='true'"),
        ("a.b.snapshots", "'history.expire.max-snapshot-age-ms'='0'"),
        ("a.nothing", "'write-only'='true'"),
        ("a.damaged", "'write-only'='true'"),
    ):
        spark.sql(f"CREATE TABLE {name}.{table} (id INT) TBLPROPERTIES ({properties})")
    for number in range(6):
        spark.sql(f"INSERT INTO {name}.a.small_files VALUES ({number})")
    for number in range(3):
        spark.sql(f"INSERT INTO {name}.a.b.snapshots VALUES ({number})")
    spark.sql(f"INSERT INTO {name}.a.damaged VALUES (1)")
    for manifest in (tmp_path / "a" / "damaged" / "metadata").glob("*.avro"):
        manifest.write_bytes(b"")
    return name


def test_what_is_due_is_done(spark: SparkSession, catalog: str) -> None:
    call = f"CALL {catalog}.system.optimize_all"
    planned = {(row.table, row.task): row for row in spark.sql(f"{call}(plan_only => true)").collect()}
    assert {key: row.state for key, row in planned.items()} == {
        ("a.small_files", "compact"): "planned",
        ("a.b.snapshots", "expire_snapshots"): "planned",
        ("a.damaged", "compact"): "failed",
    }
    assert planned["a.small_files", "compact"].saved_files == 5
    assert spark.table(f"{catalog}.a.small_files.files").count() == 6

    done = {row.table: row for row in spark.sql(f"{call}(budget_seconds => 600)").collect()}
    assert {table: row.state for table, row in done.items()} == {
        "a.small_files": "done",
        "a.b.snapshots": "done",
        "a.damaged": "failed",
    }
    assert done["a.small_files"].result == "6 files became 1"
    assert done["a.small_files"].took_ms > 0
    assert done["a.b.snapshots"].result.startswith("2 snapshots, ")
    assert spark.table(f"{catalog}.a.small_files").count() == 6
    assert spark.table(f"{catalog}.a.b.snapshots.snapshots").count() == 1
    assert [row.state for row in spark.sql(f"{call}()").collect()] == ["failed"]


def test_a_budget_is_kept(spark: SparkSession, catalog: str) -> None:
    rows = spark.sql(f"CALL {catalog}.system.optimize_all(budget_seconds => 1, plan_only => true)").collect()
    planned = [row for row in rows if row.state == "planned"]
    assert 0 < sum(row.estimated_ms for row in planned) <= 1000
    with pytest.raises(Exception, match="must be at least 1"):
        spark.sql(f"CALL {catalog}.system.optimize_all(budget_seconds => 0)")
