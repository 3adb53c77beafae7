"""Tables without buckets that compact themselves: every engine reads the rows of a table that does not."""

from __future__ import annotations

import random

import pytest

from interchange.changes.keyed_changes import COLUMNS, keyed_change
from judges.canonical import canonical_rows
from judges.judged import Judged

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
    spark.sql(f"INSERT INTO {judged.table} SELECT id, IF(id % 4 = 0, 'b', 'a'), md5(string(id)) FROM range(4000)")
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
