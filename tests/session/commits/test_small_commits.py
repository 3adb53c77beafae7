"""Small INSERTs make no Spark job and four files, and every session and process sees them by its next statement."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
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

# Of each type literals that say themselves what the column gets, and texts that Spark has to evaluate or to assign.
PLAIN: dict[str, Callable[[random.Random], str]] = {
    "INT": lambda rng: str(rng.choice([0, -1, 2**31 - 1, -(2**31), rng.randrange(-(10**6), 10**6)])),
    "BIGINT": lambda rng: str(rng.choice([2**63 - 1, "CAST('-7' AS bigint)", "-7L", rng.randrange(10**12)])),
    "DOUBLE": lambda rng: rng.choice(
        [
            "-0.0",
            "-0.0D",
            "CAST('-0.0' AS double)",
            str(rng.randrange(2**62)),
            _decimal(rng, 15),
            _decimal(rng, 15) + "D",
        ]
    ),
    "DECIMAL(20,10)": lambda rng: rng.choice([str(rng.randrange(-(10**9), 10**9)), _decimal(rng, 10), "1.5BD"]),
    "DECIMAL(9,2)": lambda rng: rng.choice(["-0.00", "CAST('12.5' AS DECIMAL(5,2))", "9999999.99"]),
    "STRING": lambda rng: rng.choice(["'a, (b)'", "''", "'ü'", "'--'", "'/* */'"]),
    "DATE": lambda rng: f"DATE '{date(1, 1, 1) + timedelta(days=rng.randrange(3_000_000))}'",
    "BOOLEAN": lambda rng: rng.choice(["TRUE", "false"]),
}
EVALUATED = {
    "INT": ("7Y", "1 + 1"),
    "BIGINT": ("7S", "abs(-3)"),
    "DOUBLE": ("1e-3", "2.5e0D"),
    "DECIMAL(20,10)": ("15e-1BD", "1.00000000005"),
    "DECIMAL(9,2)": ("1.005", "1 / 3"),
    "STRING": ("'it''s'", r"'\u00fc\n'", "'x' 'y'", '"q"', "r'\\n'"),
    "DATE": ("DATE '2024-1'", "to_date('2024-01-01')"),
    "BOOLEAN": ("1 = 1",),
}


def _decimal(rng: random.Random, digits: int) -> str:
    return f"{rng.choice(['', '-'])}{rng.randrange(10 ** rng.randrange(1, 10))}.{rng.randrange(10**digits):0{digits}}"


def _written(verb: str, table: str, rows: list[list[str]], *, evaluated: bool) -> str:
    """A statement that writes the rows; Spark evaluates them in one that reads them from a query of its own."""
    values = "VALUES " + ", ".join(f"({', '.join(row)})" for row in rows)
    if verb != "MERGE":
        return f"{verb} INTO {table} " + (f"SELECT * FROM ({values})" if evaluated else values)
    names = ["n", *(f"c{number}" for number in range(len(PLAIN)))]
    query, listed = values, f"({', '.join(names)})"
    if len(rows) == 1:
        selected = (f"{value} AS {name}" for value, name in zip(rows[0], names, strict=True))
        query, listed = f"SELECT {', '.join(selected)}", ""
    source = f"(SELECT * FROM ({query}))" if evaluated else f"({query})"
    matched = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    return f"MERGE INTO {table} AS t USING {source} AS s{listed} ON t.n = s.n {matched}"


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
    if upserts != "resolved":
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


@pytest.mark.parametrize("seed", range(3))
def test_literals_become_what_spark_makes_of_them(spark: SparkSession, table_name: str, seed: int) -> None:
    rng = random.Random(seed)
    columns = ", ".join(f"c{number} {type}" for number, type in enumerate(PLAIN))
    key = "PRIMARY KEY (n) NOT ENFORCED) TBLPROPERTIES ('write.upsert.mode'='equality'"
    for way in ("literals", "evaluated"):
        spark.sql(f"CREATE TABLE {table_name}_{way} (n INT, {columns}, {key})")
    for statement in range(12):
        rows = []
        for number in range(rng.choice([1, 1, 3])):
            drawn = {type: rng.choice([draw(rng), draw(rng), "NULL"]) for type, draw in PLAIN.items()}
            if statement % 3 == 0:
                type = rng.choice(list(EVALUATED))
                drawn[type] = rng.choice(EVALUATED[type])
            # every third statement changes the rows of the one before it
            key = str((statement - (statement % 3 == 1)) * 10 + number)
            rows.append([key, *drawn.values()])
        verb = rng.choice(["UPSERT", "MERGE"]) if statement % 3 == 1 else "INSERT"
        for way in ("literals", "evaluated"):
            spark.sql(_written(verb, f"{table_name}_{way}", rows, evaluated=way == "evaluated"))
    found, expected = (
        [repr(row) for row in spark.sql(f"SELECT * FROM {table_name}_{way} ORDER BY n").collect()]
        for way in ("literals", "evaluated")
    )
    assert found == expected, f"seed {seed}"


def test_literals_are_assigned_by_the_policy_of_the_session(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (amount DOUBLE)")
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    try:
        with pytest.raises(AnalysisException, match="CANNOT_SAFELY_CAST"):
            spark.sql(f"INSERT INTO {table_name} VALUES (1.5)")
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    spark.sql(f"INSERT INTO {table_name} VALUES (1.5)")
    assert [row.amount for row in spark.table(table_name).collect()] == [1.5]


def test_literals_are_held_to_the_rules_and_the_order_of_the_table(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT NOT NULL, name STRING, CONSTRAINT positive CHECK (id > 0))")
    spark.sql(f"ALTER TABLE {table_name} WRITE ORDERED BY id")
    for refused, condition in (("(-1, 'a')", "CHECK_CONSTRAINT_VIOLATION"), ("(NULL, 'a')", "NULL_IN_REQUIRED_COLUMN")):
        with pytest.raises(Exception, match=condition):
            spark.sql(f"INSERT INTO {table_name} VALUES {refused}")
    spark.sql(f"ALTER TABLE {table_name} DROP CONSTRAINT positive")
    spark.sql(f"INSERT INTO {table_name} (name, id) VALUES ('b', 2), ('a', 1), ('c', 3)")
    assert [tuple(row) for row in spark.table(table_name).collect()] == [(1, "a"), (2, "b"), (3, "c")]
