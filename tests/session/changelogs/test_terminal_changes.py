"""`sqlext cat` and `sqlext changes` read what Spark reads of the same tables, in one process and without it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlext.terminal.named_catalog import NamedCatalog, NamedTable
from sqlext.terminal.output import plain
from sqlext.terminal.read_state import state_of
from sqlext.terminal.row_difference import changes
from sqlext.terminal.table_rows import plan_of, rows_of

TABLES = {
    "merge on read": "'format-version'='2'",
    "vectors": "'format-version'='3'",
    "copy on write": "'write.delete.mode'='copy-on-write', 'write.update.mode'='copy-on-write',"
    " 'write.merge.mode'='copy-on-write'",
    "equality deletes": "'write.upsert.mode'='equality'",
    "buckets": "'bucket'='2', 'num-sorted-run.compaction-trigger'='3'",
    "stored changelog": "'changelog-producer'='lookup'",
    "gzipped metadata, no statistics": "'write.metadata.compression-codec'='gzip',"
    " 'write.metadata.metrics.default'='none'",
}


@pytest.mark.turns(1)
@pytest.mark.parametrize("properties", TABLES.values(), ids=TABLES)
def test_rows_and_changes_are_those_of_spark(
    spark: SparkSession, warehouse: Path, table_name: str, properties: str
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING, s STRUCT<a: INT, b: ARRAY<STRING>>, d DECIMAL(9,2), x DOUBLE,"
        f" PRIMARY KEY (id)) TBLPROPERTIES ({properties})"
    )
    rows = "id, concat('v', id % 5), named_struct('a', int(id), 'b', array('x', NULL)), id / 3, double('NaN')"
    for statement in (
        f"INSERT INTO {table_name} SELECT {rows} FROM range(60)",
        f"UPSERT INTO {table_name} SELECT {rows} FROM range(50, 70)",
        f"DELETE FROM {table_name} WHERE id % 7 = 0",
        f"UPDATE {table_name} SET v = NULL, x = -0.0D WHERE id < 20",
        f"CALL lake.system.compact('{table_name}', full => true)",
        f"ALTER TABLE {table_name} RENAME COLUMN v TO w",
        f"ALTER TABLE {table_name} ADD COLUMN late INT",
        f"UPSERT INTO {table_name} (id, w, late) VALUES (1, 'new', 1), (100, 'new', 2)",
        f"MERGE INTO {table_name} t USING (SELECT 30 AS id) u ON t.id = u.id WHEN MATCHED THEN DELETE",
    ):
        spark.sql(statement)
    named = NamedCatalog("lake", {"warehouse": str(warehouse)}).table(table_name)
    assert _rows_of(named) == _counted(spark.table(table_name).collect())
    first = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots ORDER BY committed_at").first()
    assert first is not None
    start = named.metadata.snapshot(first.snapshot_id)
    for begin, place in ((None, "NULL"), (start, str(start.snapshot_id))):
        for mode in ("each", "net"):
            told = spark.sql(f"SELECT * FROM table_changes('{table_name}', {place}, NULL, '{mode}')").collect()
            # Which step a change is of is a matter of the feed: a compaction is none, whoever counts.
            found = Counter(
                _text([one.change, one.snapshot_id, one.values])
                for one in changes(named, begin, named.snapshot, net=mode == "net")
            )
            kinds = [row.asDict(recursive=True) for row in told]
            expected = Counter(
                _text([row.pop("_change_type"), row.pop("_commit_snapshot_id"), _without_ordinal(row)]) for row in kinds
            )
            assert found == expected, (place, mode, found - expected, expected - found)


def _without_ordinal(row: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in row.items() if key != "_change_ordinal"}


def _rows_of(named: NamedTable) -> Counter[str]:
    state = state_of(named)
    plan = plan_of(named.name, state, named.snapshot)
    batches = (batch for task in plan.tasks for batch in rows_of(state, task, named.metadata.schema(), named.name))
    return Counter(_text(row) for batch in batches for row in batch.to_pylist())


def _counted(rows: list[object]) -> Counter[str]:
    return Counter(_text(row.asDict(recursive=True)) for row in rows)  # type: ignore[attr-defined]


def _text(value: object) -> str:
    """A row as text; -0.0 is 0.0, as in a comparison."""
    return str(plain(value)).replace("-0.0", "0.0")
