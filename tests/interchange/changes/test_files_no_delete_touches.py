"""Data files that no equality delete touches are read beside the join of those that one may touch.

The key is of a type that is not looked up by the driver, so that equality deletes are joined.
"""

from __future__ import annotations

import pytest

from judges.canonical import canonical_rows
from judges.judged import Judged

CREATE = (
    "CREATE TABLE {table} (id DECIMAL(9, 0), part STRING, v INT, PRIMARY KEY (id, part))"
    " PARTITIONED BY (part) TBLPROPERTIES ('write.upsert.mode'='equality', 'format-version'='3')"
)
LOW = "INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'a', id FROM range(1, 6)"
HIGH = "INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'a', id FROM range(101, 106)"
ELSEWHERE = "INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'b', id FROM range(1, 6)"


def upsert(*ids: int) -> str:
    rows = ", ".join(f"({id}, 'a', 1000)" for id in ids)
    return f"UPSERT INTO {{table}} VALUES {rows}"


def plan(judged: Judged, query: str) -> str:
    return str(judged.spark.sql(f"EXPLAIN {query.replace('{table}', judged.table)}").collect()[0][0])


@pytest.fixture
def filled(judged: Judged) -> Judged:
    for statement in (CREATE, LOW, HIGH, ELSEWHERE):
        judged.run(statement)
    return judged


def test_the_join_is_over_touched_files_alone(filled: Judged) -> None:
    filled.run(upsert(2, 4))
    told = plan(filled, "SELECT * FROM {table}")
    assert told.count("LeftAnti") == told.count("deletes may touch") == told.count("deletes do not touch") == 1
    for query in (
        "SELECT id, v, _file, _pos, _partition FROM {table}",
        "SELECT count(*), sum(v) FROM {table} WHERE id > 2 AND v < 1000",
        "SELECT count(*) FROM {table} WHERE part = 'b'",
        "SELECT id, part, v, _deleted FROM {table}",
        "SELECT a.id FROM {table} a JOIN {table} b ON a.id = b.id AND a.part <> b.part WHERE b.v IN (2, 3)",
        "SELECT id, max(v) FROM {table} WHERE id IN (SELECT id FROM {table} WHERE part = 'b') GROUP BY id",
    ):
        statement = query.replace("{table}", filled.table)
        assert canonical_rows(filled.spark.sql(statement)) == filled.iceberg.sql(statement), query


def test_changes_of_rows_of_either_kind_of_file(filled: Judged) -> None:
    filled.run(upsert(2, 4))
    filled.run("UPDATE {table} SET v = v + 1 WHERE id IN (2, 3, 101)")
    filled.run("DELETE FROM {table} WHERE v = 5")
    filled.run(
        "MERGE INTO {table} AS t USING (SELECT id, 'a' AS part, -1 AS v FROM VALUES (4), (105), (7) AS s(id)) AS s"
        " ON t.id = s.id AND t.part = s.part"
        " WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *"
        " WHEN NOT MATCHED BY SOURCE AND t.part = 'b' THEN DELETE"
    )
    filled.run(upsert(103, 104))
    assert filled.count() == 10


def test_no_join_where_no_file_is_touched(filled: Judged) -> None:
    filled.run(upsert(50))
    told = plan(filled, "SELECT * FROM {table}")
    assert "LeftAnti" not in told
    assert "Union" not in told


def test_no_union_where_every_file_is_touched(judged: Judged) -> None:
    for statement in (CREATE, LOW, "UPSERT INTO {table} VALUES (2, 'a', 3)", "DELETE FROM {table} WHERE id = 2"):
        judged.run(statement)
    told = plan(judged, "SELECT * FROM {table}")
    assert "LeftAnti" in told
    assert "Union" not in told
