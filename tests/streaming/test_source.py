"""Tables as sources of streaming queries: the rows there are, those that come, and changes with their kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge


def _copy(
    spark: SparkSession, source: str, target: str, folder: Path, mode: str = "append", **options: str
) -> list[int]:
    """Streams what there is of one table into another; the numbers of rows of the batches."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    writer = spark.readStream.options(**named).table(source).writeStream.outputMode(mode)
    query = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True).toTable(target)
    query.awaitTermination()
    return [progress["numInputRows"] for progress in query.recentProgress]


def _rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def test_rows_there_are_and_rows_that_come(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    copy = f"{table_name}_copy"
    for name in (table_name, copy):
        spark.sql(f"CREATE TABLE {name} (id INT, v STRING)")
    for id in (1, 2, 3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id}, 'a')")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    limited = {"streaming_max_files_per_micro_batch": "1"}
    assert _copy(spark, table_name, copy, tmp_path / "c", **limited) == [1, 1]
    spark.sql(f"INSERT INTO {table_name} VALUES (4, 'b'), (5, 'b')")
    spark.sql(f"INSERT INTO {table_name} VALUES (6, 'b')")
    assert _copy(spark, table_name, copy, tmp_path / "c", **limited) == [2, 1]
    assert _rows(spark, copy) == _rows(spark, table_name)

    spark.sql(f"DELETE FROM {table_name} WHERE id = 4")
    with pytest.raises(StreamingQueryException, match="STREAM_SNAPSHOT_CHANGES_ROWS"):
        _copy(spark, table_name, copy, tmp_path / "c")
    spark.sql(f"INSERT INTO {table_name} VALUES (7, 'c')")
    _copy(spark, table_name, copy, tmp_path / "c", streaming_skip_delete_snapshots="true")
    assert [row[0] for row in _rows(spark, copy)] == [1, 2, 4, 5, 6, 7]


