"""Row ids and the numbers of their last change, as Iceberg's runtime gives them too (spec: Row Lineage)."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from interchange.tables.test_format_version_3 import MERGE, UPSERT, create
from judges.canonical import canonical_rows
from judges.judged import Judged

LINEAGE = "SELECT id, _row_id, _last_updated_sequence_number FROM {table}"


def lineage(judged: Judged) -> dict[int, tuple[Any, Any]]:
    """By id: row id and the number of the last change, as both engines read them."""
    query = LINEAGE.replace("{table}", judged.table)
    rows = canonical_rows(judged.spark.sql(query))
    assert rows == judged.iceberg.sql(query)
    return {row[0]: (row[1], row[2]) for row in rows}


def row_ids(judged: Judged) -> dict[int, Any]:
    return {id: row_id for id, (row_id, _) in lineage(judged).items()}


def test_changed_rows_keep_their_ids(judged: Judged) -> None:
    create(judged, partitioning="PARTITIONED BY (truncate(1, kind))")
    before = row_ids(judged)
    assert sorted(before.values()) == [0, 1, 2, 3, 4]
    judged.run("UPDATE {table} SET kind = 'moved' WHERE id IN (2, 4)")
    after = lineage(judged)
    assert {id: row_id for id, (row_id, _) in after.items()} == before
    assert {id: number for id, (_, number) in after.items()} == {1: 1, 2: 2, 3: 1, 4: 2, 5: 1}
    judged.run_in_iceberg("UPDATE {table} SET kind = 'by iceberg' WHERE id IN (1, 2)")
    judged.run(
        MERGE.replace("{rows}", "(1, 'gone', NULL), (2, 'again', 1.00), (20, 'new', NULL)").replace(
            "WHEN NOT MATCHED", "WHEN NOT MATCHED BY SOURCE AND t.id = 5 THEN UPDATE SET amount = 9 WHEN NOT MATCHED"
        )
    )
    merged = lineage(judged)
    new = merged.pop(20)
    assert {id: row_id for id, (row_id, _) in merged.items()} == {id: before[id] for id in (2, 3, 4, 5)}
    assert new[0] not in before.values()
    assert {merged[2][1], merged[5][1], new[1]} == {4}
    judged.run("DELETE FROM {table} WHERE id = 3")
    kept = {**{id: before[id] for id in (2, 4, 5)}, 20: new[0]}
    assert row_ids(judged) == kept
    # large enough by its estimate to be written on executors
    judged.run(
        "MERGE INTO {table} AS t USING (SELECT CAST(id AS INT) AS id FROM range(300000)) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET kind = 'large'"
    )
    assert row_ids(judged) == kept


def test_upserted_rows_keep_their_ids(judged: Judged) -> None:
    create(judged, key=True)
    before = row_ids(judged)
    for number in range(2):
        judged.run(UPSERT.replace("{rows}", f"(2, 'B{number}', NULL), ({6 + number}, 'n', 6.00), (4, 'D', NULL)"))
        after = row_ids(judged)
        assert {id: after[id] for id in before} == before
        assert len(set(after.values())) == len(after)
    # with equality deletes in the table, Spark joins
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('write.upsert.mode'='equality')")
    judged.run(UPSERT.replace("{rows}", "(1, 'new row', NULL)"))
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('write.upsert.mode'='resolved')")
    known = row_ids(judged)
    assert known[1] not in after.values()
    judged.run(UPSERT.replace("{rows}", "(1, 'again', NULL), (2, 'B', NULL), (9, 'n', NULL)"))
    after = row_ids(judged)
    assert {id: after[id] for id in known} == known


def test_rows_of_an_upgraded_table_get_ids_with_the_next_commit(judged: Judged) -> None:
    create(judged, version=2)
    query = LINEAGE.replace("{table}", judged.table)
    with pytest.raises(AnalysisException):
        judged.spark.sql(query)
    judged.run("DELETE FROM {table} WHERE id = 1")
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    assert set(lineage(judged).values()) == {(None, None)}
    judged.run("INSERT INTO {table} VALUES (6, 'f', 1.00)")
    ids = row_ids(judged)
    assert None not in ids.values()
    judged.run("UPDATE {table} SET kind = 'x' WHERE id > 3")
    assert row_ids(judged) == ids


def test_row_ids_in_conditions_and_joins(judged: Judged) -> None:
    create(judged)
    judged.run("UPDATE {table} SET kind = 'x' WHERE id = 5")
    judged.run("DELETE FROM {table} WHERE id = 2")
    joined = judged.spark.sql(
        f"SELECT a.id, b._row_id FROM {judged.table} AS a JOIN {judged.table} AS b ON a._row_id = b._row_id"
        " WHERE a._row_id >= 3 ORDER BY a.id"
    )
    assert [tuple(row) for row in joined.collect()] == [(4, 3), (5, 4)]
    judged.run("DELETE FROM {table} WHERE _row_id = 4")
    assert sorted(row_ids(judged)) == [1, 3, 4]
