"""Tables as sinks of real streaming queries: modes, and each batch exactly once whatever becomes of the checkpoint."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sqlext
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.commit.loop.transaction import commit
from sqlext.spark.shim.shim_jar import installed_spark
from sqlext.spec.metadata.stream_state import PROGRESS_PREFIX
from sqlext.storage.file_io import LocalFileIO
from streaming.json_stream import JsonStream, folded

CHANGES = "id BIGINT, v STRING, _row_kind STRING"


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> JsonStream:
    return JsonStream(spark, tmp_path, "id BIGINT, v STRING")


@pytest.fixture
def changes(spark: SparkSession, tmp_path: Path) -> JsonStream:
    return JsonStream(spark, tmp_path, CHANGES)


def _rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def _loaded(spark: SparkSession, table: str) -> tuple[WarehouseCatalog, LoadedTable]:
    catalog = WarehouseCatalog("lake", spark.conf.get("spark.sql.catalog.lake.warehouse"), LocalFileIO())
    return catalog, catalog.load_table(TableIdentifier(tuple(table.split(".")[1:-1]), table.split(".")[-1]))


def _progress(spark: SparkSession, table: str) -> dict[str, dict[str, Any]]:
    """By the id of a query, of which no statement tells."""
    properties = _loaded(spark, table)[1].metadata.properties
    return {
        name.removeprefix(PROGRESS_PREFIX): json.loads(value)
        for name, value in properties.items()
        if name.startswith(PROGRESS_PREFIX)
    }


def _event(rng: random.Random, number: int) -> dict[str, Any]:
    kind = rng.choice(["+I", "+U", "-D", "-U"])
    return {"id": rng.randrange(4), "v": f"v{number}", "_row_kind": kind}


@pytest.mark.parametrize(("version", "mode"), [(2, "equality"), (3, "resolved")])
def test_update_mode_folds_a_changelog_in_its_order(
    spark: SparkSession, changes: JsonStream, table_name: str, version: int, mode: str
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id))"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.upsert.mode'='{mode}')"
    )
    rng = random.Random(version)
    events: list[dict[str, Any]] = []
    for _ in range(3):
        batch = [_event(rng, len(events) + number) for number in range(8)]
        changes.put(*batch)
        changes.run(table_name, "update")
        events += batch
        assert _rows(spark, table_name) == sorted((row["id"], row["v"]) for row in folded(events).values())

    (progress,) = _progress(spark, table_name).values()
    assert progress["batch"] == 2
    summaries = [row.summary for row in spark.sql(f"SELECT summary FROM {table_name}.snapshots").collect()]
    assert [summary["spark.sql.streaming.epochId"] for summary in summaries] == ["0", "1", "2"]
    assert len({summary["spark.sql.streaming.queryId"] for summary in summaries}) == 1
    assert all(summary["sqlext.commit-user"] for summary in summaries)


def test_a_batch_that_comes_again_is_passed_over(spark: SparkSession, stream: JsonStream, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    stream.put({"id": 1, "v": "a"})
    stream.put({"id": 1, "v": "a"})
    stream.run(table_name)
    first = spark.sql(f"SELECT min_by(snapshot_id, committed_at) AS id FROM {table_name}.snapshots").first()
    assert first is not None
    stream.forget_commit_of(1)
    stream.put({"id": 2, "v": "b"})
    query = stream.run(table_name)
    assert _rows(spark, table_name) == [(1, "a"), (1, "a"), (2, "b")]
    assert [progress["sink"]["metrics"].get("alreadyCommitted") for progress in query.recentProgress] == ["true", None]

    # What the table is rolled back to is the user's own wish: a batch does not come again for it.
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{table_name.removeprefix('lake.')}', {first.id})")
    stream.forget_commit_of(2)
    stream.put({"id": 3, "v": "c"})
    stream.run(table_name)
    assert _rows(spark, table_name) == [(1, "a"), (3, "c")]


def test_a_checkpoint_that_was_put_back_is_refused(
    spark: SparkSession, stream: JsonStream, table_name: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    stream.put({"id": 1, "v": "a"})
    stream.run(table_name)
    stream.kept_checkpoint(tmp_path / "kept")
    stream.put({"id": 2, "v": "b"})
    stream.run(table_name)
    stream.put_back(tmp_path / "kept")
    with pytest.raises(StreamingQueryException, match="STREAM_BATCH_DIFFERS"):
        stream.run(table_name)
    assert _rows(spark, table_name) == [(1, "a"), (2, "b")]


def test_the_checkpoint_of_another_table_is_refused_unless_accepted(
    spark: SparkSession, stream: JsonStream, table_name: str
) -> None:
    for name in (table_name, f"{table_name}_other"):
        spark.sql(f"CREATE TABLE {name} (id BIGINT, v STRING)")
    stream.put({"id": 1, "v": "a"})
    stream.run(table_name)
    stream.put({"id": 2, "v": "b"})
    with pytest.raises(StreamingQueryException, match="STREAM_PROGRESS_MISSING"):
        stream.run(f"{table_name}_other")
    stream.run(f"{table_name}_other", accept_checkpoint="true")
    assert _rows(spark, f"{table_name}_other") == [(2, "b")]


def test_a_run_that_another_one_has_overtaken_commits_no_more(
    spark: SparkSession, stream: JsonStream, table_name: str, tmp_path: Path
) -> None:
    """Two runs of one query, on two copies of its checkpoint."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    stream.put({"id": 1, "v": "a"})
    stream.run(table_name)
    stream.kept_checkpoint(tmp_path / "copy")
    writer = stream.frame().writeStream.option("checkpointLocation", str(tmp_path / "copy"))
    older = writer.trigger(processingTime="100 milliseconds").toTable(table_name)
    try:
        stream.put({"id": 2, "v": "b"})
        older.processAllAvailable()
        ((query, progress),) = _progress(spark, table_name).items()
        # The other process: it goes on from the table's progress under a run of its own.
        _claim_as(spark, table_name, query, "the other run")
        stream.put({"id": 3, "v": "c"})
        with pytest.raises(StreamingQueryException, match="STREAM_FENCED"):
            older.processAllAvailable()
    finally:
        older.stop()
    assert progress["run"] != "the other run"
    assert _rows(spark, table_name) == [(1, "a"), (2, "b")]