def test_changes_with_their_kinds_keep_a_copy(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    copy = f"{table_name}_copy"
    for name in (table_name, copy):
        spark.sql(f"CREATE TABLE {name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    _copy(spark, table_name, copy, tmp_path / "c", "update", row_kinds="true")
    assert _rows(spark, copy) == [(1, "a"), (2, "b"), (3, "c")]
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A'), (4, 'd')")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'AA')")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 2")
    _copy(spark, table_name, copy, tmp_path / "c", "update", row_kinds="true")
    assert _rows(spark, copy) == _rows(spark, table_name) == [(1, "AA"), (3, "c"), (4, "d")]


def test_a_part_of_a_table_is_no_source(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    for name in (table_name, f"{table_name}_copy"):
        spark.sql(f"CREATE TABLE {name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    with pytest.raises(AnalysisException, match=f"STREAM_OF_PLACE.*{table_name}.ro"):
        _copy(spark, f"{table_name}.ro", f"{table_name}_copy", tmp_path / "c")


def test_where_a_stream_begins(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    for name in (table_name, f"{table_name}_copy"):
        spark.sql(f"CREATE TABLE {name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"INSERT INTO {table_name} VALUES (2)")
    first = spark.sql(f"SELECT min_by(snapshot_id, committed_at) AS id FROM {table_name}.snapshots").first()
    assert first is not None
    _copy(spark, table_name, f"{table_name}_copy", tmp_path / "snapshot", start_snapshot_id=str(first.id))
    assert _rows(spark, f"{table_name}_copy") == [(2,)]
    _copy(spark, table_name, f"{table_name}_copy", tmp_path / "latest", stream_from="latest")
    spark.sql(f"INSERT INTO {table_name} VALUES (3)")
    _copy(spark, table_name, f"{table_name}_copy", tmp_path / "latest", stream_from="latest")
    assert _rows(spark, f"{table_name}_copy") == [(2,), (3,)]
    with pytest.raises(AnalysisException, match="UNKNOWN_STREAM_OPTION"):
        spark.readStream.option("start-snapshot", "1").table(table_name)


def test_a_consumer_is_where_its_query_is(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, tmp_path: Path
) -> None:
    copy, name = f"{table_name}_copy", table_name.removeprefix("lake.")
    for one in (table_name, copy):
        spark.sql(f"CREATE TABLE {one} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    consumer = {"row_kinds": "true", "consumer_id": "job"}
    _copy(spark, table_name, copy, tmp_path / "c", "update", **consumer)
    first = _consumer(spark, name)
    heads = [row.snapshot_id for row in spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots").collect()]
    assert first == ("job", heads[-1], "main", False)

    # Another checkpoint goes on there, also where what lies between has expired by another engine.
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A')")
    spark.sql(f"UPSERT INTO {table_name} VALUES (3, 'c')")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 2")
    iceberg.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2099-01-01 00:00:00', 1)")
    spark.catalog.refreshTable(table_name)
    left = [row.snapshot_id for row in spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots").collect()]
    assert len(left) == 2
    assert heads[-1] in left
    _copy(spark, table_name, copy, tmp_path / "other", "update", **consumer)
    assert _rows(spark, copy) == _rows(spark, table_name) == [(1, "A"), (3, "c")]
    assert _consumer(spark, name)[1] == left[-1]

    spark.sql(f"CALL lake.system.reset_consumer('{name}', 'job', {heads[-1]})")
    assert _consumer(spark, name)[1] == heads[-1]
    assert spark.sql(f"CALL lake.system.drop_consumer('{name}', 'job')").collect() == []
    assert [row.name for row in spark.sql(f"SELECT name FROM {table_name}.refs").collect()] == ["main"]


UNPROTECTED = {"protect_from_expiry": "false"}
WAYS = [
    ("append", UNPROTECTED),
    ("append", {"consumer_id": "job", "streaming_max_files_per_micro_batch": "1"}),
    ("update", {"row_kinds": "true", **UNPROTECTED}),
    ("update", {"row_kinds": "true", "consumer_id": "job"}),
]


@pytest.mark.turns(1)
@pytest.mark.parametrize(("mode", "options"), WAYS)
def test_a_query_begins_again_behind_snapshots_that_have_expired(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, tmp_path: Path, mode: str, options: dict[str, str]
) -> None:
    """Where nothing is new, or what is new can be told by what is there; rows that cannot are not passed over."""
    copy = f"{table_name}_copy"
    for one in (table_name, copy):
        spark.sql(f"CREATE TABLE {one} (id INT, v STRING, PRIMARY KEY (id))")

    def run() -> None:
        _copy(spark, table_name, copy, tmp_path / "c", mode, **options)

    def expire() -> None:
        name = table_name.removeprefix("lake.")
        iceberg.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2099-01-01 00:00:00', 1)")

    for id in (1, 2):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id}, 'a')")
        run()
    for step in ("nothing", "rewrite", "append"):
        if step == "rewrite":
            spark.sql(f"CALL lake.system.compact('{table_name}')")
        if step == "append":
            spark.sql(f"INSERT INTO {table_name} VALUES (3, 'a'), (4, 'a')")
        expire()
        run()
        run()
        assert _rows(spark, copy) == _rows(spark, table_name), step
    for id in (5, 6):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id}, 'a')")
    expire()
    if "consumer_id" in options:
        run()
        assert _rows(spark, copy) == _rows(spark, table_name)
    else:
        with pytest.raises(StreamingQueryException, match="STREAM_POSITION_GONE"):
            run()
        assert [row[0] for row in _rows(spark, copy)] == [1, 2, 3, 4]


def test_a_batch_that_was_not_done_is_read_again_or_ends_the_query(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, tmp_path: Path
) -> None:
    """When its beginning has expired: by the files that its only snapshot added; never as a batch without rows."""
    name = table_name.removeprefix("lake.")
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    seen: list[int] = []

    def run() -> list[int]:
        seen.clear()
        writer = spark.readStream.table(table_name).writeStream.option("checkpointLocation", str(tmp_path / "c"))
        query = writer.foreachBatch(lambda rows, _: seen.extend(row.id for row in rows.collect()))
        query.trigger(availableNow=True).start().awaitTermination()
        return sorted(seen)

    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    assert run() == [1]
    spark.sql(f"INSERT INTO {table_name} VALUES (2)")
    assert run() == [2]
    iceberg.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2099-01-01 00:00:00', 1)")
    for log in (tmp_path / "c" / "commits").glob("*1*"):
        log.unlink()
    assert run() == [2]
    for id in (3, 4):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id})")
    assert run() == [3, 4]
    iceberg.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2099-01-01 00:00:00', 1)")
    assert run() == []
    for log in (tmp_path / "c" / "commits").glob("*2*"):
        log.unlink()
    with pytest.raises(StreamingQueryException, match="STREAM_POSITION_GONE"):
        run()
    assert seen == []


def _consumer(spark: SparkSession, table: str) -> tuple[Any, ...]:
    (row,) = spark.sql(f"CALL lake.system.consumers('{table}')").collect()
    return (row.consumer_id, row.snapshot_id, row.branch, row.expired)
