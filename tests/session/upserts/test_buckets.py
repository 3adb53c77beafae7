"""Tables in buckets under streams, threads and failures."""

from __future__ import annotations

import logging
import random
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streaming.json_stream import JsonStream, folded

CHANGES = "id BIGINT, v STRING, _row_kind STRING"


@pytest.fixture
def changes(spark: SparkSession, tmp_path: Path) -> JsonStream:
    return JsonStream(spark, tmp_path / "changes", CHANGES)


def _create(spark: SparkSession, table: str, **properties: str) -> None:
    told = {"bucket": "2", "num_sorted_run.compaction_trigger": "2", **properties}
    pairs = ", ".join(f"'{name.replace('_', '-')}'='{value}'" for name, value in told.items())
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ({pairs})")


def _rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def _event(rng: random.Random, number: int) -> dict[str, object]:
    return {"id": rng.randrange(20), "v": str(number), "_row_kind": rng.choice(("+I", "+U", "+I", "-D"))}


def _operations(spark: SparkSession, table: str) -> list[str]:
    query = f"SELECT operation FROM {table}.snapshots ORDER BY committed_at"
    return [row.operation for row in spark.sql(query).collect()]


@pytest.mark.turns(1)
@pytest.mark.parametrize("mode", ["equality", "resolved"])
def test_a_stream_keeps_its_table_compact(spark: SparkSession, changes: JsonStream, table_name: str, mode: str) -> None:
    _create(spark, table_name, **{"write.upsert.mode": mode, "format_version": "3" if mode == "resolved" else "2"})
    rng = random.Random(mode)
    events: list[dict[str, object]] = []
    for _ in range(4):
        batch = [_event(rng, len(events) + number) for number in range(8)]
        changes.put(*batch)
        changes.run(table_name, "update")
        events += batch
        assert _rows(spark, table_name) == sorted((row["id"], row["v"]) for row in folded(events).values())
    files = spark.sql(f"SELECT partition FROM {table_name}.data_files").collect()
    assert len(files) == len({row.partition for row in files}) == 2
    assert "replace" in _operations(spark, table_name)
    # A reader of changes sees the batches, and nothing of what was compacted between them.
    first = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots ORDER BY committed_at").first()
    assert first is not None
    told = spark.sql(
        f"SELECT _change_type, _commit_snapshot_id FROM table_changes('{table_name}', {first.snapshot_id})"
    ).collect()
    of_batches = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots WHERE operation != 'replace'").collect()
    assert {row._commit_snapshot_id for row in told} <= {row.snapshot_id for row in of_batches}


def test_statements_and_compactions_at_once(spark: SparkSession, table_name: str) -> None:
    """Upserts by position and by key from two threads, and full compactions beside them."""
    _create(spark, table_name, write_only="true", format_version="3")
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'first' FROM range(40)")
    failures: list[BaseException] = []
    ended = threading.Event()

    def upsert(writer: int) -> None:
        try:
            for number in range(5):
                ids = f"SELECT id * 2 + {writer} AS id, '{writer}.{number}' AS v FROM range({number}, 20)"
                spark.sql(f"UPSERT INTO {table_name} {ids}")
        except BaseException as failure:
            failures.append(failure)

    def compact() -> None:
        try:
            while not ended.is_set():
                spark.sql(f"CALL lake.system.compact('{table_name}', full => true)")
        except BaseException as failure:
            failures.append(failure)

    writers = [threading.Thread(target=upsert, args=(writer,)) for writer in range(2)]
    compactor = threading.Thread(target=compact)
    for thread in (*writers, compactor):
        thread.start()
    for thread in writers:
        thread.join()
    ended.set()
    compactor.join()
    assert not failures
    expected = [(id, f"{id % 2}.{min(id // 2, 4)}") for id in range(40)]
    assert _rows(spark, table_name) == expected
    spark.sql(f"CALL lake.system.compact('{table_name}', full => true)")
    assert _rows(spark, table_name) == expected
    assert spark.sql(f"SELECT content FROM {table_name}.files").collect() == [(0,), (0,)]


def test_a_failure_of_the_compaction_is_a_warning(
    spark: SparkSession, warehouse: Path, table_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    _create(spark, table_name, **{"write.upsert.mode": "equality"})
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    folder = warehouse.joinpath(*table_name.split(".")[1:], "data")
    hidden = [path.rename(path.with_suffix(".hidden")) for path in folder.rglob("*.parquet")]
    with caplog.at_level(logging.WARNING, "sqlext"):
        upserted = spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A'), (2, 'B'), (3, 'C')").collect()
    assert upserted[0].num_affected_rows == 3
    assert [
        record.getMessage()
        for record in caplog.records
        if f"Care for {table_name}, to compact, failed" in record.getMessage()
    ]
    assert "replace" not in _operations(spark, table_name)
    for path in hidden:
        path.rename(path.with_suffix(".parquet"))
    spark.sql(f"UPSERT INTO {table_name} VALUES (3, 'D')")
    assert _operations(spark, table_name)[-1] == "replace"
    assert _rows(spark, table_name) == [(1, "A"), (2, "B"), (3, "D")]


def test_a_transaction_does_not_compact(spark: SparkSession, table_name: str) -> None:
    _create(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql("BEGIN")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A'), (2, 'B'), (3, 'C')")
    spark.sql("COMMIT")
    assert "replace" not in _operations(spark, table_name)
    assert len(spark.sql(f"SELECT content FROM {table_name}.data_files").collect()) == 2
    spark.table(table_name).where("id = 1").writeTo(table_name).option("upsert-enabled", "true").append()
    assert _operations(spark, table_name)[-1] == "replace"
    assert _rows(spark, table_name) == [(1, "A"), (2, "B"), (3, "C")]


@pytest.mark.turns(1)
@pytest.mark.parametrize("upserts", [False, True])
def test_one_task_writes_a_bucket(spark: SparkSession, table_name: str, upserts: bool) -> None:
    """Rows of many tasks, so many that executors write them."""
    _create(spark, table_name, **{"bucket": "3", "write.upsert.mode": "equality", "write_only": "true"})
    rows = spark.range(0, 2_000_000, 1, 4).selectExpr("id", "'a' AS v")
    rows.writeTo(table_name).option("upsert-enabled", str(upserts).lower()).append()
    files = spark.sql(f"SELECT partition.id_bucket AS bucket, record_count FROM {table_name}.data_files").collect()
    assert sorted(row.bucket for row in files) == [0, 1, 2]
    assert sum(row.record_count for row in files) == 2_000_000
    steps = f"SELECT lead(id) OVER (PARTITION BY _file ORDER BY _pos) - id AS step FROM {table_name}"
    assert spark.sql(f"SELECT min(step) FROM ({steps})").collect()[0][0] > 0
