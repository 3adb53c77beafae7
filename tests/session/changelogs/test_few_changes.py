"""Changes that the driver finds are those that a query finds, for every commit of many kinds."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from session.changelogs.change_folding import require_folds
from sessions import planned
from sqlext.command.changelog import changelog_recorder
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.changelog.few_changes import few_changes
from sqlext.command.environment import Environment
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.sql.lowering.changes import lower_changes, lower_kinds

COLUMNS = (
    "id INT, k STRING, v STRING, f FLOAT, d DOUBLE, n DECIMAL(12,2), b BOOLEAN, day DATE, t TIMESTAMP, l TIMESTAMP_NTZ,"
    " x BINARY"
)
STATEMENTS = (
    "INSERT INTO {table} SELECT id, concat('k', id % 3), 'first', id, IF(id = 3, 'NaN', -0.0), id, id > 4,"
    " DATE'2024-02-29' + id, TIMESTAMP'2024-01-01' + MAKE_INTERVAL(0, 0, 0, 0, id), NULL, CAST('x' AS BINARY)"
    " FROM (SELECT CAST(id AS INT) AS id FROM range(12))",
    "UPDATE {table} SET v = NULL, d = 0 WHERE id IN (2, 3)",
    "UPDATE {table} SET v = v WHERE id = 5",
    "UPDATE {table} SET k = 'k9' WHERE id = 6",
    "DELETE FROM {table} WHERE id = 7 OR k = 'k9'",
    "UPSERT INTO {table} (id, k, v) VALUES (1, 'k1', 'again'), (1, 'new', 'row'), (20, 'k2', NULL)",
    "ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT",
    "ALTER TABLE {table} ADD COLUMN more INT",
    "ALTER TABLE {table} RENAME COLUMN v TO w",
    "ALTER TABLE {table} DROP COLUMN b",
    "MERGE INTO {table} t USING (SELECT id, k FROM {table} WHERE id < 3) s ON t.id = s.id AND t.k = s.k"
    " WHEN MATCHED AND t.id = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET more = 1, n = n + 1",
    "INSERT OVERWRITE {table} SELECT * FROM {table} WHERE id > 2",
    "DELETE FROM {table} WHERE true",
)


def _rows(found: pa.Table) -> Counter[str]:
    """As Spark compares them: of a zero a query does not tell which one it was."""
    return Counter(
        str([value + 0.0 if isinstance(value, float) and not math.isnan(value) else value for value in row.values()])
        for row in found.to_pylist()
    )


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    ("version", "properties"),
    [(2, "'write.update.mode'='copy-on-write', 'write.merge.mode'='copy-on-write'"), (3, "'bucket'='2'")],
)
def test_the_driver_finds_what_a_query_finds(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, version: int, properties: str
) -> None:
    counts: list[int] = []

    def compared(
        environment: Environment, handle: TableHandle, before: Snapshot | None, after: Snapshot, most: int
    ) -> pa.Table | None:
        found = few_changes(environment, handle, before, after, most)
        assert found is not None
        schema = environment.catalogs.version(handle).metadata.schema()
        step = ChangeFeed(environment).step(handle, before, after, 0)
        queried = lowered_query(spark, lower_kinds(lower_changes([step], schema), schema)).toArrow()
        assert found.column_names == queried.column_names
        assert _rows(found) == _rows(queried)
        counts.append(found.num_rows)
        return found

    monkeypatch.setattr(changelog_recorder, "few_changes", compared)
    spark.sql(
        f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id, k)) TBLPROPERTIES"
        f" ('format-version'='{version}', 'changelog-producer'='lookup', {properties})"
    )
    for statement in STATEMENTS:
        spark.sql(statement.format(table=table_name))
    # Of rows that were moved nothing is told, and of a key that changes its row comes and goes.
    assert counts == [4, 0, 2, 2, 4, 7, 3, 8]


def _driver_finds(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, table: str, columns: str, properties: str, *statements: str
) -> list[bool]:
    """Of the statements that store changes, whether the driver has found them where it was asked."""
    answers: list[bool] = []

    def noted(*given: Any) -> pa.Table | None:
        found = few_changes(*given)
        answers.append(found is not None)
        return found

    monkeypatch.setattr(changelog_recorder, "few_changes", noted)
    spark.sql(f"CREATE TABLE {table} ({columns}, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    for statement in statements:
        spark.sql(statement.format(table=table))
    require_folds(spark, table)
    return answers


def test_a_query_finds_what_the_driver_does_not(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that it does not fetch by position, those of equality deletes that only a join applies, and more than it
    takes."""
    producer = "'changelog-producer'='lookup'"
    nested = "INSERT INTO {table} VALUES (1, array(1, 2)), (2, NULL)", "DELETE FROM {table} WHERE id = 1"
    assert _driver_finds(spark, monkeypatch, f"{table_name}_a", "id INT, a ARRAY<INT>", producer, *nested) == [False]
    by_key = f"{producer}, 'write.upsert.mode'='equality'"
    keyed = "INSERT INTO {table} VALUES (1, 'a'), (2, 'b')", "UPSERT INTO {table} VALUES (1, 'c')"
    assert _driver_finds(spark, monkeypatch, f"{table_name}_e", "id INT, v STRING", by_key, *keyed) == [True]
    table = f"{table_name}_j"
    assert _driver_finds(spark, monkeypatch, table, "id DECIMAL(5, 0), v STRING", by_key, *keyed) == [False]
    many = "INSERT INTO {table} SELECT id FROM range(9)", "DELETE FROM {table} WHERE id < 3", "DELETE FROM {table}"
    with planned(spark, changelog_rows=3):
        assert _driver_finds(spark, monkeypatch, f"{table_name}_m", "id INT", producer, *many) == [True]
