"""`auto`: the share of rows that change decides, statement by statement, and Iceberg goes on with the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError

MODES = ", ".join(f"'write.{verb}.mode'='auto'" for verb in ("delete", "update", "merge"))


def make(spark: SparkSession, table: str, version: int, properties: str = MODES) -> None:
    """Two files of ten rows: ids from 0 on, and from 10 on."""
    spark.sql(
        f"CREATE TABLE {table} (id INT NOT NULL, v INT) TBLPROPERTIES ('format-version'='{version}', {properties})"
    )
    for start in (0, 10):
        spark.sql(f"INSERT INTO {table} SELECT id, id FROM range({start}, {start + 10}, 1, 1)")


def last_summary(warehouse: Path, table: str) -> dict[str, str]:
    folder = warehouse.joinpath(*table.split(".")[1:], "metadata")
    newest = max(folder.glob("v*.metadata.json"), key=lambda file: int(file.name.split(".")[0][1:]))
    summary: dict[str, str] = json.loads(newest.read_text())["snapshots"][-1]["summary"]
    return summary


def explained(spark: SparkSession, statement: str) -> str:
    text: str = spark.sql(f"EXPLAIN {statement}").first()[0]
    return text.splitlines()[1]


@pytest.mark.turns(1)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {t} WHERE v % 10 < {n} AND id < 10",
        "UPDATE {t} SET v = -v WHERE v % 10 < {n} AND id < 10",
        "MERGE INTO {t} AS t USING range({n}) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = -1"
        " WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    ],
)
def test_the_share_of_the_files_touched_decides(
    spark: SparkSession, warehouse: Path, iceberg: IcebergJudge, table_name: str, statement: str, version: int
) -> None:
    for few, replaced in ((2, None), (3, "1")):
        table = f"{table_name}_{few}"
        make(spark, table, version)
        text = statement.format(t=table, n=few)
        told = explained(spark, text)
        answer = spark.sql(text).first()
        assert answer["num_affected_rows"] == few
        summary = last_summary(warehouse, table)
        assert summary.get("deleted-data-files") == replaced
        assert ("added-delete-files" in summary) == (replaced is None)
        expected = "merge-on-read" if replaced is None else "copy-on-write"
        assert told.startswith(f"{expected}: "), told
        assert f"{few}0.00%" in told
        assert canonical_rows(spark.table(table)) == iceberg.sql(f"SELECT * FROM {table}")


@pytest.mark.parametrize(
    "statement",
    [
        "UPSERT INTO {t} SELECT CAST(id AS INT), -1 FROM range({n})",
        "MERGE INTO {t} AS t USING (SELECT CAST(id AS INT) AS id, -1 AS v FROM range({n})) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    ],
)
def test_upserts_whose_keys_the_driver_looks_up_are_weighed(
    spark: SparkSession, warehouse: Path, iceberg: IcebergJudge, table_name: str, statement: str
) -> None:
    for few, replaced in ((2, None), (3, "1")):
        table = f"{table_name}_{few}"
        spark.sql(
            f"CREATE TABLE {table} (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3', {MODES})"
        )
        for start in (0, 10):
            spark.sql(f"INSERT INTO {table} SELECT id, id FROM range({start}, {start + 10}, 1, 1)")
        text = statement.format(t=table, n=few)
        told = explained(spark, text)
        assert tuple(spark.sql(text).first()) == (few, 0, few, 0)
        assert last_summary(warehouse, table).get("deleted-data-files") == replaced
        assert told.startswith("key upsert by position: " if replaced is None else "copy-on-write: "), told
        assert f"{few}0.00%" in told
        assert canonical_rows(spark.table(table)) == iceberg.sql(f"SELECT * FROM {table}")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("properties", [MODES, "'write.update.mode'='merge-on-read'"])
def test_files_that_lose_all_rows_go_and_others_are_marked(
    spark: SparkSession, warehouse: Path, iceberg: IcebergJudge, table_name: str, version: int, properties: str
) -> None:
    make(spark, table_name, version, properties)
    spark.sql(f"DELETE FROM {table_name} WHERE v = 3")
    spark.sql(f"UPDATE {table_name} SET v = -v WHERE v + 0 BETWEEN 0 AND 11")
    summary = last_summary(warehouse, table_name)
    assert (summary["deleted-data-files"], summary["added-position-deletes"]) == ("1", "2")
    rows = canonical_rows(spark.table(table_name))
    assert len(rows) == 19
    assert rows == iceberg.sql(f"SELECT * FROM {table_name}")


def test_iceberg_changes_the_table_by_the_mode_it_knows(
    spark: SparkSession, warehouse: Path, iceberg: IcebergJudge, table_name: str
) -> None:
    make(spark, table_name, 2, "'write.update.mode'='copy-on-write'")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.update.mode'='auto')")
    properties = dict(spark.sql(f"SHOW TBLPROPERTIES {table_name}").collect())
    assert properties["write.update.mode"] == "copy-on-write"
    assert properties["sqlext.write.update.mode"] == "auto"
    iceberg.sql(f"UPDATE {table_name} SET v = 0 WHERE id = 1")
    assert "added-delete-files" not in last_summary(warehouse, table_name)
    spark.sql(f"UPDATE {table_name} SET v = 0 WHERE id = 2")
    assert "added-delete-files" in last_summary(warehouse, table_name)
    assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}")
    spark.sql(f"ALTER TABLE {table_name} UNSET TBLPROPERTIES ('write.update.mode')")
    assert not [key for key, _ in spark.sql(f"SHOW TBLPROPERTIES {table_name}").collect() if "update.mode" in key]


def test_iceberg_refuses_a_mode_that_it_does_not_know(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    """Why `auto` is stored under a name of our own."""
    make(spark, table_name, 2, "'team'='x'")
    iceberg.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.update.mode'='auto')")
    with pytest.raises(JudgeError):
        iceberg.sql(f"UPDATE {table_name} SET v = 0 WHERE id = 1")
    assert spark.sql(f"UPDATE {table_name} SET v = 0 WHERE id = 1").first()["num_updated_rows"] == 1


def test_a_default_of_the_catalog(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.auto_lake", "io.sqlext.Catalog")
    spark.conf.set("spark.sql.catalog.auto_lake.warehouse", str(tmp_path))
    spark.conf.set("spark.sql.catalog.auto_lake.table-default.write.delete.mode", "auto")
    spark.sql("CREATE NAMESPACE auto_lake.db")
    spark.sql("CREATE TABLE auto_lake.db.t (id INT)")
    spark.sql("CREATE TABLE auto_lake.db.u (id INT) TBLPROPERTIES ('write.delete.mode'='copy-on-write')")
    spark.sql("CREATE TABLE auto_lake.db.v LIKE auto_lake.db.t TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    for table, kept in (("t", {"sqlext.write.delete.mode"}), ("u", set()), ("v", set())):
        names = {key for key, _ in spark.sql(f"SHOW TBLPROPERTIES auto_lake.db.{table}").collect()}
        assert {name for name in names if name.startswith("sqlext.")} == kept
