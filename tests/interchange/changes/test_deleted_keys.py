"""Tables in buckets that come to have many equality deletes: the rows are marked, and no data file is written anew."""

from __future__ import annotations

import pytest

from judges.canonical import canonical_rows
from judges.judged import Judged

UPSERT = "UPSERT INTO {table} SELECT id, k, '%d' FROM (SELECT id, concat('k', id %% 3) AS k FROM range(%d, 40, 5))"


def _files(judged: Judged, content: int) -> set[str]:
    live = judged.spark.sql(f"SELECT file_path FROM {judged.table}.files WHERE content = {content}").collect()
    return {row.file_path for row in live}


def _table(judged: Judged, columns: str, version: int) -> None:
    told = {
        "bucket": "2",
        "format-version": str(version),
        "write.upsert.mode": "equality",
        "num-sorted-run.compaction-trigger": "100",
        "compaction.delete-file-threshold": "4",
    }
    pairs = ", ".join(f"'{name}'='{value}'" for name, value in told.items())
    judged.spark.sql(
        f"CREATE TABLE {judged.table} ({columns}, PRIMARY KEY (id, k) NOT ENFORCED) TBLPROPERTIES ({pairs})"
    )


@pytest.mark.parametrize("version", [2, 3])
def test_rows_are_marked_once_equality_deletes_are_many(judged: Judged, version: int) -> None:
    _table(judged, "id BIGINT, k STRING, v STRING", version)
    spark = judged.spark
    spark.sql(f"INSERT INTO {judged.table} SELECT id, concat('k', id % 3), 'first' FROM range(200)")
    data = _files(judged, 0)
    for step in range(3):
        judged.run(UPSERT % (step, step))
    assert len(_files(judged, 2)) == 6
    expected = {id: str(id % 5) if id < 40 and id % 5 < 3 else "first" for id in range(200)}
    judged.run("DELETE FROM {table} WHERE id = 7")
    before = judged.spark.sql(f"SELECT id, _row_id FROM {judged.table}") if version == 3 else None
    ids = None if before is None else canonical_rows(before)
    judged.run(UPSERT % (9, 4))
    expected |= dict.fromkeys(range(4, 40, 5), "9")
    del expected[7]
    assert {row.id: row.v for row in spark.table(judged.table).collect()} == expected
    assert len(_files(judged, 1)) > 0
    # Of those in version 2 the position delete was one too many already.
    assert len(_files(judged, 2)) == (2 if version == 2 else 0)
    # None of the files that were there has been replaced.
    assert data < _files(judged, 0)
    if ids is not None:
        now = canonical_rows(spark.sql(f"SELECT id, _row_id FROM {judged.table} WHERE id % 5 <> 4"))
        assert now == [row for row in ids if row[0] % 5 != 4]


def test_keys_that_the_driver_does_not_look_up_go_with_their_bucket(judged: Judged) -> None:
    """As those of files whose columns a name mapping might tell."""
    _table(judged, "id BIGINT, k STRING, v STRING", 3)
    spark = judged.spark
    spark.sql(f"INSERT INTO {judged.table} SELECT id, concat('k', id % 3), 'first' FROM range(40)")
    path = next(iter(_files(judged, 0)))
    renamed = '{table} SET TBLPROPERTIES (\'schema.name-mapping.default\'=\'[{"field-id": 1, "names": ["id"]}]\')'
    spark.sql(f"ALTER TABLE {renamed.replace('{table}', judged.table)}")
    for step in range(4):
        judged.run(UPSERT % (step, step))
    assert path not in _files(judged, 0)
    assert _files(judged, 2) == set()
