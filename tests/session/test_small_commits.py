"""Small INSERTs make no Spark job and four files, and every session and process sees them by its next statement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

# In a process of its own, which has read the table before; each line that comes makes it read again.
READER = """
import sys
import sqlext

conf = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
spark = sqlext.session(lake=sys.argv[1], master="local[1]", conf=conf)
table = spark.table(sys.argv[2])
for line in sys.stdin:
    print("count", spark.sql(f"SELECT count(*) FROM {sys.argv[2]}").collect()[0][0], spark.table(sys.argv[2]).count())
    sys.stdout.flush()
"""


def _jobs(spark: SparkSession) -> int:
    """How many there were in the application."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    return int(scheduler.numTotalJobs())


def _files(warehouse: Path, table: str) -> set[str]:
    folder = warehouse.joinpath(*table.split(".")[1:])
    return {str(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("upserts", ["", "resolved", "equality"])
def test_literals_go_in_without_a_spark_job_and_as_few_files(
    spark: SparkSession, warehouse: Path, table_name: str, upserts: str
) -> None:
    properties = f"TBLPROPERTIES ('write.upsert.enabled'='true', 'write.upsert.mode'='{upserts}')" if upserts else ""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) {properties}")
    spark.sql(f"INSERT INTO {table_name} VALUES (0, 'first')")
    before, jobs = _files(warehouse, table_name), _jobs(spark)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    if not upserts:
        assert _jobs(spark) == jobs
    made = sorted(Path(path).name for path in _files(warehouse, table_name) - before)
    # an upsert has a delete file beside its data file, and a manifest of it
    assert len(made) <= (4 if not upserts else 6), made
    assert len(spark.table(table_name).collect()) == 3
    assert _jobs(spark) > jobs


def test_the_newest_snapshot_is_seen_by_the_next_statement_of_any_session(
    spark: SparkSession, warehouse: Path, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    other = spark.newSession()
    query = f"SELECT count(*) FROM {table_name}"
    view = other.table(table_name)
    view.createOrReplaceTempView("seen_before")
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(warehouse), table_name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        for count in range(1, 4):
            spark.sql(f"INSERT INTO {table_name} VALUES ({count})")
            assert other.sql(query).collect()[0][0] == count
            assert other.table(table_name).count() == count
            assert spark.sql(query).collect()[0][0] == count
            process.stdin.write("\n")
            process.stdin.flush()
            line = next(line for line in process.stdout if line.startswith("count"))
            assert line.split() == ["count", str(count), str(count)]
        process.stdin.close()
        assert process.wait(60) == 0
