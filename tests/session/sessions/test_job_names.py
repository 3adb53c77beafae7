"""Spark's jobs have the names of the statements that start them, in its status store, which its UI shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sessions import planned
from sqlext.spark.query.job_names import named_jobs
from sqlext.spark.session.shown_progress import running_tasks

_LOCAL = ("spark.job.description", "callSite.short", "spark.jobGroup.id")


def _store(spark: SparkSession) -> Any:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return context.statusStore()


def _jobs(spark: SparkSession) -> dict[int, Any]:
    jobs = _store(spark).jobsList(None)
    return {jobs.apply(number).jobId(): jobs.apply(number) for number in range(jobs.size())}


class Started:
    """Descriptions and names of the jobs that were started."""

    def __init__(self) -> None:
        self.descriptions: list[str] = []
        self.names: list[str] = []
        self.groups: set[str | None] = set()


@contextmanager
def started(spark: SparkSession) -> Iterator[Started]:
    before, found = set(_jobs(spark)), Started()
    own = {name: spark.sparkContext.getLocalProperty(name) for name in _LOCAL}
    yield found
    for number, job in sorted(_jobs(spark).items()):
        if number not in before:
            found.descriptions.append(job.description().get() if job.description().isDefined() else "")
            found.names.append(job.name())
            found.groups.add(job.jobGroup().get() if job.jobGroup().isDefined() else None)
    assert {name: spark.sparkContext.getLocalProperty(name) for name in _LOCAL} == own


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='true')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, id FROM range(100)")
    return table_name


def test_jobs_are_named_after_statement_table_and_phase(spark: SparkSession, table: str) -> None:
    with planned(spark, force="tasks"), started(spark) as found:
        spark.sql(
            f"MERGE INTO {table} AS t USING (SELECT id, -id AS v FROM range(50, 150)) AS s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
        )
    assert f"MERGE INTO {table}: write files" in found.descriptions
    assert {one.split(":")[0] for one in found.descriptions} == {f"MERGE INTO {table}"}
    assert found.names == found.descriptions
    with started(spark) as found:
        spark.sql(f"DELETE FROM {table} WHERE v < 0 AND v % 2 = 0")
    assert {*found.descriptions} == {f"DELETE FROM {table}: find rows"}
    with started(spark) as found:
        spark.sql(f"UPDATE {table} SET v = 0 WHERE id % 7 = 1")
    assert {*found.descriptions} == {f"UPDATE {table}: fetch rows"}


def test_writes_of_data_frames(spark: SparkSession, table: str) -> None:
    with planned(spark, force="tasks"), started(spark) as found:
        spark.range(200, 300).selectExpr("id", "id AS v").writeTo(table).append()
        spark.range(10).selectExpr("id", "id AS v").writeTo(f"{table}_new").create()
        spark.range(10).createOrReplaceTempView("job_names_source")
        source = spark.table("job_names_source").alias("s")
        source.mergeInto(table, F.expr(f"{table}.id = s.id")).whenMatched().delete().merge()
    assert f"INSERT INTO {table}: write files" in found.descriptions
    assert f"CREATE TABLE {table}_new: write files" in found.descriptions
    assert any(one.startswith(f"MERGE INTO {table}") for one in found.descriptions)


def test_procedures_and_failures(spark: SparkSession, table: str) -> None:
    catalog, _, rest = table.partition(".")
    with started(spark) as found:
        spark.sql(f"CALL {catalog}.system.compute_table_stats('{rest}')")
    assert {one.split(":")[0] for one in found.descriptions} == {f"CALL {catalog}.system.compute_table_stats on {rest}"}
    with started(spark) as found, pytest.raises(PySparkException):
        spark.sql(f"UPDATE {table} SET v = raise_error('no') WHERE v % 2 = 1")
    assert {one.split(":")[0] for one in found.descriptions} == {f"UPDATE {table}"}


def test_what_a_user_has_set_comes_first_and_stays(spark: SparkSession, table: str) -> None:
    context = spark.sparkContext
    context.setJobGroup("nightly", "nightly load")
    try:
        with started(spark) as found:
            spark.sql(f"DELETE FROM {table} WHERE v % 2 = 1")
            spark.range(3).collect()
        assert [*dict.fromkeys(found.descriptions)] == [f"nightly load: DELETE FROM {table}: find rows", "nightly load"]
        assert found.groups == {"nightly"}
        # As spark-sql and the Thrift server do.
        text = f"UPDATE {table} SET v = v + 2 WHERE v < 1"
        context.setJobDescription(f"{text} ")
        with started(spark) as found:
            spark.sql(text)
        assert {*found.descriptions} == {f"UPDATE {table}: fetch rows"}
        context._jsc.sc().setCallSite("load.py:7")
        with started(spark) as found:
            spark.sql(f"DELETE FROM {table} WHERE v % 3 = 0")
        assert {*found.names} == {"load.py:7"}
    finally:
        context._jsc.sc().clearCallSite()
        context._jsc.sc().clearJobGroup()
    with started(spark) as found:
        spark.range(3).collect()
    assert "" in found.descriptions


def test_running_tasks_are_those_of_the_title(spark: SparkSession) -> None:
    def run() -> None:
        with named_jobs(spark, "CALL slow"), named_jobs(spark, "write files"):
            spark.range(0, 4, 1, 4).selectExpr("java_method('java.lang.Thread', 'sleep', 1000L)").collect()

    thread = InheritableThread(target=run)
    thread.start()
    steps, others = [], []
    while thread.is_alive():
        steps.append(running_tasks(spark, "CALL slow"))
        others.append(running_tasks(spark, "CALL quick"))
        time.sleep(0.05)
    told = [step for step in steps if step is not None]
    assert {(step.what, step.total) for step in told} == {("write files", 4)}
    assert all(0 <= step.done <= 4 for step in told)
    assert {*others} == {None}
    assert running_tasks(spark, "CALL slow") is None


def test_threads_have_names_of_their_own(spark: SparkSession, table: str) -> None:
    def run(number: int) -> None:
        with named_jobs(spark, f"part {number}"):
            spark.sql(f"SELECT count(*) FROM {table} WHERE v % {number + 2} = 1").collect()

    with started(spark) as found:
        threads = [InheritableThread(target=run, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {*found.descriptions} == {"part 0", "part 1", "part 2"}
