"""Change feeds folded over the rows that they begin behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from judges.canonical import canonical_rows

ADDED = ("_change_type", "_change_ordinal", "_commit_snapshot_id")


def rows_of(frame: DataFrame) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in canonical_rows(frame))


def snapshots_of(spark: SparkSession, table: str) -> list[int]:
    """From the oldest ancestor of main's head on."""
    parents = {row.snapshot_id: row.parent_id for row in spark.table(f"{table}.snapshots").collect()}
    head = spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").first()
    assert head is not None
    chain, at = [], head.snapshot_id
    while at in parents:
        chain.append(at)
        at = parents[at]
    return chain[::-1]


def folded(rows: Counter[str], changes: Iterable[tuple[str, str]]) -> Counter[str]:
    folded = Counter(rows)
    for kind, row in changes:
        folded[row] += 1 if kind in ("INSERT", "UPDATE_AFTER") else -1
    assert min(folded.values(), default=0) >= 0, "a row goes that is not there"
    return +folded


def changes_of(frame: DataFrame) -> list[tuple[int, int, str, str]]:
    """Ordinal, snapshot, kind and row of each change."""
    rows = frame.select([name for name in frame.columns if name not in ADDED])
    tagged = frame.select(*ADDED, *rows.columns)
    return sorted((row[1], row[2], row[0], json.dumps(row[3:], sort_keys=True)) for row in canonical_rows(tagged))


def rows_at(spark: SparkSession, table: str, snapshot: int) -> Counter[str]:
    """A snapshot's rows in the columns that the table has now."""
    log = spark.sql(f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").first()
    assert log is not None
    file = log.file.rpartition("/")[2]
    return rows_of(spark.sql(f"SELECT * FROM {table} VERSION AS OF '@/{snapshot}/{file}'"))


def require_folds(spark: SparkSession, table: str) -> None:
    """Every step of the whole feed, and so every pair of snapshots; and the net difference of the first and last."""
    snapshots = snapshots_of(spark, table)
    changes = changes_of(spark.sql(f"SELECT * FROM table_changes('{table}')"))
    rows: Counter[str] = Counter()
    for snapshot in snapshots:
        rows = folded(rows, [(kind, row) for _, of, kind, row in changes if of == snapshot])
        assert rows == rows_at(spark, table, snapshot), snapshot
    net = changes_of(spark.sql(f"SELECT * FROM table_changes('{table}', {snapshots[0]}, {snapshots[-1]}, 'net')"))
    first = rows_at(spark, table, snapshots[0])
    assert folded(first, [(kind, row) for _, _, kind, row in net]) == rows
    gone, come = (Counter(row for _, _, kind, row in net if kind in kinds) for kinds in (
        ("DELETE", "UPDATE_BEFORE"), ("INSERT", "UPDATE_AFTER")))  # fmt: skip
    assert not gone & come
