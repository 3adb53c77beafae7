"""Changes that are small go without Python workers, whatever their statement; large ones never come to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from sessions import planned
from sqlext.spark.query import driver_rows

MERGE = "MERGE INTO {t} AS t USING {s} AS s ON t.id = s.id "
CHANGED = "WHEN MATCHED AND t.n >= 0 THEN UPDATE SET n = -1 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
ROWS = 100_000


@pytest.fixture(scope="module")
def source_of_rows(spark: SparkSession) -> str:
    spark.range(0, ROWS, 1, 2).selectExpr("id", "id % 100 AS n", "uuid() AS v", "uuid() AS w").createTempView("many")
    return "many"


@pytest.fixture
def table(spark: SparkSession, table_name: str, source_of_rows: str) -> str:
    """Too large for the optimiser's estimate of a change, which is that of the files read."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n BIGINT, v STRING, w STRING)")
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM {source_of_rows}")
    return table_name


@pytest.fixture
def small_estimates(spark: SparkSession) -> Iterator[None]:
    """As if tables were larger: no estimate of what a change reads is small, and an update has too many rows."""
    with planned(spark, driver_bytes=4_096, completed_rows=65_536):
        yield


class Jobs:
    """Counts the write jobs with Python workers, and the rows that come to the driver."""

    def __init__(self) -> None:
        self.workers = 0
        self.rows = 0
        self.columns: list[str] = []


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    counted = Jobs()
    kind = type(SparkSession.active().range(1))
    map_in_arrow: Callable[..., DataFrame] = kind.mapInArrow
    to_table: Callable[..., pa.Table] = driver_rows._table

    def with_workers(frame: DataFrame, *arguments: Any, **named: Any) -> DataFrame:
        counted.workers += 1
        return map_in_arrow(frame, *arguments, **named)

    def collected(frame: DataFrame, streams: bytes) -> pa.Table:
        rows = to_table(frame, streams)
        counted.rows += rows.num_rows
        counted.columns = frame.columns
        return rows

    monkeypatch.setattr(kind, "mapInArrow", with_workers)
    monkeypatch.setattr(driver_rows, "_table", collected)
    return counted


