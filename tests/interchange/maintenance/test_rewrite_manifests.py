"""rewrite_manifests beside Iceberg's: two tables of one history, each rewritten by one of them.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError
from judges.judged import Judged

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))
NAMES = ("ours", "theirs")
NUMBERS = (
    "SELECT sequence_number, file_sequence_number, data_file.content, data_file.spec_id,"
    " data_file.record_count FROM {table}.entries WHERE status < 2"
)


class Pair:
    """Two tables, on which the same engine runs each statement."""

    def __init__(self, spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, name: str, random: Random) -> None:
        self.spark, self.iceberg, self.random = spark, iceberg, random
        self.tables = {which: f"{name}_{which}" for which in NAMES}
        self.judges = [Judged(spark, iceberg, warehouse, table) for table in self.tables.values()]

    def run(self, statement: str, engine: str | None = None) -> None:
        engine = engine or self.random.choice(("sqlext", "iceberg"))
        for table in self.tables.values():
            text = statement.replace("{table}", table)
            self.spark.sql(text) if engine == "sqlext" else self.iceberg.sql(text)

    def rewrite(self, arguments: str = "") -> tuple[list[Any], list[Any]]:
        """The rows of sqlext's procedure and of Iceberg's."""
        text = "CALL {catalog}.system.rewrite_manifests(table => '{table}'" + arguments + ")"
        ours = self.spark.sql(text.format(catalog="sqlext", table=self.tables["ours"]))
        theirs = self.iceberg.sql(text.format(catalog="lake", table=self.tables["theirs"]))
        return canonical_rows(ours), theirs

    def check(self) -> None:
        """All engines read the same rows of both tables, now and at each snapshot, from entries of equal numbers."""
        for judged in self.judges:
            judged.check()
        ours, theirs = (self.history(table) for table in self.tables.values())
        assert ours == theirs
        ours, theirs = (self.iceberg.sql(NUMBERS.format(table=table)) for table in self.tables.values())
        assert ours == theirs

    def history(self, table: str) -> list[Any]:
        """The operation of each snapshot, and its rows by both engines, from the oldest on."""
        found = []
        for snapshot_id, operation in self.spark.sql(
            f"SELECT snapshot_id, operation FROM {table}.snapshots ORDER BY committed_at"
        ).collect():
            read = f"SELECT * FROM {table} VERSION AS OF {snapshot_id}"
            rows = self.iceberg.sql(read)
            assert canonical_rows(self.spark.sql(read)) == rows
            found.append((operation, rows))
        return found


@pytest.fixture
def pair(spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str) -> Pair:
    return Pair(spark, iceberg, warehouse, table_name, Random(SEED))


@pytest.mark.turns(2, pool="random histories")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_random_history(pair: Pair, version: int) -> None:
    pair.random = random = Random(f"{SEED}-{version}")
    pair.run(
        "CREATE TABLE {table} (id INT, region STRING, price DECIMAL(9, 2)) USING iceberg PARTITIONED BY (region, price)"
        f" TBLPROPERTIES ('format-version'='{version}', 'commit.manifest-merge.enabled'='false',"
        " 'write.delete.mode'='merge-on-read')"
        if version > 1
        else "CREATE TABLE {table} (id INT, region STRING, price DECIMAL(9, 2)) USING iceberg"
        " PARTITIONED BY (region, price) TBLPROPERTIES ('format-version'='1', 'commit.manifest-merge.enabled'='false')",
        "iceberg",
    )
    for step in range(9):
        id = 10 * step
        regions = random.choices(("'eu'", "'us'", "NULL"), k=3)
        values = ", ".join(f"({id + n}, {region}, {random.choice((1.5, -2))})" for n, region in enumerate(regions))
        pair.run(f"INSERT INTO {{table}} VALUES {values}")
        if random.random() < 0.5:
            where = f"id = {random.randrange(id + 3)}" if version > 1 else "region = 'us'"
            pair.run(f"DELETE FROM {{table}} WHERE {where}", None if version > 1 else "iceberg")
        if step == 5:
            pair.run("ALTER TABLE {table} ADD PARTITION FIELD bucket(3, id)", "iceberg")
        if step in (3, 7):
            ours, theirs = pair.rewrite()
            assert ours == theirs, f"SQLEXT_TEST_SEED={SEED}"
            assert ours[0][0] > 1
            pair.check()
    ours, theirs = pair.rewrite(", spec_id => 0, use_caching => true")
    assert ours == theirs
    assert pair.rewrite(", spec_id => 0") == ([[0, 0]], [[0, 0]])
    pair.check()


@pytest.mark.parametrize("arguments", ["", ", sort_by => array('b')"])
def test_manifests_by_size_and_partition(pair: Pair, arguments: str) -> None:
    """As many as Iceberg makes, where there are more partitions than manifests."""
    pair.run(
        "CREATE TABLE {table} (id INT, a INT, b INT) USING iceberg PARTITIONED BY (a, b)"
        " TBLPROPERTIES ('format-version'='2')",
        "iceberg",
    )
    for step in range(3):
        pair.run(f"INSERT INTO {{table}} SELECT id, id % 20, id % 2 + {step} FROM range(40)", "iceberg")
    (size,) = pair.spark.sql(f"SELECT sum(length) FROM {pair.tables['ours']}.manifests").collect()[0]
    target = f"'commit.manifest.target-size-bytes'='{size * 2 // 3}'"
    pair.run(f"ALTER TABLE {{table}} SET TBLPROPERTIES ({target})", "iceberg")
    assert pair.rewrite(arguments) == ([[3, 2]], [[3, 2]])
    summaries = "SELECT partition_summaries.lower_bound, partition_summaries.upper_bound FROM {table}.manifests"
    for table in pair.tables.values():
        first, second = sorted(canonical_rows(pair.spark.sql(summaries.format(table=table))))
        field = 1 if arguments else 0
        # Texts of small numbers: their order is that of the numbers only for fields of one digit.
        assert not arguments or first[1][field] < second[0][field]
    pair.check()


def test_both_refuse_the_same_arguments(pair: Pair) -> None:
    pair.run("CREATE TABLE {table} (id INT, a INT) USING iceberg PARTITIONED BY (a)", "iceberg")
    for arguments in (", spec_id => 3", ", sort_by => array()", ", sort_by => array('id')", ", other => true"):
        text = "CALL {catalog}.system.rewrite_manifests(table => '{table}'" + arguments + ")"
        with pytest.raises(PySparkException, match="PROCEDURE_ARGUMENT"):
            pair.spark.sql(text.format(catalog="sqlext", table=pair.tables["ours"]))
        with pytest.raises(JudgeError):
            pair.iceberg.sql(text.format(catalog="lake", table=pair.tables["theirs"]))


def test_manifests_of_iceberg_are_rewritten_here_and_those_of_here_there(pair: Pair) -> None:
    """Of wide entries with all metrics, each engine of the other's."""
    pair.run(
        "CREATE TABLE {table} (id BIGINT, s STRING, x DOUBLE, d DATE, t TIMESTAMP, b BINARY) USING iceberg"
        " PARTITIONED BY (days(t), truncate(2, s)) TBLPROPERTIES ('format-version'='3')",
        "iceberg",
    )
    for engine in ("iceberg", "sqlext", "iceberg"):
        pair.run(
            "INSERT INTO {table} SELECT id, concat('s', id), CASE WHEN id = 3 THEN double('NaN') ELSE id / 3 END,"
            " DATE'2026-01-01' + CAST(id AS INT), TIMESTAMP'2026-01-01 00:00:00' + make_dt_interval(CAST(id AS INT)),"
            " CAST(CAST(id AS STRING) AS BINARY) FROM range(6)",
            engine,
        )
    for _ in range(2):
        ours, theirs = pair.rewrite()
        assert ours == theirs
        pair.check()
        pair.tables = dict(zip(NAMES, [*pair.tables.values()][::-1], strict=True))
        pair.run("INSERT INTO {table} SELECT 9, 's', 0, NULL, NULL, NULL", "sqlext")
