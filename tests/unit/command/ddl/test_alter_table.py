"""ALTER TABLE of partition fields and of the write order."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.ddl.alter_table import alter_partitioning, alter_write_order
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _partition(lake: Lake, clause: str) -> list[tuple[int, str, str]]:
    alter_partitioning(lake.environment, None, read(f"ALTER TABLE t {clause}"))
    return [(field.field_id, field.name, str(field.transform)) for field in lake.load().metadata.spec().fields]


def test_partition_fields_come_and_go_and_files_stay(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, `a.b` STRING, ts TIMESTAMP) PARTITIONED BY (id)")
    lake.append(id=[1], **{"a.b": ["x"]})
    files = [file.file_path for file in lake.files()]
    assert _partition(lake, "ADD PARTITION FIELD truncate(2, `a.b`) AS short") == [
        (1000, "id", "identity"),
        (1001, "short", "truncate[2]"),
    ]
    assert _partition(lake, "DROP PARTITION FIELD short") == [(1000, "id", "identity")]
    assert _partition(lake, "REPLACE PARTITION FIELD id WITH bucket(8, id)") == [(1002, "id_bucket_8", "bucket[8]")]
    # A field that was there before has its id again.
    assert _partition(lake, "REPLACE PARTITION FIELD bucket(8, id) WITH id") == [(1000, "id", "identity")]
    assert [file.file_path for file in lake.files()] == files
    assert {file.spec_id for file in lake.files()} == {0}


def test_format_version_1_keeps_the_places_of_fields(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT, b INT) PARTITIONED BY (a, b) TBLPROPERTIES ('format-version'='1')")
    fields = _partition(lake, "DROP PARTITION FIELD a")
    assert [(id, transform) for id, _, transform in fields] == [(1000, "void"), (1001, "identity")]


def test_partitioning_that_is_refused(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, s STRING) PARTITIONED BY (id)")
    for clause, condition in (
        ("ADD PARTITION FIELD days(s)", "INVALID_PARTITION_TRANSFORM"),
        ("ADD PARTITION FIELD id", "FIELD_ALREADY_EXISTS"),
        ("DROP PARTITION FIELD s", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ):
        with refused(condition):
            _partition(lake, clause)
    with refused("EXPECT_TABLE_NOT_PART", "the metadata table files"):
        alter_partitioning(lake.environment, None, read("ALTER TABLE lake.db.t.files ADD PARTITION FIELD s"))


def _ordered(lake: Lake, clause: str) -> tuple[list[tuple[int, str, str, str]], str | None]:
    alter_write_order(lake.environment, None, read(f"ALTER TABLE t {clause}"))
    metadata = lake.load().metadata
    fields = metadata.sort_order().fields
    told = [(field.source_id, str(field.transform), field.direction, field.null_order) for field in fields]
    return told, metadata.properties.get("write.distribution-mode")


def test_later_writes_are_ordered_and_distributed(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, s STRING) PARTITIONED BY (id)")
    terms = [(2, "identity", "desc", "nulls-first"), (1, "bucket[4]", "asc", "nulls-first")]
    assert _ordered(lake, "WRITE ORDERED BY s DESC NULLS FIRST, bucket(4, id)") == (terms, "range")
    # Without a word on it, the distribution stays.
    assert _ordered(lake, "WRITE LOCALLY ORDERED BY s") == ([(2, "identity", "asc", "nulls-first")], "range")
    assert _ordered(lake, "WRITE DISTRIBUTED BY PARTITION") == ([], "hash")
    assert _ordered(lake, "WRITE UNORDERED") == ([], "none")
