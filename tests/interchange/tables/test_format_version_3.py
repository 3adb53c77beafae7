"""Tables of format version 3: Iceberg's runtime and PyIceberg read what sqlext wrote, and each changes the other's."""

from __future__ import annotations

from judges.canonical import canonical_rows
from judges.judged import Judged

ROWS = "(1, 'a', 1.50), (2, 'b', NULL), (3, NULL, -3.25), (4, 'a/b', 4.00), (5, 'z', 0.01)"
MERGE = """
MERGE INTO {table} AS t USING (SELECT * FROM VALUES {rows} AS s(id, kind, amount)) AS s ON t.id = s.id
WHEN MATCHED AND s.kind = 'gone' THEN DELETE WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *
"""
UPSERT = """
MERGE INTO {table} AS t USING (SELECT * FROM VALUES {rows} AS s(id, kind, amount)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
MERGE_ON_READ = (
    "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
)


def create(judged: Judged, *, version: int = 3, key: bool = False, partitioning: str = "", more: str = "") -> None:
    constraint = ", PRIMARY KEY (id)" if key else ""
    judged.run(
        f"CREATE TABLE {{table}} (id INT, kind STRING, amount DECIMAL(9,2){constraint}) {partitioning}"
        f" TBLPROPERTIES ('format-version'='{version}', {MERGE_ON_READ}{more})"
    )
    judged.run(f"INSERT INTO {{table}} VALUES {ROWS}")


def delete_formats(judged: Judged) -> list[str]:
    rows = judged.spark.sql(f"SELECT file_format FROM {judged.table}.delete_files").collect()
    return sorted(row.file_format for row in rows)


def test_turns_of_both_engines(judged: Judged) -> None:
    create(judged, partitioning="PARTITIONED BY (truncate(1, kind))")
    judged.run("DELETE FROM {table} WHERE id = 2")
    judged.run_in_iceberg("INSERT INTO {table} VALUES (12, 'a', 1.00), (13, 'a', 2.00), (14, 'a', 2.00)")
    judged.run("DELETE FROM {table} WHERE id = 13")
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 14")
    judged.run("UPDATE {table} SET amount = coalesce(amount, 0) + 1 WHERE id IN (4, 12)")
    judged.run_in_iceberg(MERGE.replace("{rows}", "(3, 'gone', NULL), (12, 'by iceberg', 1.00), (20, 'n', NULL)"))
    judged.run(MERGE.replace("{rows}", "(1, 'gone', NULL), (12, 'a by sqlext', 1.00), (21, 'n', NULL)"))
    judged.run("INSERT OVERWRITE {table} SELECT * FROM {table} WHERE id < 21")
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 20")
    judged.run("DELETE FROM {table} WHERE id = 5")
    assert judged.count() == 2
    judged.run("DELETE FROM {table}")


def test_one_vector_for_each_data_file(judged: Judged) -> None:
    create(judged)
    for id in (1, 2, 3):
        judged.run(f"DELETE FROM {{table}} WHERE id = {id}")
        assert delete_formats(judged) == ["PUFFIN"]
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 4")
    assert delete_formats(judged) == ["PUFFIN"]


def test_upserts(judged: Judged) -> None:
    create(judged, key=True)
    judged.run(UPSERT.replace("{rows}", "(2, 'B', NULL), (6, 'f', 6.00)"))
    assert delete_formats(judged) == ["PUFFIN"]
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('write.upsert.mode'='equality')")
    judged.run(UPSERT.replace("{rows}", "(2, 'BB', NULL), (1, 'A', NULL), (7, 'g', NULL)"))
    judged.run("DELETE FROM {table} WHERE id = 7")
    assert delete_formats(judged) == ["PARQUET", "PUFFIN", "PUFFIN"]
    assert judged.count() == 6


def test_upgrades_in_place(judged: Judged) -> None:
    create(judged, version=1)
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='2')")
    judged.run("DELETE FROM {table} WHERE id = 1")
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 2")
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    judged.run("DELETE FROM {table} WHERE id = 3")
    assert delete_formats(judged) == ["PUFFIN"]
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 4")
    judged.run("INSERT INTO {table} VALUES (6, 'f', 1.00)")
    assert canonical_rows(judged.spark.table(judged.table)) == [[5, "z", "0.01"], [6, "f", "1.00"]]


def test_an_overwrite_of_a_partition_marks_rows_in_vectors(judged: Judged) -> None:
    create(judged)
    judged.run_in_iceberg("ALTER TABLE {table} ADD PARTITION FIELD kind")
    judged.run("INSERT OVERWRITE {table} PARTITION (kind = 'a') SELECT 10, 5.00")
    assert delete_formats(judged) == ["PUFFIN"]
    assert judged.count() == 5
