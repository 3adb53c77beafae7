"""Care and all procedures in a loop, while others upsert, delete, change columns, read slowly, stream and are killed.

Each writer has keys of its own, and tells by its rows how many of its statements have landed (`counted_history`).
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

from judges.counted_history import CountedHistory
from judges.iceberg import IcebergJudge

SECONDS = float(os.environ.get("SQLEXT_CARE_SECONDS", "90"))
WRITERS = 3
BRANCH, KILLED = WRITERS, WRITERS + 1
"""The numbers of the writers of a branch, and of processes that are killed."""
# Statements must be done before the files that they write may be taken for orphans.
ORPHAN_AGE_S = 30


class Writer:
    """Upserts of one history to the table, or to a branch of it."""

    def __init__(self, spark: SparkSession, table: str, history: CountedHistory) -> None:
        self._spark, self._table, self.history, self.count = spark, table, history, 0

    def step(self) -> None:
        rows = [
            f"({id}, 0, '-D')" if value is None else f"({id}, {value}, '+U')"
            for id, value in self.history.statement(self.count + 1).items()
        ]
        self._spark.sql(f"UPSERT INTO {self._table} (id, n, _row_kind) VALUES {', '.join(rows)}")
        self.count += 1


class Killed:
    """Processes without a JVM, one after another, each of which is killed while it upserts."""

    def __init__(self, warehouse: Path, table: str, history: CountedHistory, rng: random.Random) -> None:
        script = Path(__file__).with_name("killed_writer.py")
        name = table.rpartition(".")[2]
        self._command = [sys.executable, str(script), str(warehouse), name, str(history.number), str(history.seed)]
        self._rng = rng

    def step(self) -> None:
        path = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        said = subprocess.PIPE
        with subprocess.Popen(self._command, env=path, stdout=said, stderr=said, text=True) as process:
            assert process.stdout is not None
            began = process.stdout.readline()
            time.sleep(2 * self._rng.random())
            process.kill()
            _, failure = process.communicate()
        assert began, failure
        assert not failure


class Others:
    """Threads that go on until the time is over or one of them fails."""

    def __init__(self, seconds: float) -> None:
        self._ends_s = time.monotonic() + seconds
        self.failures: list[BaseException] = []

    def goes_on(self) -> bool:
        return time.monotonic() < self._ends_s and not self.failures

    def loop(self, step: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                while self.goes_on():
                    step()
            except BaseException as failure:
                self.failures.append(failure)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class Care:
    """Procedures in random order, and how many merges of compactions have landed."""

    def __init__(self, spark: SparkSession, table: str, rng: random.Random, *, is_partitioned: bool) -> None:
        self._spark, self._name, self._rng = spark, table.removeprefix("lake."), rng
        self.landed = self.given_up = 0
        self._calls: list[Callable[[], object]] = [
            self._compact,
            self._compact,
            self._compact,
            self._expire,
            self._rewrite_data_files,
            self._check,
            lambda: remove_orphans(spark, self._name, ORPHAN_AGE_S),
            lambda: self._call("rewrite_manifests"),
            lambda: self._rewrite("convert_equality_deletes"),
            lambda: self._rewrite("rewrite_position_delete_files"),
            lambda: self._call("compute_table_stats"),
        ]
        if is_partitioned:
            self._calls.append(lambda: self._call("compute_partition_stats"))

    def step(self) -> None:
        self._rng.choice(self._calls)()
        time.sleep(0.05)

    def _call(self, procedure: str, *arguments: str) -> Sequence[Mapping[str, object]]:
        given = ", ".join([f"table => '{self._name}'", *arguments])
        return [row.asDict() for row in self._spark.sql(f"CALL lake.system.{procedure}({given})").collect()]

    def _compact(self) -> None:
        (told,) = self._call("compact", f"full => {self._rng.choice(('true', 'false'))}")
        self.landed += int(str(told["compacted_buckets_count"]))
        self.given_up += int(str(told["failed_buckets_count"]))

    def _expire(self) -> None:
        older = "older_than => current_timestamp() - INTERVAL 20 SECONDS"
        self._call("expire_snapshots", older, f"retain_last => {self._rng.randint(1, 5)}")

    def _rewrite_data_files(self) -> None:
        sorted_by = self._rng.choice((("strategy => 'sort'", "sort_order => 'n, id'"), ()))
        self._rewrite("rewrite_data_files", *sorted_by, "options => map('min-input-files', '2')")

    def _rewrite(self, procedure: str, *arguments: str) -> None:
        """A compaction of the table itself may have replaced all files first, which refuses the rewrite."""
        try:
            self._call(procedure, *arguments)
        except AnalysisException as refused:
            if refused.getCondition() != "CONCURRENT_CHANGE":
                raise

    def _check(self) -> None:
        assert [row for row in self._call("fsck") if row["severity"] == "error"] == []


def remove_orphans(spark: SparkSession, name: str, age_s: int) -> list[str]:
    return [
        row.orphan_file_location
        for row in spark.sql(
            f"CALL lake.system.remove_orphan_files(table => '{name}', dry_run => false, force => true, older_than =>"
            f" current_timestamp() - INTERVAL {age_s} SECONDS)"
        ).collect()
    ]


class Definitions:
    """Columns come and go, and so do tags, which keep a snapshot for slow readers."""

    def __init__(
        self, spark: SparkSession, table: str, rng: random.Random, histories: Sequence[CountedHistory]
    ) -> None:
        self._spark, self._table, self._rng, self._histories = spark, table, rng, histories
        self._count = 0

    def step(self) -> None:
        self._count += 1
        column, tag = f"c{self._count}", f"tag_{self._count}"
        self._spark.sql(f"ALTER TABLE {self._table} ADD COLUMN {column} INT")
        self._spark.sql(f"ALTER TABLE {self._table} CREATE TAG {tag}")
        rows = self._spark.sql(f"SELECT id, n FROM {self._table} VERSION AS OF '{tag}'").toLocalIterator()
        found = dict[int, int]()
        for row in rows:
            found[row.id] = row.n
            if len(found) % 40 == 0:
                time.sleep(0.05)
        for history in self._histories:
            history.require_state(found)
        if self._rng.random() < 0.7:
            self._spark.sql(f"ALTER TABLE {self._table} DROP TAG {tag}")
        self._spark.sql(f"ALTER TABLE {self._table} DROP COLUMN {column}")


class Copy:
    """A stream, with a consumer, of the table's changes into another table."""

    def __init__(self, spark: SparkSession, table: str, checkpoint: Path) -> None:
        self._spark, self._table, self._checkpoint = spark, table, checkpoint
        self.name = f"{table}_copy"
        spark.sql(f"CREATE TABLE {self.name} (id INT, n INT, PRIMARY KEY (id))")

    def step(self) -> None:
        reader = self._spark.readStream.option("row-kinds", "true").option("consumer-id", "copy")
        changes = reader.table(self._table).select("id", "n", "_row_kind")
        writer = changes.writeStream.outputMode("update").option("checkpointLocation", str(self._checkpoint))
        try:
            writer.trigger(availableNow=True).toTable(self.name).awaitTermination()
        except StreamingQueryException as ended:
            # The next query has the columns of now.
            if "STREAM_COLUMNS_CHANGED" not in str(ended):
                raise