def _claim_as(spark: SparkSession, table: str, query: str, run: str) -> None:
    catalog, loaded = _loaded(spark, table)
    there = StreamProgress.of(loaded.metadata, query, table)
    assert there is not None
    action = AdvanceStream(query, there, there.taken_over(run))
    now = int(time.time() * 1000)
    commit(catalog, loaded.identifier, action, base=loaded, clock=lambda: now, rng=random.Random(1))


@pytest.mark.parametrize("adaptive", ["false", "true"])
def test_rows_that_a_query_has_moved_have_no_order(
    spark: SparkSession, stream: JsonStream, table_name: str, adaptive: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id))")
    stream.put({"id": 1, "v": "a"}, {"id": 1, "v": "b"})
    spark.conf.set("spark.sql.adaptive.streaming.stateless.enabled", adaptive)
    try:
        with pytest.raises(StreamingQueryException, match="DUPLICATE_KEY"):
            stream.run(table_name, "update", stream.frame().repartition(2))
    finally:
        spark.conf.unset("spark.sql.adaptive.streaming.stateless.enabled")
    assert spark.table(table_name).count() == 0


def test_complete_mode_replaces_the_table(spark: SparkSession, stream: JsonStream, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n BIGINT)")
    for rows in ([1, 1, 2], [2, 3]):
        stream.put(*({"id": id, "v": ""} for id in rows))
    query = stream.run(table_name, "complete", stream.frame().groupBy("id").agg(F.count("*").alias("n")))
    assert _rows(spark, table_name) == [(1, 2), (2, 2), (3, 1)]
    assert all(progress["sink"]["metrics"]["rowsWritten"] for progress in query.recentProgress)


