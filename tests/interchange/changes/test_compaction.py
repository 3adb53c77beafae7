"""Tables without buckets that compact themselves: every engine reads the rows of a table that does not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from interchange.changes.keyed_changes import COLUMNS, keyed_change
from judges.canonical import canonical_rows
from judges.judged import Judged
from sessions import planned
from sqlext.command import environment
from sqlext.command.compaction import compaction
from sqlext.commit.actions.compaction import RewriteFiles

ITSELF = {
    "write-only": "false",
    "compaction.min.file-num": "2",
    "compaction.delete-file-threshold": "4",
    "compaction.delete-ratio-threshold": "0.3",
}
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "copy-on-write v1": ("", {"format-version": "1"}),
    "equality v2": ("PARTITIONED BY (kind)", {"write.upsert.mode": "equality"}),
    "resolved v2": ("", {}),
    "by partition v2": ("PARTITIONED BY (kind)", {"write.distribution-mode": "none"}),
    "resolved v3": ("", {"format-version": "3"}),
    "by partition v3": ("PARTITIONED BY (kind)", {"format-version": "3"}),
}


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.long if at % 2 else ()) for at, way in enumerate(WAYS)]
)
def test_rows_are_those_of_a_table_that_is_never_compacted(judged: Judged, way: str) -> None:
    rng = random.Random(f"compaction {way}")
    spark, plain = judged.spark, f"{judged.table}_plain"
    partitioned, properties = WAYS[way]
    for table, told in ((plain, properties), (judged.table, properties | ITSELF)):
        pairs = ", ".join(f"'{name}'='{value}'" for name, value in ({"format-version": "2"} | told).items())
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) {partitioned} TBLPROPERTIES ({pairs})")
    for step in range(14):
        statement = keyed_change(rng, step)
        for table in (plain, judged.table):
            spark.sql(statement.replace("{table}", table))
        assert canonical_rows(spark.table(judged.table)) == canonical_rows(spark.table(plain)), (step, statement)
        if step % 5 == 4:
            judged.check()
    compactions = spark.sql(f"SELECT * FROM {judged.table}.snapshots WHERE operation = 'replace'").count()
    # Copy-on-write leaves one file of so few rows, until another engine adds some.
    assert (0 if "v1" in way else 1) <= compactions < 14
    # Another engine goes on, and what it writes is compacted with the rest.
    judged.run_in_iceberg("INSERT INTO {table} VALUES (200, 'a', 'iceberg'), (201, 'b', 'iceberg')")
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 200")
    lineage = f"SELECT id, kind, _row_id, _last_updated_sequence_number FROM {judged.table}"
    before = canonical_rows(spark.sql(lineage)) if "v3" in way else []
    spark.sql(f"CALL lake.system.compact('{judged.table}', full => true)")
    judged.check()
    if "v3" in way:
        assert before == canonical_rows(spark.sql(lineage)) == judged.iceberg.sql(lineage)
    files = spark.sql(f"SELECT content FROM {judged.table}.files").collect()
    assert [row.content for row in files] == [0] * (2 if partitioned else 1)
    again = spark.sql(f"CALL lake.system.compact('{judged.table}', full => true)").collect()
    assert again[0].compacted_buckets_count == 0


@pytest.mark.parametrize("granularity", ["partition", "file"])
def test_position_deletes_are_merged_where_few_rows_are_gone(judged: Judged, granularity: str) -> None:
    """Those of another engine too; no large file is written anew for a few rows."""
    spark = judged.spark
    spark.sql(
        f"CREATE TABLE {judged.table} (id INT, kind STRING, v STRING, PRIMARY KEY (id, kind)) PARTITIONED BY (kind)"
        f" TBLPROPERTIES ('format-version'='2', 'write-only'='false', 'compaction.delete-file-threshold'='6',"
        f" 'write.delete.granularity'='{granularity}', 'write.delete.mode'='merge-on-read')"
    )
    # Files of more than a megabyte: tiny ones are written anew. The judges read each row after each statement.
    words = " || ".join(f"sha2(string(id + {number}), 512)" for number in range(12))
    spark.sql(f"INSERT INTO {judged.table} SELECT id, IF(id % 4 = 0, 'b', 'a'), {words} FROM range(8000)")
    first = {row.file_path for row in spark.sql(f"SELECT file_path FROM {judged.table}.data_files").collect()}
    counts = []
    for id in (1, 2, 3, 5, 6, 7, 9):
        judged.run(f"UPSERT INTO {{table}} VALUES ({id}, 'a', 'again'), ({4 * id}, 'b', 'again')")
        judged.run_in_iceberg(f"DELETE FROM {{table}} WHERE id = {100 + id}")
        counts.append(spark.sql(f"SELECT file_path FROM {judged.table}.delete_files").count())
    judged.run("UPSERT INTO {table} VALUES (1, 'a', 'once more')")
    assert max(counts) >= 6
    deletes = spark.sql(f"SELECT spec_id, record_count FROM {judged.table}.delete_files").collect()
    assert sum(row.record_count for row in deletes) >= 12
    assert len(deletes) < max(counts)
    paths = {row.file_path for row in spark.sql(f"SELECT file_path FROM {judged.table}.data_files").collect()}
    assert first <= paths
    assert spark.sql(f"SELECT * FROM {judged.table} WHERE v IN ('again', 'once more')").count() == 14


LIMITS: dict[str, dict[str, int]] = {"driver": {}, "tasks": {"compacted_bytes": 0}, "query": {}}
LAYOUTS = {
    "as rows come v2": ("", {"format-version": "2"}),
    "as rows come v3": ("", {"format-version": "3"}),
    "by partition v2": ("PARTITIONED BY (kind)", {"format-version": "2", "write.delete.granularity": "partition"}),
    "by partition v3": ("PARTITIONED BY (kind)", {"format-version": "3"}),
    "sorted v2": ("ORDERED BY (v DESC)", {"format-version": "2"}),
    "sorted v3": ("ORDERED BY (v DESC)", {"format-version": "3"}),
    "by key v2": ("", {"format-version": "2", "write.upsert.mode": "equality"}),
    "by key v3": ("PARTITIONED BY (kind)", {"format-version": "3", "write.upsert.mode": "equality"}),
}


@pytest.mark.turns(2)
@pytest.mark.parametrize("by", LIMITS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_changes_while_files_are_rewritten_land_too(
    judged: Judged, monkeypatch: pytest.MonkeyPatch, layout: str, by: str
) -> None:
    """Commits come between the last row that a compaction writes and its own commit."""
    rng = random.Random(f"meanwhile {layout} {by}")
    spark, plain = judged.spark, f"{judged.table}_plain"
    shape, properties = LAYOUTS[layout]
    modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    pairs = ", ".join(f"'{name}'='{value}'" for name, value in (properties | modes).items())
    for table in (plain, judged.table):
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) {shape} TBLPROPERTIES ({pairs})")
    if by == "query":
        monkeypatch.setattr(compaction, "rewrite_parts", lambda *_, **__: None)
    changes, behind = ([keyed_change(rng, step) for step in range(9)] for _ in range(2))
    commit, overtaken = environment.commit, 0

    def apply(statements: Sequence[str]) -> None:
        for statement in statements:
            for table in (plain, judged.table):
                spark.sql(statement.replace("{table}", table))

    def commit_behind(catalog: Any, identifier: Any, action: Any, **given: Any) -> Any:
        nonlocal overtaken
        if isinstance(action, RewriteFiles):
            monkeypatch.setattr(environment, "commit", commit)
            apply([f"DELETE FROM {{table}} WHERE id = {100 + round}", *behind[3 * round :][: round + 1]])
            overtaken += 1
        return commit(catalog, identifier, action, **given)

    lineage = "_row_id" if "v3" in layout else "NULL"
    for round in range(3):
        new = [f"INSERT INTO {{table}} VALUES ({id}, 'a', 'new'), ({id + 50}, 'a', 'new')" for id in (100 + round, 200)]
        apply([*changes[3 * round : 3 * round + 3], *new])
        ids = canonical_rows(spark.sql(f"SELECT id, kind, {lineage} FROM {judged.table}"))
        monkeypatch.setattr(environment, "commit", commit_behind)
        # A statement may remove a file of which it deletes all rows; its partition is left to another try then.
        no_file_goes = {} if round == 1 else {"relisted_files": 0, "relisted_files_per_drop": 0}
        with planned(spark, **LIMITS[by], **no_file_goes):
            done = spark.sql(f"CALL lake.system.compact('{judged.table}', full => true)").collect()[0]
        assert done.failed_buckets_count == 0
        monkeypatch.setattr(environment, "commit", commit)
        assert canonical_rows(spark.table(judged.table)) == canonical_rows(spark.table(plain)), (layout, round)
        judged.check()
        kept = canonical_rows(spark.sql(f"SELECT id, kind, {lineage} FROM {judged.table}"))
        assert any(row in ids for row in kept), "rows keep their ids"
        if "v3" in layout:
            told = f"SELECT id, kind, _row_id, _last_updated_sequence_number FROM {judged.table}"
            assert canonical_rows(spark.sql(told)) == judged.iceberg.sql(told)
    assert overtaken == 3
    carried = f"SELECT sum(summary['added-position-deletes']) AS n FROM {judged.table}.snapshots"
    assert spark.sql(f"{carried} WHERE operation = 'replace'").collect()[0].n
