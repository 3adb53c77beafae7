"""Transactions of several statements, by SQL and by Python, in one session and seen from another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import sqlext
from judges.iceberg import IcebergJudge
from sqlext.errors import NotFoundError


@pytest.fixture
def accounts(spark: SparkSession, table_name: str) -> Iterator[tuple[str, str]]:
    """Two tables with two accounts of 100 each; no transaction is left open behind the test."""
    tables = f"{table_name}_a", f"{table_name}_b"
    for table in tables:
        spark.sql(f"CREATE TABLE {table} (id INT, balance BIGINT, PRIMARY KEY (id) NOT ENFORCED)")
        spark.sql(f"INSERT INTO {table} VALUES (1, 100), (2, 100)")
    yield tables
    with suppress(AnalysisException):
        spark.sql("ROLLBACK")


def rows(spark: SparkSession, table: str) -> list[tuple[int, int]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, balance FROM {table} ORDER BY id").collect()]


def files(table: str, warehouse: Path) -> set[str]:
    folder = warehouse.joinpath(*table.split(".")[1:])
    return {str(path) for path in folder.rglob("*") if path.is_file()}


def test_statements_read_what_they_wrote_and_land_together(
    spark: SparkSession, iceberg: IcebergJudge, accounts: tuple[str, str]
) -> None:
    first, second = accounts
    other = spark.newSession()
    spark.sql("BEGIN TRANSACTION")
    spark.sql(f"UPDATE {first} SET balance = balance - 30 WHERE id = 1")
    spark.sql(
        f"MERGE INTO {second} t USING (SELECT 1 AS id, 30L AS more) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET balance = t.balance + s.more"
    )
    spark.sql(f"INSERT INTO {second} VALUES (3, 7)")
    spark.sql(f"DELETE FROM {second} WHERE id = 2")
    assert rows(spark, first) == [(1, 70), (2, 100)]
    assert rows(spark, second) == [(1, 130), (3, 7)]
    assert spark.table(second).count() == 2
    assert rows(other, first) == [(1, 100), (2, 100)] == rows(other, second)
    spark.sql("COMMIT")
    for session in (spark, other):
        assert rows(session, first) == [(1, 70), (2, 100)]
        assert rows(session, second) == [(1, 130), (3, 7)]
    for table in accounts:
        assert iceberg.sql(f"SELECT id, balance FROM {table} ORDER BY id") == [list(row) for row in rows(spark, table)]
    spark.sql(f"INSERT INTO {first} VALUES (9, 9)")
    assert rows(spark, first)[-1] == (9, 9)


def test_a_rollback_leaves_no_trace(spark: SparkSession, accounts: tuple[str, str], warehouse: Path) -> None:
    first, second = accounts
    before = {table: files(table, warehouse) for table in accounts}
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {first} VALUES (3, 3)")
    spark.sql(f"UPDATE {second} SET balance = 0")
    assert rows(spark, second) == [(1, 0), (2, 0)]
    spark.sql("ROLLBACK")
    for table in accounts:
        assert rows(spark, table) == [(1, 100), (2, 100)]
        assert files(table, warehouse) == before[table]


def test_savepoints(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, second = accounts
    spark.sql("START TRANSACTION")
    spark.sql(f"INSERT INTO {first} VALUES (3, 3)")
    spark.sql("SAVEPOINT here")
    spark.sql(f"INSERT INTO {first} VALUES (4, 4)")
    spark.sql(f"DELETE FROM {second}")
    spark.sql("SAVEPOINT later")
    spark.sql("ROLLBACK TO SAVEPOINT here")
    assert rows(spark, first) == [(1, 100), (2, 100), (3, 3)]
    assert rows(spark, second) == [(1, 100), (2, 100)]
    with pytest.raises(Exception, match="SAVEPOINT_NOT_FOUND"):
        spark.sql("ROLLBACK TO later")
    spark.sql(f"INSERT INTO {first} VALUES (5, 5)")
    spark.sql("RELEASE SAVEPOINT here")
    spark.sql("COMMIT")
    assert rows(spark, first) == [(1, 100), (2, 100), (3, 3), (5, 5)]
    assert rows(spark, second) == [(1, 100), (2, 100)]


def test_whoever_commits_first_wins(spark: SparkSession, accounts: tuple[str, str], warehouse: Path) -> None:
    first, second = accounts
    other = spark.newSession()
    spark.sql("BEGIN")
    spark.sql(f"UPDATE {first} SET balance = balance + 1 WHERE id = 1")
    spark.sql(f"UPDATE {second} SET balance = balance + 1 WHERE id = 1")
    other.sql(f"UPDATE {second} SET balance = balance + 10 WHERE id = 2")
    assert rows(spark, second) == [(1, 101), (2, 100)]
    before = files(first, warehouse)
    with pytest.raises(Exception, match="TRANSACTION_CONFLICT"):
        spark.sql("COMMIT")
    assert rows(spark, first) == [(1, 100), (2, 100)]
    assert rows(spark, second) == [(1, 100), (2, 110)]
    assert files(first, warehouse) & before < before
    with pytest.raises(Exception, match="NO_TRANSACTION"):
        spark.sql("COMMIT")


def test_all_tables_are_read_as_they_were_at_one_point_in_time(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, second = accounts
    other = spark.newSession()
    spark.sql("BEGIN")
    assert rows(spark, first) == [(1, 100), (2, 100)]
    other.sql("BEGIN")
    other.sql(f"UPDATE {first} SET balance = 70 WHERE id = 1")
    other.sql(f"UPDATE {second} SET balance = 130 WHERE id = 1")
    other.sql("COMMIT")
    assert rows(other, second) == [(1, 130), (2, 100)]
    assert rows(spark, second) == [(1, 100), (2, 100)]
    assert spark.sql(f"SELECT sum(a.balance + b.balance) FROM {first} a JOIN {second} b USING (id)").first()[0] == 400
    third = f"{second}_late"
    other.sql(f"CREATE TABLE {third} AS SELECT 1 AS id")
    with pytest.raises(Exception, match="TRANSACTION_READ_CONFLICT"):
        spark.sql(f"SELECT * FROM {third}").collect()
    assert rows(spark, second) == [(1, 100), (2, 100)]
    spark.sql(f"UPDATE {second} SET balance = 1 WHERE id = 1")
    with pytest.raises(Exception, match="TRANSACTION_CONFLICT"):
        spark.sql("COMMIT")
    assert rows(spark, second) == [(1, 130), (2, 100)]


def test_a_serializable_transaction_needs_what_it_has_read(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, second = accounts
    other = spark.newSession()
    for level, lands in (("SNAPSHOT", True), ("SERIALIZABLE", False)):
        spark.sql(f"BEGIN TRANSACTION ISOLATION LEVEL {level}")
        spark.sql(f"INSERT INTO {first} SELECT max(id) + 10, count(*) FROM {second}")
        other.sql(f"INSERT INTO {second} VALUES ({9 if lands else 8}, 0)")
        if lands:
            spark.sql("COMMIT")
        else:
            with pytest.raises(Exception, match="TRANSACTION_CONFLICT"):
                spark.sql("COMMIT")
    assert rows(spark, first) == [(1, 100), (2, 100), (12, 2)]
    with sqlext.transaction(spark, "lake", isolation="serializable"):
        spark.sql(f"INSERT INTO {first} SELECT max(id) + 10, count(*) FROM {second}")
    assert rows(spark, first) == [(1, 100), (2, 100), (12, 2), (19, 4)]
    with pytest.raises(ValueError, match="no isolation level"), sqlext.transaction(spark, isolation="x"):  # type: ignore[arg-type]
        pass


def test_a_failed_statement_leaves_the_transaction_as_it_was(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, _ = accounts
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {first} VALUES (3, 3)")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(f"UPDATE {first} SET balance = balance div 0")
    for refused in (f"DROP TABLE {first}", "CREATE NAMESPACE lake.of_transaction", "BEGIN"):
        with pytest.raises(Exception, match=r"NOT_IN_TRANSACTION|TRANSACTION_IN_PROGRESS"):
            spark.sql(refused)
    spark.sql("COMMIT")
    assert rows(spark, first) == [(1, 100), (2, 100), (3, 3)]


def test_a_table_made_in_a_transaction(spark: SparkSession, accounts: tuple[str, str], warehouse: Path) -> None:
    table_name = f"{accounts[0]}_new"
    for end in ("ROLLBACK", "COMMIT"):
        spark.sql("BEGIN")
        spark.sql(f"CREATE TABLE {table_name} (id INT, balance BIGINT)")
        spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
        spark.createDataFrame([(2, 2)], "id INT, balance BIGINT").writeTo(table_name).append()
        assert rows(spark, table_name) == [(1, 1), (2, 2)]
        assert not spark.newSession().catalog.tableExists(table_name)
        spark.sql(end)
        assert bool(files(table_name, warehouse)) == (end == "COMMIT")
    assert rows(spark.newSession(), table_name) == [(1, 1), (2, 2)]


def test_caches_do_not_show_what_is_not_committed(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, _ = accounts
    other = spark.newSession()
    spark.sql(f"CACHE TABLE {first}")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {first} VALUES (3, 3)")
    assert rows(spark, first) == [(1, 100), (2, 100), (3, 3)]
    assert rows(other, first) == [(1, 100), (2, 100)]
    spark.sql("COMMIT")
    assert rows(spark, first) == rows(other, first) == [(1, 100), (2, 100), (3, 3)]


def test_python_commits_at_the_end_and_rolls_back_on_an_error(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, second = accounts
    with pytest.raises(NotFoundError, match="CATALOG_NOT_FOUND"), sqlext.transaction(spark, "nowhere"):
        pass
    with sqlext.transaction(spark, "lake"):
        spark.sql(f"INSERT INTO {first} VALUES (3, 3)")
        spark.sql(f"INSERT INTO {second} VALUES (3, 3)")
    with suppress(ZeroDivisionError), sqlext.transaction(spark):
        spark.sql(f"INSERT INTO {first} VALUES (4, 4)")
        raise ZeroDivisionError
    assert rows(spark, first) == rows(spark, second) == [(1, 100), (2, 100), (3, 3)]


def test_scripts_are_left_to_spark(spark: SparkSession) -> None:
    session = spark.newSession()
    # Spark 4.0 has them only so.
    session.conf.set("spark.sql.scripting.enabled", True)
    assert session.sql("BEGIN SELECT 7 AS seven; END").collect()[0].seven == 7


def test_explain_tells_what_others_have_committed_since(spark: SparkSession, accounts: tuple[str, str]) -> None:
    first, second = accounts
    change = "UPDATE {} SET balance = balance + 1 WHERE id = 1"

    def since(table: str) -> list[str]:
        plan: str = spark.sql(f"EXPLAIN {change.format(table)}").first()[0]
        return [line for line in plan.splitlines() if "committed since the transaction has read the table" in line]

    spark.sql("BEGIN")
    for table in accounts:
        spark.sql(change.format(table))
    assert since(first) == since(second) == []
    spark.newSession().sql(change.format(first))
    other = spark.newSession().sql(f"SELECT snapshot_id FROM {first}.snapshots ORDER BY committed_at DESC").first()[0]
    (told,) = since(first)
    assert told.startswith(f"in the way now: snapshot {other} (overwrite by sqlext, ")
    assert since(second) == []
    with pytest.raises(AnalysisException, match="TRANSACTION_CONFLICT"):
        spark.sql("COMMIT")
    assert since(first) == []
