"""Properties of Iceberg, Flink and Paimon in every statement that sets them: done, with a warning, or refused."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from sqlext.property_names import verdict_of

_LISTS = Path(__file__).resolve().parents[2] / "peer_properties"
_LISTED = [
    line.replace("*", "id")
    for path in sorted(_LISTS.glob("*.txt"))
    for line in path.read_text().split("\n")
    if line and not line.startswith("#")
]
_VERDICTS = {name: verdict.outcome for name in _LISTED if (verdict := verdict_of(name)) is not None}
_REFUSED = [name for name, outcome in _VERDICTS.items() if outcome == "refused"]
_IDLE = [name for name, outcome in _VERDICTS.items() if outcome == "no effect"]


def _said(names: list[str]) -> str:
    return ", ".join(f"'{name}'='17'" for name in names)


def _statement(way: str, table: str, names: list[str]) -> str:
    match way:
        case "create":
            return f"CREATE TABLE {table} (id INT) TBLPROPERTIES ({_said(names)})"
        case "with":
            return f"CREATE TABLE {table} (id INT) WITH ({_said(names)})"
        case "as":
            return f"CREATE TABLE {table} TBLPROPERTIES ({_said(names)}) AS SELECT 1 AS id"
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({_said(names)})"


@pytest.mark.parametrize("way", ["create", "with", "as", "alter"])
def test_nothing_is_taken_and_dropped(
    spark: SparkSession, table_name: str, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    rng = random.Random(way)
    for number in range(4):
        names = rng.sample([*rng.sample(_REFUSED, 2), *rng.sample(_IDLE, 10)], 12)
        verdicts = {name: verdict_of(name) for name in names}
        refused = [name for name, verdict in verdicts.items() if verdict is not None and verdict.outcome == "refused"]
        table = f"{table_name}_{number}"
        if way == "alter":
            spark.sql(f"CREATE TABLE {table} (id INT)")
        with pytest.raises(PySparkException) as refusal:
            spark.sql(_statement(way, table, names))
        assert any(name in str(refusal.value) for name in refused), names
        assert spark.catalog.tableExists(table) == (way == "alter")
        caplog.clear()
        taken = [name for name in names if name not in refused]
        with caplog.at_level(logging.WARNING, "sqlext.property_names"):
            spark.sql(_statement(way, table, taken))
        told = [one.getMessage() for one in caplog.records if one.name == "sqlext.property_names"]
        for name in taken:
            assert sum(f" {name} = 17 has no effect" in warning for warning in told) == 1, (names, told)
        stored = {row.key for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
        assert stored.issuperset(taken)


def test_the_interfaces_of_spark_refuse_likewise(spark: SparkSession, table_name: str) -> None:
    rows = spark.range(1)
    for name in ("end-input.check-partition-expire", "snapshot.num-retained.min", "scan.snapshot-id", "connector"):
        with pytest.raises(PySparkException, match="TABLE_PROPERTY_REFUSED"):
            rows.writeTo(table_name).tableProperty(name, "17").create()
    assert not spark.catalog.tableExists(table_name)


def test_a_table_to_which_others_gave_such_properties_is_read_and_written(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    # Iceberg's runtime acts on its own.
    own = (_LISTS / "iceberg.txt").read_text().split("\n")
    names = [name for name in (*_REFUSED, *_IDLE) if name not in own and not name.startswith(("write.", "read."))]
    iceberg.sql(f"CREATE TABLE {table_name} (id INT) USING iceberg TBLPROPERTIES ({_said(names)})")
    iceberg.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"INSERT INTO {table_name} VALUES (2)")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 1")
    assert [row.id for row in spark.table(table_name).collect()] == [2]
    assert iceberg.sql(f"SELECT * FROM {table_name}") == [[2]]


def test_writes_to_a_table_of_orc_files_are_refused_and_its_rows_are_read(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    for name in ("write.format.default", "write.delete.format.default"):
        table = f"{table_name}_{name.count('delete')}"
        iceberg.sql(f"CREATE TABLE {table} (id INT) USING iceberg TBLPROPERTIES ('{name}'='orc')")
        iceberg.sql(f"INSERT INTO {table} VALUES (1), (2)")
        assert sorted(row.id for row in spark.table(table).collect()) == [1, 2]
        with pytest.raises(PySparkException, match=name):
            spark.sql(f"INSERT INTO {table} VALUES (3)")
        with pytest.raises(PySparkException, match="INVALID_TABLE_PROPERTY"):
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{name}'='avro')")
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('owner-team'='x')")
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{name}'='parquet')")
        spark.sql(f"INSERT INTO {table} VALUES (3)")
        spark.sql(f"DELETE FROM {table} WHERE id = 1")
        assert sorted(row.id for row in spark.table(table).collect()) == [2, 3]