def most_given_up(compactions: int) -> float:
    """One in twenty; in a short run four standard deviations of that more, as it has only some tens of compactions."""
    share = 0.05
    spread = 4 * math.sqrt(compactions * share * (1 - share)) if SECONDS < 600 else 0
    return compactions * share + spread


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("version", "mode", "itself", "partitioned"),
    [
        ("2", "resolved", False, ""),
        ("3", "resolved", False, "PARTITIONED BY (bucket(2, id))"),
        ("2", "equality", False, ""),
        ("3", "resolved", True, ""),
    ],
)
def test_no_row_is_lost(
    spark: SparkSession,
    iceberg: IcebergJudge,
    warehouse: Path,
    tmp_path: Path,
    table_name: str,
    version: str,
    mode: str,
    itself: bool,
    partitioned: str,
) -> None:
    """With `itself` the table is compacted after commits too, so that compactions are in each other's way."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    told = f"'format-version'='{version}', 'write.upsert.mode'='{mode}', 'write-only'='{str(not itself).lower()}'"
    spark.sql(f"CREATE TABLE {table_name} (id INT, n INT, PRIMARY KEY (id)) {partitioned} TBLPROPERTIES ({told})")
    histories = [CountedHistory(number, seed + number) for number in range(WRITERS)]
    writers = [Writer(spark, table_name, history) for history in histories]
    for writer in writers:
        writer.step()
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH side")
    aside = Writer(spark, f"{table_name}.branch_side", CountedHistory(BRANCH, seed + BRANCH))
    killed = CountedHistory(KILLED, seed + KILLED, deletes=False)
    histories += [aside.history, killed]
    care = Care(spark, table_name, random.Random(seed - 1), is_partitioned=bool(partitioned))
    copy = Copy(spark, table_name, tmp_path / "checkpoint")
    others = Others(SECONDS)
    steps = [one.step for one in (*writers, aside, care, copy)]  # type: ignore[attr-defined]
    steps.append(Definitions(spark, table_name, random.Random(seed - 2), histories).step)
    steps.append(Killed(warehouse, table_name, killed, random.Random(seed - 3)).step)
    threads = [others.loop(step) for step in steps]
    for thread in threads:
        thread.join(SECONDS + 300)
    if others.failures:
        raise others.failures[0]
    require_kept(spark, table_name, histories)
    newest = rows_of(spark, f"SELECT id, n FROM {table_name}")
    for writer in writers:
        assert writer.history.landed(newest) == writer.count
    assert killed.landed(newest) > 0
    assert aside.history.landed(newest) == 0
    assert aside.history.landed(rows_of(spark, f"SELECT id, n FROM {table_name}.branch_side")) == aside.count
    assert dict(iceberg.sql(f"SELECT id, n FROM {table_name}")) == newest
    copy.step()
    assert rows_of(spark, f"SELECT id, n FROM {copy.name}") == newest
    assert care.landed > 0
    # A statement that deletes the last row of a file removes it, which no compaction can make up for.
    assert itself or care.given_up <= most_given_up(care.landed + care.given_up)
    name = table_name.removeprefix("lake.")
    remove_orphans(spark, name, 0)
    assert remove_orphans(spark, name, 0) == []
    require_kept(spark, table_name, histories)


def require_kept(spark: SparkSession, table: str, histories: Sequence[CountedHistory]) -> None:
    """Each kept snapshot has the rows of some moment of each history."""
    for (id,) in spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect():
        rows = rows_of(spark, f"SELECT id, n FROM {table} VERSION AS OF {id}")
        for history in histories:
            history.require_state(rows)


def rows_of(spark: SparkSession, query: str) -> dict[int, int]:
    return {row.id: row.n for row in spark.sql(query).collect()}
