"""Change feeds: folded over the rows of an older snapshot they give those of a newer one."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from golden_tables.relocation import unpack
from judges.canonical import canonical_rows

GOLDEN = Path(__file__).parents[1] / "golden_tables"
ADDED = ("_change_type", "_change_ordinal", "_commit_snapshot_id")


def _rows(frame: DataFrame) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in canonical_rows(frame))


def _snapshots(spark: SparkSession, table: str) -> list[int]:
    """From the oldest ancestor of main's head on."""
    parents = {row.snapshot_id: row.parent_id for row in spark.table(f"{table}.snapshots").collect()}
    head = spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").first()
    assert head is not None
    chain, at = [], head.snapshot_id
    while at in parents:
        chain.append(at)
        at = parents[at]
    return chain[::-1]


def _folded(rows: Counter[str], changes: Iterable[tuple[str, str]]) -> Counter[str]:
    folded = Counter(rows)
    for kind, row in changes:
        folded[row] += 1 if kind in ("INSERT", "UPDATE_AFTER") else -1
    assert min(folded.values(), default=0) >= 0, "a row goes that is not there"
    return +folded


def _changes(frame: DataFrame) -> list[tuple[int, int, str, str]]:
    """Ordinal, snapshot, kind and row of each change."""
    rows = frame.select([name for name in frame.columns if name not in ADDED])
    tagged = frame.select(*ADDED, *rows.columns)
    return sorted((row[1], row[2], row[0], json.dumps(row[3:], sort_keys=True)) for row in canonical_rows(tagged))


def _at(spark: SparkSession, table: str, snapshot: int) -> Counter[str]:
    """A snapshot's rows in the columns that the table has now."""
    log = spark.sql(f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").first()
    assert log is not None
    file = log.file.rpartition("/")[2]
    return _rows(spark.sql(f"SELECT * FROM {table} VERSION AS OF '@{file}//{snapshot}'"))


def _require_folds(spark: SparkSession, table: str) -> None:
    """Every step of the whole feed, and so every pair of snapshots; and the net difference of the first and last."""
    snapshots = _snapshots(spark, table)
    changes = _changes(spark.sql(f"SELECT * FROM table_changes('{table}')"))
    rows: Counter[str] = Counter()
    for snapshot in snapshots:
        rows = _folded(rows, [(kind, row) for _, of, kind, row in changes if of == snapshot])
        assert rows == _at(spark, table, snapshot), snapshot
    net = _changes(spark.sql(f"SELECT * FROM table_changes('{table}', {snapshots[0]}, {snapshots[-1]}, 'net')"))
    first = _at(spark, table, snapshots[0])
    assert _folded(first, [(kind, row) for _, _, kind, row in net]) == rows
    gone, come = (Counter(row for _, _, kind, row in net if kind in kinds) for kinds in (
        ("DELETE", "UPDATE_BEFORE"), ("INSERT", "UPDATE_AFTER")))  # fmt: skip
    assert not gone & come


@pytest.mark.parametrize(
    ("version", "properties"),
    [
        (2, "'write.merge.mode'='copy-on-write', 'write.update.mode'='copy-on-write'"),
        (3, "'write.upsert.mode'='equality'"),
    ],
)
def test_changes_of_every_kind(spark: SparkSession, table_name: str, version: int, properties: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
        f" ('format-version'='{version}', {properties})"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    spark.sql(f"UPDATE {table_name} SET v = 'B' WHERE id = 2")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A'), (5, 'e')")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN n INT")
    spark.sql(f"UPSERT INTO {table_name} VALUES (5, 'e', 5), (4, 'd', NULL)")
    spark.sql(f"CALL lake.system.convert_equality_deletes('{table_name.removeprefix('lake.')}')")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (2, 'B', NULL), (7, 'g', 7)")
    _require_folds(spark, table_name)

    snapshots = _snapshots(spark, table_name)
    of = f"table_changes('{table_name}', {snapshots[0]}, {snapshots[3]})"
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM {of} ORDER BY _change_ordinal, id, v DESC").collect()] == [
        (2, "b", None, "UPDATE_BEFORE", 0, snapshots[1]),
        (2, "B", None, "UPDATE_AFTER", 0, snapshots[1]),
        (3, "c", None, "DELETE", 1, snapshots[2]),
        (1, "a", None, "UPDATE_BEFORE", 2, snapshots[3]),
        (1, "A", None, "UPDATE_AFTER", 2, snapshots[3]),
        (5, "e", None, "INSERT", 2, snapshots[3]),
    ]
    whole = spark.sql(f"SELECT * FROM table_changes('{table_name}')")
    assert _changes(spark.table(f"{table_name}.changes")) == _changes(whole)
    assert spark.sql(f"SELECT count(*) AS n FROM {table_name}.changes WHERE id = 7").first()["n"] == 1


def test_places_and_what_is_refused(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    assert spark.sql(f"SELECT * FROM table_changes('{table_name}')").columns == ["id", *ADDED]
    assert spark.table(f"{table_name}.changes").count() == 0
    for id in (1, 2, 3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id})")
    first, second, third = _snapshots(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG one AS OF VERSION {first}")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH side AS OF VERSION {first}")
    spark.sql(f"INSERT INTO {table_name}.branch_side VALUES (9)")
    times = {row.snapshot_id: row.committed_at for row in spark.table(f"{table_name}.snapshots").collect()}

    def ids(*arguments: str) -> list[int]:
        given = ", ".join((f"'{table_name}'", *arguments))
        return sorted(row.id for row in spark.sql(f"SELECT id FROM table_changes({given})").collect())

    assert ids("'one'") == [2, 3]
    assert ids(str(first), str(second)) == [2]
    assert ids(f"TIMESTAMP'{times[second]}'") == [3]
    assert ids("NULL", "'one'") == [1]
    assert ids(str(third), str(third)) == []
    assert ids(str(first), "'side'") == [9]
    assert ids("'side'", "'main'", "'net'") == [2, 3, 9]
    given = f"'{table_name}.branch_side', 'one'"
    assert [row.id for row in spark.sql(f"SELECT id FROM table_changes({given})").collect()] == [9]
    for arguments, condition in (
        ("'side', 'main'", "CHANGES_NOT_BEHIND"),
        ("1, 2, 'some'", "CHANGES_MODE_INVALID"),
        ("7", "SNAPSHOT_NOT_FOUND"),
    ):
        with pytest.raises(AnalysisException, match=condition):
            spark.sql(f"SELECT * FROM table_changes('{table_name}', {arguments})")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table(f"{table_name}_none.changes")


def _golden_tables(archive: str, folder: str) -> list[str]:
    with zipfile.ZipFile(GOLDEN / archive) as file:
        return sorted(json.loads(file.read(f"{folder}/index.json"))["tables"])


def test_changes_that_flink_wrote(spark: SparkSession, warehouse: Path) -> None:
    folder = warehouse / "flink_changes"
    folder.mkdir()
    unpack(GOLDEN / "golden_flink_dev.zip", folder)
    for name in _golden_tables("golden_flink_dev.zip", "flink_dev"):
        _require_folds(spark, f"lake.flink_changes.{name}")
