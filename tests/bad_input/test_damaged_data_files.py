"""Files of rows that Spark reads (data in Parquet, ORC and Avro, equality deletes), damaged at random.

Each is read, or refused by an error that names the file, with no trace of Java. None keeps a reader busy for minutes,
and the session lives on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bad_input.mutations import damaged
from bad_input.refusals import TRACES, table_folder
from judges.iceberg import IcebergJudge

CASES = 25
MOST_CPU_SECONDS = 60.0  # a bomb that is unpacked takes minutes; the whole JVM also compiles, collects and warms up
COLUMNS = "id INT, s STRING, list ARRAY<INT>, st STRUCT<x: DOUBLE, d: DATE>"
ROWS = "SELECT id, repeat('abc', id), array(id), struct(id / 2, DATE'2024-01-01') FROM range(1, 200)"
_UPSERT = (
    "MERGE INTO {t} AS t USING (SELECT 1 AS id, 'new' AS s, array(1) AS list,"
    " struct(1D AS x, DATE'1970-01-01' AS d) AS st) AS s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


@pytest.fixture
def tables(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> dict[str, str]:
    """A table for each kind of file."""
    made = {}
    for format_ in ("orc", "avro"):
        made[format_] = f"{table_name}_{format_}"
        properties = f"TBLPROPERTIES ('write.format.default'='{format_}')"
        iceberg.sql(f"CREATE TABLE {made[format_]} ({COLUMNS}) USING iceberg {properties}")
        iceberg.sql(f"INSERT INTO {made[format_]} {ROWS.replace('id', 'CAST(id AS INT)', 1)}")
    for kind in ("parquet", "deletes"):
        made[kind] = f"{table_name}_{kind}"
        key = ", PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality'" if kind == "deletes" else ""
        spark.sql(f"CREATE TABLE {made[kind]} ({COLUMNS}{key})")
        spark.sql(f"INSERT INTO {made[kind]} {ROWS}")
    spark.sql(_UPSERT.replace("{t}", made["deletes"]))
    return made


@pytest.mark.turns(1)
@pytest.mark.parametrize("kind", ["parquet", "orc", "avro", "deletes"])
def test_damaged_data_files(spark: SparkSession, warehouse: Path, tables: dict[str, str], kind: str) -> None:
    folder = table_folder(warehouse, tables[kind])
    files = sorted(path for path in folder.glob("data/**/*") if path.suffix in (".parquet", ".orc", ".avro"))
    if kind == "deletes":
        files = [path for path in files if "eq-del" in path.name or "delete" in path.name]
    (path,) = files[:1]
    sound = path.read_bytes()
    jvm = psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid())
    refused = 0
    for number in range(CASES):
        change, data = damaged(sound, str(path), random.Random(f"{kind}/{number}"))
        with written(path, data):
            started = cpu_seconds(jvm)
            message = refusal(spark, tables[kind])
            took = cpu_seconds(jvm) - started
        case = f"case {number}: {change} of {path}\n{message}"
        assert took < MOST_CPU_SECONDS, case
        if message:
            refused += 1
            assert path.name in message, case
            assert message.startswith(("FAILED_READ_FILE", "CORRUPT_FILE")), case
            assert not [trace for trace in TRACES if trace in message], case
    assert refused > CASES // 4, "hardly any case did damage"
    assert refusal(spark, tables[kind]) == ""


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def refusal(spark: SparkSession, table: str) -> str:
    """What the engine says that cannot read the table; empty where it can."""
    spark.sql(f"REFRESH TABLE {table}")
    try:
        spark.table(table).collect()
    except PySparkException as error:
        return f"{error.getCondition()}: {error}"
    return ""


@contextmanager
def written(path: Path, data: bytes) -> Iterator[None]:
    """The file has other bytes for a while; Hadoop's own checksum of it does not tell."""
    sound, checksum = path.read_bytes(), path.with_name(f".{path.name}.crc")
    checksum.unlink(missing_ok=True)
    path.write_bytes(data)
    yield
    path.write_bytes(sound)