@pytest.mark.parametrize(
    ("statement", "changed", "workers"),
    [
        (f"{MERGE}{CHANGED}".replace("{s}", "(SELECT * FROM VALUES (5), (6), (-1) AS v(id))"), 3, 0),
        (f"{MERGE}WHEN MATCHED THEN DELETE".replace("{s}", "(SELECT 7 AS id)"), 1, 0),
        ("UPDATE {t} SET n = 1000 WHERE id = 5", 1, 0),
        ("UPDATE {t} SET n = CAST(rand() AS INT) WHERE id IN (5, 99)", 2, 0),
        ("DELETE FROM {t} WHERE id BETWEEN 5 AND 5 OR id = 7", 2, 0),
        ("DELETE FROM {t} WHERE n = 3", ROWS // 100, 0),
        ("UPDATE {t} SET v = 'x' WHERE v LIKE '%'", ROWS, 1),
        # positions alone come to the driver, as bitmaps
        ("DELETE FROM {t} WHERE v LIKE '%' AND id <> 5", ROWS - 1, 0),
        (f"{MERGE}WHEN MATCHED THEN DELETE".replace("{s}", "(SELECT id FROM many)"), ROWS, 0),
        (f"{MERGE}WHEN MATCHED THEN UPDATE SET n = 0".replace("{s}", "(SELECT id FROM many)"), ROWS, 1),
        # one source row, and all of the table: what was taken for few is not
        (
            f"{MERGE}WHEN MATCHED THEN UPDATE SET n = 0".replace("{s}", "(SELECT 1 AS id)").replace(
                "= s.id", "> -s.id"
            ),
            ROWS,
            1,
        ),
    ],
)
@pytest.mark.usefixtures("small_estimates")
def test_the_rows_decide(
    spark: SparkSession, iceberg: IcebergJudge, table: str, jobs: Jobs, statement: str, changed: int, workers: int
) -> None:
    answer = spark.sql(statement.format(t=table)).first()
    assert answer["num_affected_rows"] == changed
    assert jobs.workers == workers
    assert jobs.rows <= 65_537 + 10
    totals = "SELECT count(*), sum(n), count(v), count(DISTINCT w), max(id) FROM {}"
    assert canonical_rows(spark.sql(totals.format(table))) == iceberg.sql(totals.format(table))


@pytest.mark.parametrize(
    ("condition", "by_key"), [("id = 5", True), ("id IN (5, 7) AND n > 1", True), ("n = 5", False)]
)
def test_columns_that_an_update_keeps_come_with_a_row_found_by_its_key(
    spark: SparkSession, table_name: str, source_of_rows: str, jobs: Jobs, condition: str, by_key: bool
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n BIGINT, v STRING, w STRING, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM {source_of_rows}")
    totals = f"SELECT count(*), sum(n), min(v), max(w), sum(hash(v, w)) FROM {table_name}"
    before = spark.sql(totals).first()
    changed = spark.sql(f"UPDATE {table_name} SET n = n + 1 WHERE {condition}").first()["num_affected_rows"]
    assert ("v" in jobs.columns) == by_key
    after = spark.sql(totals).first()
    assert changed
    assert (after[0], after[1], *after[2:]) == (before[0], before[1] + changed, *before[2:])


def test_long_texts_weigh_what_their_files_do(spark: SparkSession, table_name: str, jobs: Jobs) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, doc STRING)")
    text = "array_join(transform(sequence(1, 60), n -> md5(CAST(id * 100 + n AS STRING))), '')"
    spark.sql(f"INSERT INTO {table_name} SELECT id, {text} FROM range(50)")
    spark.sql(f"CREATE TABLE {table_name}_copy (id BIGINT, doc STRING)")
    for query, workers in (("id, doc", 1), ("max(id), min(doc)", 0)):
        before = jobs.workers
        with planned(spark, driver_bytes=20_000):
            spark.sql(f"INSERT INTO {table_name}_copy SELECT {query} FROM {table_name}")
        assert jobs.workers - before == workers


def test_a_generator_says_nothing_of_how_many_rows_there_will_be(
    spark: SparkSession, table_name: str, jobs: Jobs
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    for rows, query in ((2, "VALUES (1), (1 + 1)"), (50, "SELECT explode(sequence(1, 50))")):
        before: Sequence[int] = (jobs.workers, jobs.rows)
        spark.sql(f"INSERT INTO {table_name} {query}")
        came = jobs.rows - before[1]
        assert (jobs.workers - before[0], came >= rows) == ((0, True) if rows == 2 else (1, False))


@pytest.mark.parametrize(
    "properties",
    ["'write.upsert.mode'='resolved'", "'write.upsert.mode'='equality'", "'bucket'='2', 'write-only'='true'"],
)
@pytest.mark.parametrize(
    ("condition", "changed", "workers"), [("= 3", ROWS // 1000, 0), ("<> 3", ROWS - ROWS // 1000, 1)]
)
@pytest.mark.usefixtures("small_estimates")
def test_of_a_condition_nobody_knows_how_many_rows_it_leaves(
    spark: SparkSession,
    iceberg: IcebergJudge,
    table_name: str,
    jobs: Jobs,
    properties: str,
    condition: str,
    changed: int,
    workers: int,
) -> None:
    table = f"{table_name} (id BIGINT NOT NULL, n BIGINT, PRIMARY KEY (id))"
    spark.sql(f"CREATE TABLE {table} TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {table_name} SELECT id, 0 FROM range({ROWS})")
    before, rows = jobs.workers, f"SELECT id, 1L AS n FROM range({ROWS}) WHERE id % 1000 {condition}"
    statements = (
        f"MERGE INTO {table_name} AS t USING ({rows}) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"UPSERT INTO {table_name} {rows.replace('1L', '2L')}",
    )
    for number, statement in enumerate(statements, 1):
        assert spark.sql(statement).first()["num_affected_rows"] == changed
        assert jobs.workers - before == number * workers
        assert jobs.rows <= 3 * 65_537
        totals = "SELECT count(*), sum(n), count(DISTINCT id) FROM {}"
        assert canonical_rows(spark.sql(totals.format(table_name))) == [[ROWS, number * changed, ROWS]]
        assert iceberg.sql(totals.format(table_name)) == [[ROWS, number * changed, ROWS]]
