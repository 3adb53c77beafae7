"""DELETE of files of which all rows match: it counts the rows that its commit removes, others' since its plan too."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from sqlext.command.change import metadata_delete


@pytest.mark.parametrize("place", ["", ".branch_other"])
@pytest.mark.parametrize(
    ("condition", "deleted", "left"),
    [("WHERE p = 'a'", 4, [4, 5]), ("WHERE id < 7", 5, [7]), ("", 6, [])],
)
def test_rows_that_others_add_meanwhile_are_counted(
    spark: SparkSession,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    condition: str,
    deleted: int,
    left: list[int],
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, p STRING) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (4, 'b'), (7, 'a')")
    if place:
        spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH other")
    commit_change, meanwhile = metadata_delete.commit_change, spark.newSession()
    inserts = [f"INSERT INTO {table_name}{place} VALUES (2, 'a'), (3, 'a'), (5, 'b')"]

    def overtaken(*given: Any) -> Any:
        if inserts:
            meanwhile.sql(inserts.pop())
        return commit_change(*given)

    monkeypatch.setattr(metadata_delete, "commit_change", overtaken)
    counts = spark.sql(f"DELETE FROM {table_name}{place} {condition}").collect()[0]

    assert inserts == []
    assert (counts.num_affected_rows, counts.num_deleted_rows) == (deleted, deleted)
    rows = spark.sql(f"SELECT id FROM {table_name}{place} ORDER BY id").collect()
    assert [row.id for row in rows] == left
