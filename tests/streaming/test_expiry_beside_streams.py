"""Expiry beside streams without a consumer-id: one that lags, one that is started again, one that ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from judges.iceberg import IcebergJudge

EXPIRE = "CALL lake.system.expire_snapshots(table => '{}', older_than => TIMESTAMP '2099-01-01 00:00:00')"
EXPIRIES = (EXPIRE, "VACUUM {} RETAIN 0 HOURS")


class Reader:
    """A query that reads a table into `seen`, a file at a time; each batch waits until `goes_on` is set."""

    def __init__(self, spark: SparkSession, table: str, **options: str) -> None:
        self.spark, self.table, self.options = spark, table, options
        self.seen: list[int] = []
        self.waits, self.goes_on = threading.Event(), threading.Event()
        self.goes_on.set()

    @contextmanager
    def running(self, checkpoint: Path | None) -> Iterator[StreamingQuery]:
        options = {"streaming-max-files-per-micro-batch": "1", **self.options}
        written = self.spark.readStream.options(**options).table(self.table).writeStream.foreachBatch(self._take)
        if checkpoint is not None:
            written = written.option("checkpointLocation", str(checkpoint))
        query = written.queryName("reader").start()
        try:
            yield query
            query.processAllAvailable()
        finally:
            self.goes_on.set()
            query.stop()

    def read(self, checkpoint: Path) -> list[int]:
        """All that there is to read."""
        with self.running(checkpoint):
            pass
        return sorted(self.seen)

    def _take(self, rows: DataFrame, number: int) -> None:
        self.waits.set()
        assert self.goes_on.wait(60)
        self.seen.extend(row.id for row in rows.collect())


def _inserted(spark: SparkSession, table: str, *ids: int) -> None:
    for id in ids:
        spark.sql(f"INSERT INTO {table} VALUES ({id})")


def _snapshots(spark: SparkSession, table: str) -> int:
    return int(spark.table(f"{table}.snapshots").count())


@pytest.mark.parametrize("expiry", EXPIRIES, ids=["expire", "vacuum"])
@pytest.mark.parametrize("branch", ["", ".branch_side"], ids=["main", "branch"])
def test_a_stream_that_lags_loses_nothing(
    spark: SparkSession, table_name: str, tmp_path: Path, expiry: str, branch: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    _inserted(spark, table_name, 0)
    if branch:
        spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH side")
    place = table_name + branch
    _inserted(spark, place, 1)
    reader = Reader(spark, place)
    reader.goes_on.clear()
    with reader.running(tmp_path / "c") as query:
        assert reader.waits.wait(60)
        _inserted(spark, place, 2, 3, 4)
        spark.sql(f"DELETE FROM {place} WHERE id < 0")
        spark.sql(f"CALL lake.system.compact(table => '{table_name}', full => true)")
        spark.sql(expiry.format(table_name))
        (row,) = spark.sql(f"CALL lake.system.consumers('{table_name}')").collect()
        assert row.consumer_id == f"query-{query.id}"
        assert (row.query, row.branch, row.expired) == ("reader", "side" if branch else "main", False)
        assert row.unread_snapshots >= 3
        reader.goes_on.set()
    assert sorted(reader.seen) == [0, 1, 2, 3, 4]


def test_a_stream_that_is_started_again_loses_nothing(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    _inserted(spark, table_name, 1, 2)
    reader = Reader(spark, table_name)
    assert reader.read(tmp_path / "c") == [1, 2]
    _inserted(spark, table_name, 3, 4)
    spark.sql(EXPIRE.format(table_name))
    assert _snapshots(spark, table_name) == 3, "that of its position, and what follows"
    assert reader.read(tmp_path / "c") == [1, 2, 3, 4]
    # Its position is known to the table as it ends, so that another engine keeps it too.
    _inserted(spark, table_name, 5, 6)
    iceberg.sql(f"CALL lake.system.expire_snapshots('{table_name.removeprefix('lake.')}', TIMESTAMP '2099-01-01', 1)")
    spark.catalog.refreshTable(table_name)
    assert _snapshots(spark, table_name) == 2
    assert reader.read(tmp_path / "c") == [1, 2, 3, 4, 5, 6]


def test_a_stream_that_ends_for_good_keeps_nothing(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Its checkpoint goes with it; and one that is dropped by hand."""
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    _inserted(spark, table_name, 1, 2)
    listed = f"CALL lake.system.consumers('{table_name}')"
    reader = Reader(spark, table_name)
    reader.goes_on.clear()
    with reader.running(None):
        assert reader.waits.wait(60)
        assert len(spark.sql(listed).collect()) == 1
        reader.goes_on.set()
    assert spark.sql(listed).collect() == []
    assert sorted(reader.seen) == [1, 2]

    Reader(spark, table_name).read(tmp_path / "c")
    (row,) = spark.sql(listed).collect()
    with pytest.raises(Exception, match="CONSUMER_IS_QUERY"):
        spark.sql(f"CALL lake.system.reset_consumer('{table_name}', '{row.consumer_id}')")
    assert spark.sql(f"CALL lake.system.drop_consumer('{table_name}', '{row.consumer_id}')").collect() == []
    assert [row.name for row in spark.table(f"{table_name}.refs").collect()] == ["main"]


def test_a_stream_can_leave_its_table_alone(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    _inserted(spark, table_name, 1, 2)
    before = spark.table(f"{table_name}.metadata_log_entries").count()
    assert Reader(spark, table_name, **{"protect-from-expiry": "false"}).read(tmp_path / "c") == [1, 2]
    assert spark.table(f"{table_name}.metadata_log_entries").count() == before
    assert spark.sql(f"CALL lake.system.consumers('{table_name}')").collect() == []


def test_two_sources_of_one_query_have_a_consumer_each(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    _inserted(spark, table_name, 1, 2)
    both = spark.readStream.table(table_name).union(spark.readStream.table(table_name))
    seen: list[int] = []
    written = both.writeStream.foreachBatch(lambda rows, _: seen.extend(row.id for row in rows.collect()))
    query = written.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(seen) == [1, 1, 2, 2]
    found = [row.consumer_id for row in spark.sql(f"CALL lake.system.consumers('{table_name}')").collect()]
    assert sorted(found) == [f"query-{query.id}", f"query-{query.id}-1"]


def test_health_tells_for_whom_snapshots_stay(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) TBLPROPERTIES ('history.expire.max-snapshot-age-ms'='1')")
    _inserted(spark, table_name, 1)
    Reader(spark, table_name).read(tmp_path / "c")
    _inserted(spark, table_name, 2, 3)
    found = spark.sql(f"CALL lake.system.health('{table_name}')").where("measure LIKE '%consumer%'").collect()
    assert [(row.value, row.about.endswith("query reader")) for row in found] == [(2, True)]
    (task,) = [
        row
        for row in spark.sql("CALL lake.system.optimize_all()").collect()
        if row.task == "expire_snapshots" and row.table.endswith(table_name.rpartition(".")[2])
    ] or [None]
    assert task is None or "kept for consumer query-" in task.result