def test_update_mode_of_an_aggregation_and_what_it_refuses(
    spark: SparkSession, stream: JsonStream, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n BIGINT)")
    counts = stream.frame().groupBy("id").agg(F.count("*").alias("n"))
    stream.put({"id": 1, "v": ""}, {"id": 2, "v": ""})
    with pytest.raises(StreamingQueryException, match="UPSERT_WITHOUT_KEY"):
        stream.run(table_name, "update", counts)
    spark.sql(f"ALTER TABLE {table_name} ADD PRIMARY KEY (id)")
    with pytest.raises(StreamingQueryException, match=r"UNKNOWN_STREAM_OPTION.*write-parallelism"):
        stream.run(table_name, "update", counts, write_paralelism="2")
    with pytest.raises(StreamingQueryException, match="STREAM_KEY_NOT_THE_TABLES"):
        stream.run(table_name, "update", counts, equality_field_columns="n")
    with pytest.raises(StreamingQueryException, match="UPSERT_CONTRADICTED"):
        stream.run(table_name, "update", counts, upsert_enabled="false")
    stream.put({"id": 2, "v": ""})
    stream.run(table_name, "update", counts, equality_field_columns="id", write_parallelism="1")
    assert _rows(spark, table_name) == [(1, 1), (2, 2)]


