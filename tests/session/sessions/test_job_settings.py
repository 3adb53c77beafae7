"""Settings that a write needs for its Spark job hold for that job alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sessions import planned
from sqlext.spark.query.driver_rows import checkpointed
from sqlext.spark.query.write_job import run_write
from sqlext.write.commit_message import counts_message, encode_messages

_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


@contextmanager
def settings(spark: SparkSession, **values: object) -> Iterator[None]:
    """While it lasts, the session has the settings, `a__b` for `spark.sql.a.b`."""
    before = spark.conf.getAll
    names = {f"spark.sql.{name.replace('__', '.')}": str(value) for name, value in values.items()}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            if name in before:
                spark.conf.set(name, before[name])
            else:
                spark.conf.unset(name)


def _batch_sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A write task that counts its batches by their size."""
    sizes: dict[str, int] = {}
    for batch in batches:
        sizes[str(batch.num_rows)] = sizes.get(str(batch.num_rows), 0) + 1
    yield encode_messages([counts_message(sizes)])


def _tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A write task that counts itself."""
    for _ in batches:
        pass
    yield encode_messages([counts_message({"tasks": 1})])


def _settings_seen(spark: SparkSession, write: Callable[[], object]) -> set[frozenset[tuple[str, str]]]:
    """The settings that another thread finds in the session while `write` runs."""
    seen: set[frozenset[tuple[str, str]]] = set()
    written = threading.Event()

    def watch() -> None:
        while not written.is_set():
            seen.add(frozenset(spark.conf.getAll.items()))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        write()
    finally:
        written.set()
        watching.join()
    return seen


def test_another_thread_never_sees_the_settings_of_a_write(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT NOT NULL, day INT, PRIMARY KEY (id))")
    rows = spark.range(1_000).selectExpr("id", "CAST(id % 3 AS INT) AS day")
    rows.createOrReplaceTempView("watched_rows")

    def write() -> None:
        for _ in range(2):
            spark.sql(f"INSERT INTO {table_name} SELECT id + 5000, day FROM watched_rows")
            spark.sql(
                f"INSERT INTO {table_name} /*+ OPTIONS('write-parallelism'='1') */ "
                "SELECT max(id) + 9000, day FROM watched_rows GROUP BY day"
            )
            rows.writeTo(table_name).option("write-parallelism", "3").option("upsert-enabled", "true").append()
            spark.sql(f"DELETE FROM {table_name} WHERE id >= 5000")

    with planned(spark, force="tasks"):
        before = frozenset(spark.conf.getAll.items())
        assert _settings_seen(spark, write) == {before}
    assert spark.table(table_name).count() == 1_000
    spark.catalog.dropTempView("watched_rows")


@pytest.mark.parametrize("own", [{}, {_RECORDS: "2500"}, {_BYTES: "1g"}])
def test_batches_are_of_one_size_whatever_the_session_says_of_those_of_its_own_functions(
    spark: SparkSession, own: Mapping[str, str]
) -> None:
    for name, value in own.items():
        spark.conf.set(name, value)
    try:
        assert run_write(spark.range(0, 10_000, 1, 1), _batch_sizes).counts == {"4096": 2, "1808": 1}
    finally:
        for name in own:
            spark.conf.unset(name)


def _grouped(rows: DataFrame) -> DataFrame:
    return rows.groupBy("id").count()


def _joined(rows: DataFrame) -> DataFrame:
    return rows.join(rows.hint("merge"), "id")


def _repartitioned(rows: DataFrame) -> DataFrame:
    return rows.repartition(F.col("id"))


def _ranged(rows: DataFrame) -> DataFrame:
    return rows.repartitionByRange(F.col("id"))


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("shuffled", [_grouped, _joined, _repartitioned, _ranged])
def test_shuffles_of_a_write_have_its_tasks(
    spark: SparkSession, shuffled: Callable[[DataFrame], DataFrame], adaptive: bool
) -> None:
    kept = {"adaptive__coalescePartitions__enabled": False, "adaptive__localShuffleReader__enabled": False}
    with settings(spark, adaptive__enabled=adaptive, **kept):
        rows = shuffled(spark.range(0, 1_000, 1, 4).selectExpr("id % 100 AS id"))
        assert run_write(rows, _tasks, tasks=7).counts == {"tasks": 7}
        assert run_write(rows, _tasks).counts == {"tasks": 2}
        # Rows that Spark holds have been planned once for all.
        assert run_write(
            checkpointed(shuffled(spark.range(0, 1_000, 1, 4).selectExpr("id % 100 AS id")), tasks=5), _tasks
        ).counts == {"tasks": 5}


def test_partitions_that_a_query_names_stay(spark: SparkSession) -> None:
    assert run_write(spark.range(100).repartition(3), _tasks, tasks=7).counts == {"tasks": 3}


def test_a_write_is_in_the_job_group_of_its_thread(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    context = spark.sparkContext
    slow = spark.range(0, 4, 1, 4).select(F.expr("id + CAST(reflect('java.lang.Thread', 'sleep', 60000L) AS BIGINT)"))
    failures: list[BaseException] = []

    def write() -> None:
        context.setJobGroup("slow write", "rows that take a minute", interruptOnCancel=True)
        try:
            slow.toDF("id").writeTo(table_name).append()
        except (PySparkException, Py4JJavaError) as failure:
            failures.append(failure)

    with planned(spark, force="tasks"):
        writing = threading.Thread(target=write)
        writing.start()
        while writing.is_alive() and not context.statusTracker().getActiveJobsIds():
            writing.join(0.05)
        assert context.statusTracker().getJobIdsForGroup("slow write")
        context.cancelJobGroup("slow write")
        writing.join(50)
    assert not writing.is_alive()
    assert failures
    assert spark.table(table_name).count() == 0
