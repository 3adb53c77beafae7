"""Batches of an application are in the table once, however they are written, repeated or raced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQueryException

import sqlext
from judges.iceberg import IcebergJudge
from sessions import planned
from sqlext.storage.location import to_local_path
from streaming.json_stream import JsonStream


@contextmanager
def batch(spark: SparkSession, version: int, app_id: str = "app") -> Iterator[None]:
    """While it lasts, the statements of the session are this batch."""
    settings = {"sqlext.txn.app-id": app_id, "sqlext.txn.version": str(version)}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def ids(spark: SparkSession, table: str) -> list[int]:
    return [row.id for row in spark.table(table).select("id").orderBy("id").collect()]


def files(table: str, warehouse: Path) -> set[str]:
    folder = warehouse.joinpath(*table.split(".")[1:], "data")
    return {str(path) for path in folder.rglob("*.parquet")}


_STATEMENTS = {
    "insert": "INSERT INTO {t} VALUES (4, 4)",
    "insert of a query": "INSERT INTO {t} SELECT id, 4 FROM {t} WHERE id = 1",
    "upsert": "UPSERT INTO {t} VALUES (1, 40)",
    "update": "UPDATE {t} SET v = v + 1 WHERE id < 3",
    "delete": "DELETE FROM {t} WHERE v = 1",
    "merge": "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v + 1",
    "overwrite": "INSERT OVERWRITE {t} SELECT id + 10, v FROM {t}",
    "truncate": "TRUNCATE TABLE {t}",
    "truncate of a partition": "TRUNCATE TABLE {t} PARTITION (v = 1)",
    "on conflict": "INSERT INTO {t} VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET v = v + excluded.v",
}


def _ways() -> Iterator[tuple[str, str]]:
    for name in _STATEMENTS:
        yield from ((name, force) for force in ("", "tasks"))
        if name in ("update", "delete", "merge"):
            yield from ((name, force) for force in ("merge-on-read", "copy-on-write"))


@pytest.mark.turns(3)
@pytest.mark.parametrize(("name", "force"), list(_ways()))
def test_a_statement_is_run_once(spark: SparkSession, table_name: str, name: str, force: str) -> None:
    statement = _STATEMENTS[name]
    key = "" if "10, v" in statement or "id, 4" in statement else ", PRIMARY KEY (id) NOT ENFORCED"
    by = "PARTITIONED BY (v)" if "PARTITION (" in statement else ""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT{key}) {by}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2), (3, 3)")
    with planned(spark, force=force), batch(spark, 1):
        spark.sql(statement.format(t=table_name))
        once = sorted(spark.table(table_name).collect())
        snapshots = spark.table(f"{table_name}.snapshots").count()
        again = spark.sql(statement.format(t=table_name)).collect()
    assert once != [(1, 1), (2, 2), (3, 3)]
    assert sorted(spark.table(table_name).collect()) == once
    assert spark.table(f"{table_name}.snapshots").count() == snapshots
    assert [tuple(row) for row in again] == ([] if statement.startswith("TRUNCATE") else [(0, 0, 0, 0)])
    with batch(spark, 2):
        spark.sql(f"DELETE FROM {table_name}")
    assert spark.table(table_name).count() == 0


def _writes(table: str) -> dict[str, Callable[[DataFrame, dict[str, str]], None]]:
    return {
        "append": lambda rows, of: rows.writeTo(table).options(**of).append(),
        "insertInto": lambda rows, of: rows.write.options(**of).insertInto(table),
        "saveAsTable": lambda rows, of: rows.write.options(**of).mode("append").saveAsTable(table),
        "save": lambda rows, of: rows.write.format("sqlext").options(**of).mode("append").save(table),
        "overwrite": lambda rows, of: rows.write.options(**of).insertInto(table, overwrite=True),
        "overwritePartitions": lambda rows, of: rows.writeTo(table).options(**of).overwritePartitions(),
        "replace": lambda rows, of: rows.writeTo(table).options(**of).replace(),
        "createOrReplace": lambda rows, of: rows.writeTo(table).options(**of).createOrReplace(),
        "saveAsTable overwrite": lambda rows, of: rows.write.options(**of).mode("overwrite").saveAsTable(table),
        "upsert": lambda rows, of: sqlext.upsert(rows, table, of),
    }


@pytest.mark.parametrize("write", sorted(_writes("")))
def test_a_data_frame_is_written_once(spark: SparkSession, table_name: str, write: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    first, second = (spark.createDataFrame([(id, id)], "id INT NOT NULL, v INT") for id in (1, 2))
    run = _writes(table_name)[write]
    of = {"txn-app-id": "app", "txn-version": "7"}
    run(first, of)
    run(second, of)
    run(second, {"txnAppId": "app", "txnVersion": "6"})
    assert ids(spark, table_name) == [1]
    run(second, {"txnAppId": "app", "txnVersion": "8"})
    assert 2 in ids(spark, table_name)


def test_a_table_is_made_once(spark: SparkSession, table_name: str) -> None:
    first, second = (spark.createDataFrame([(id,)], "id INT") for id in (1, 2))
    for rows in (first, second):
        rows.writeTo(table_name).option("txn-app-id", "app").option("txn-version", "1").create()
    assert ids(spark, table_name) == [1]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        second.writeTo(table_name).option("txn-app-id", "app").option("txn-version", "2").create()
    with batch(spark, 1):
        spark.sql(f"CREATE TABLE {table_name}_b AS SELECT 1 AS id")
        spark.sql(f"CREATE TABLE {table_name}_b AS SELECT 2 AS id")
        spark.sql(f"INSERT INTO {table_name}_b VALUES (3)")
    assert ids(spark, f"{table_name}_b") == [1]


def test_merge_into_of_a_data_frame(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    name = table_name.rpartition(".")[2]
    source = spark.createDataFrame([(1, 5)], "id INT, more INT").alias("s")
    with batch(spark, 1):
        for _ in range(2):
            merge = source.mergeInto(table_name, F.expr(f"{name}.id = s.id"))
            merge.whenMatched().update({"v": F.expr(f"{name}.v + s.more")}).merge()
    assert [tuple(row) for row in spark.table(table_name).collect()] == [(1, 6)]


def test_it_is_known_after_a_rollback_and_expiry(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    first = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots").collect()[0][0]
    with batch(spark, 1):
        spark.sql(f"INSERT INTO {table_name} VALUES (2)")
        spark.sql(f"CALL lake.system.rollback_to_snapshot('{table_name}', {first})")
        spark.sql(
            f"CALL lake.system.expire_snapshots(table => '{table_name}', older_than => now(), retain_last => 1)"
        ).collect()
        assert spark.table(f"{table_name}.snapshots").count() == 1
        spark.sql(f"INSERT INTO {table_name} VALUES (3)")
    assert ids(spark, table_name) == [1]
    assert iceberg.sql(f"SELECT id FROM {table_name}") == [[1]]


def test_of_sessions_that_race_one_writes(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, warehouse: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, batch INT)")
    sessions = [spark.newSession() for _ in range(4)]
    rounds, start = 5, Barrier(len(sessions), timeout=120)

    def write(session: SparkSession) -> int:
        affected = 0
        for version in range(rounds):
            start.wait()
            with batch(session, version):
                counts = session.sql(f"INSERT INTO {table_name} SELECT CAST(id AS INT), {version} FROM range(3)")
                affected += counts.collect()[0].num_affected_rows
        return affected

    with ThreadPoolExecutor(len(sessions)) as pool:
        affected = list(pool.map(write, sessions))
    assert sum(affected) == 3 * rounds
    assert iceberg.sql(f"SELECT count(*), count(DISTINCT batch) FROM {table_name}") == [[3 * rounds, rounds]]
    live = {to_local_path(row.file_path) for row in spark.table(f"{table_name}.files").collect()}
    assert files(table_name, warehouse) == live


def test_with_group_commit_and_a_stored_changelog(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    for name, value in {"": "io.sqlext.Catalog", ".warehouse": str(warehouse), ".group-commit": "process"}.items():
        spark.conf.set(f"spark.sql.catalog.once_together{name}", value)
    table = table_name.replace("lake.", "once_together.")
    spark.sql(f"CREATE TABLE {table} (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('changelog-producer'='lookup')")
    with batch(spark, 1):
        spark.sql(f"UPSERT INTO {table} VALUES (1)")
        spark.sql(f"UPSERT INTO {table} VALUES (2)")
    assert ids(spark, table) == [1]


def test_a_transaction_is_one_batch(spark: SparkSession, table_name: str) -> None:
    tables = f"{table_name}_a", f"{table_name}_b"
    for table in tables:
        spark.sql(f"CREATE TABLE {table} (id INT)")

    def run(session: SparkSession) -> None:
        with batch(session, 1), sqlext.transaction(session):
            session.sql(f"INSERT INTO {tables[0]} VALUES (1)")
            session.sql(f"INSERT INTO {tables[0]} VALUES (2)")
            session.sql(f"INSERT INTO {tables[1]} SELECT id FROM {tables[0]}")

    run(spark)
    run(spark)
    assert ids(spark, tables[0]) == ids(spark, tables[1]) == [1, 2]


def test_of_transactions_that_race_one_lands_and_the_other_is_skipped_when_it_runs_again(
    spark: SparkSession, table_name: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    other = spark.newSession()
    try:
        with batch(spark, 1), batch(other, 1):
            for session in (spark, other):
                session.sql("BEGIN")
                session.sql(f"INSERT INTO {table_name} VALUES (1)")
            other.sql("COMMIT")
            with pytest.raises(PySparkException, match="TRANSACTION_CONFLICT"):
                spark.sql("COMMIT")
            spark.sql("BEGIN")
            spark.sql(f"INSERT INTO {table_name} VALUES (1)")
            spark.sql("COMMIT")
    finally:
        for session in (spark, other):
            with suppress(AnalysisException):
                session.sql("ROLLBACK")
    assert ids(spark, table_name) == [1]


def test_a_rolled_back_batch_has_not_run(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    with batch(spark, 1):
        spark.sql("BEGIN")
        spark.sql("SAVEPOINT before")
        spark.sql(f"INSERT INTO {table_name} VALUES (1)")
        spark.sql("ROLLBACK TO before")
        spark.sql(f"INSERT INTO {table_name} VALUES (2)")
        spark.sql("ROLLBACK")
        spark.sql(f"INSERT INTO {table_name} VALUES (3)")
    assert ids(spark, table_name) == [3]


def test_a_failed_batch_has_not_run(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, CONSTRAINT few CHECK (id < 5))")
    with batch(spark, 1):
        with pytest.raises(PySparkException, match="CHECK"):
            spark.sql(f"INSERT INTO {table_name} VALUES (7)")
        spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    assert ids(spark, table_name) == [1]


def test_the_batches_of_a_stream_that_runs_again(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """The second query is the first one, had it ended before Spark's commit log had its batches."""
    stream = JsonStream(spark, tmp_path, "id BIGINT, v STRING")
    for table in ("a", "b"):
        spark.sql(f"CREATE TABLE {table_name}_{table} (id BIGINT, v STRING)")

    ends_behind: list[object] = []

    def write(rows: DataFrame, number: int) -> None:
        for table in ("a", "b"):
            to = rows.write.option("txn-app-id", "query").option("txn-version", number)
            to.insertInto(f"{table_name}_{table}")
            if ends_behind == [number, table]:
                raise RuntimeError("the process ends")

    stream.put({"id": 1, "v": "a"})
    stream.put({"id": 2, "v": "b"})
    for place in ([0, "a"], [0, "b"], []):
        ends_behind[:] = place
        writer = stream.frame().writeStream.foreachBatch(write)
        query = writer.option("checkpointLocation", str(stream.checkpoint)).trigger(availableNow=True).start()
        with suppress(StreamingQueryException):
            query.awaitTermination()
    assert ids(spark, f"{table_name}_a") == ids(spark, f"{table_name}_b") == [1, 2]


def test_a_stream_has_its_own_progress(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING)")
    stream = JsonStream(spark, tmp_path, "id BIGINT, v STRING")
    stream.put({"id": 1, "v": "a"})
    writer = stream.frame().writeStream.option("checkpointLocation", str(stream.checkpoint))
    query = writer.option("txn-app-id", "a").option("txn-version", "1").trigger(availableNow=True)
    with pytest.raises(PySparkException, match="option txn-app-id is refused"):
        query.toTable(table_name).awaitTermination()