def test_batches_without_rows_make_a_snapshot_now_and_then(
    spark: SparkSession, stream: JsonStream, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    for _ in range(3):
        stream.put({"id": 0, "v": "left out"})
    stream.run(table_name, rows=stream.frame().where("id > 0"), max_continuous_empty_commits="2")
    assert spark.table(f"{table_name}.snapshots").count() == 1
    (progress,) = _progress(spark, table_name).values()
    assert progress["batch"] == 1
    assert spark.table(table_name).count() == 0


@pytest.mark.skipif(installed_spark().minor == "4.0", reason="Spark 4.0 has no way to cache a table again")
def test_a_cached_table_shows_what_a_stream_brought(spark: SparkSession, stream: JsonStream, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    stream.put({"id": 1, "v": "a"})
    stream.run(table_name, "append")
    spark.sql(f"CACHE TABLE {table_name}")
    try:
        stream.put({"id": 2, "v": "b"})
        stream.run(table_name, "append")
        assert _rows(spark, table_name) == [(1, "a"), (2, "b")]
        assert spark.catalog.isCached(table_name)
    finally:
        spark.catalog.clearCache()


def test_by_format_and_dynamic_overwrite(spark: SparkSession, stream: JsonStream, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING) PARTITIONED BY (v)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    stream.put({"id": 3, "v": "a"})
    writer = stream.frame().writeStream.format("sqlext").option("table", table_name).option("overwrite-mode", "dynamic")
    query = writer.option("checkpointLocation", str(stream.checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    assert _rows(spark, table_name) == [(2, "b"), (3, "a")]


def test_by_format_a_table_has_its_name_in_the_place_of_a_path(
    spark: SparkSession, stream: JsonStream, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    stream.put({"id": 1, "v": "a"})
    writer = stream.frame().writeStream.format("sqlext").option("checkpointLocation", str(stream.checkpoint))
    writer.trigger(availableNow=True).start(table_name).awaitTermination()
    spark.table(table_name).selectExpr("id + 1 AS id", "v").write.format("sqlext").mode("append").save(table_name)
    assert [tuple(row) for row in spark.read.format("sqlext").load(table_name).orderBy("id").collect()] == [
        (1, "a"),
        (2, "a"),
    ]


def test_a_continuous_trigger_is_refused(
    spark: SparkSession, stream: JsonStream, table_name: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (timestamp TIMESTAMP, value BIGINT)")
    rate = spark.readStream.format("rate").load()
    written = rate.writeStream.option("checkpointLocation", str(stream.checkpoint)).trigger(continuous="1 second")
    with pytest.raises(
        AnalysisException, match=f"streaming write of {table_name} with a continuous.*processingTime"
    ) as told:
        written.toTable(table_name)
    assert told.value.getCondition() == "STREAM_CONTINUOUS"
    for rows in (spark.readStream.table(table_name), spark.readStream.table(table_name).where("value > 1")):
        read = rows.writeStream.format("console").option("checkpointLocation", str(tmp_path / "of_read"))
        with pytest.raises(AnalysisException, match=f"streaming read of {table_name}.*availableNow") as told:
            read.trigger(continuous="1 second").start()
        assert told.value.getCondition() == "STREAM_CONTINUOUS"


def test_the_builder(spark: SparkSession, stream: JsonStream, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    write = (
        sqlext.write_stream(stream.frame())
        .upsert()
        .equality_field_columns("id")
        .distribution_mode("none")
        .write_parallelism(1)
        .target_file_size(1 << 20)
        .to_branch("audit")
        .set_snapshot_property("job", 7)
        .checkpoint(str(stream.checkpoint))
        .trigger(availableNow=True)
    )
    stream.put({"id": 1, "v": "a"}, {"id": 2, "v": "b"})
    stream.put({"id": 1, "v": "c"})
    query = write.to_table(table_name, query="upserts")
    query.awaitTermination()
    assert query.name == "upserts"
    assert _rows(spark, table_name) == []
    assert _rows(spark, f"{table_name}.branch_audit") == [(1, "c"), (2, "b")]
    newest = spark.sql(f"SELECT summary FROM {table_name}.snapshots ORDER BY committed_at DESC").first()
    assert newest is not None
    assert newest.summary["job"] == "7"

    other = sqlext.write_stream(stream.frame()).checkpoint(f"{stream.checkpoint}-2").trigger(availableNow=True)
    with pytest.raises(StreamingQueryException, match="STREAM_KEY_NOT_THE_TABLES"):
        other.equality_field_columns("v").to_table(table_name).awaitTermination()
    with pytest.raises(StreamingQueryException, match="INVALID_STREAM_OPTION"):
        other.write_parallelism(0).to_table(table_name).awaitTermination()


def test_any_statement_in_foreach_batch(spark: SparkSession, stream: JsonStream, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id))")

    def merge(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO {table_name} AS t USING batch AS s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    stream.put({"id": 1, "v": "a"})
    stream.put({"id": 1, "v": "b"}, {"id": 2, "v": "c"})
    writer = stream.frame().writeStream.foreachBatch(merge).option("checkpointLocation", str(stream.checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert _rows(spark, table_name) == [(1, "b"), (2, "c")]


def test_a_table_made_anew_and_a_changed_key_stop_the_query(
    spark: SparkSession, stream: JsonStream, table_name: str
) -> None:
    create = f"CREATE TABLE {table_name} (id BIGINT NOT NULL, v STRING NOT NULL, PRIMARY KEY (id))"
    spark.sql(create)
    writer = stream.frame().writeStream.outputMode("update").option("checkpointLocation", str(stream.checkpoint))
    query = writer.trigger(processingTime="100 milliseconds").toTable(table_name)
    try:
        stream.put({"id": 1, "v": "a"})
        query.processAllAvailable()
        spark.sql(f"ALTER TABLE {table_name} DROP PRIMARY KEY")
        spark.sql(f"ALTER TABLE {table_name} ADD PRIMARY KEY (id, v)")
        stream.put({"id": 1, "v": "b"})
        with pytest.raises(StreamingQueryException, match="STREAM_KEY_CHANGED"):
            query.processAllAvailable()
    finally:
        query.stop()
    stream.run(table_name, "update")
    assert _rows(spark, table_name) == [(1, "a"), (1, "b")]

    query = writer.trigger(processingTime="100 milliseconds").toTable(table_name)
    try:
        # A query that begins after the table was made anew goes on with it.
        query.processAllAvailable()
        spark.sql(f"DROP TABLE {table_name}")
        spark.sql(create)
        stream.put({"id": 2, "v": "c"})
        with pytest.raises(StreamingQueryException, match="STREAM_TABLE_REPLACED"):
            query.processAllAvailable()
    finally:
        query.stop()
    assert spark.table(table_name).count() == 0
