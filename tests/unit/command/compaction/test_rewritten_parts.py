"""Parts that the driver rewrites without a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from small_tables import files_below, stored_rows
from sqlext.command.compaction.rewritten_parts import Part, rewrite_parts, table_sort
from sqlext.command.plan.planning import Planning
from sqlext.command.write_operation import begin_write
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.location import to_local_path
from sqlext.thresholds import Thresholds
from unit.command.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _merged(lake: Lake, *parts: Sequence[str], **limits: int) -> Sequence[ContentFile] | None:
    target = lake.target()
    environment = replace(lake.environment, planning=Planning(replace(Thresholds(), **limits)))
    operation = begin_write(target.table.metadata, target.version.io, "t", environment.rng)
    sort = table_sort(target.table.metadata)
    rewritten = rewrite_parts(environment, None, target, operation, [Part(frozenset(part)) for part in parts], sort)
    return None if rewritten is None else rewritten.files


def _paths(lake: Lake) -> list[str]:
    return [file.file_path for file in lake.files()]


def _values(files: Sequence[ContentFile] | None) -> list[list[Any]]:
    assert files is not None
    return [[tuple(row.values()) for row in stored_rows(file)] for file in files]


def test_each_part_becomes_a_file_sorted_by_the_key(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='1')")
    lake.append(id=[5, 9], s=["a", "a"])
    lake.append(id=[2, 7], s=["b", None])
    lake.append(id=[1], s=["c"])
    first, second, third = _paths(lake)
    assert _values(_merged(lake, [first, second], [third])) == [
        [(2, "b"), (5, "a"), (7, None), (9, "a")],
        [(1, "c")],
    ]


def test_rows_that_are_gone_by_position_or_key_are_left_out(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id))")
    lake.append(id=[1, 2, 3], s=["a", "a", "a"])
    lake.delete({_paths(lake)[0]: [2]})
    lake.upsert(id=[1], s=["b"])
    assert _values(_merged(lake, _paths(lake))) == [[(2, "a"), (1, "b")]], "without an order, the oldest file first"


def test_rows_keep_their_ids_in_format_version_3(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('format-version'='3')")
    lake.append(id=[10, 11])
    lake.append(id=[12])
    lake.delete({_paths(lake)[0]: [0]})
    (file,) = _merged(lake, _paths(lake)) or ()
    rows = pq.read_table(to_local_path(file.file_path), partitioning=None).to_pylist()
    assert [(row["id"], row["_row_id"], row["_last_updated_sequence_number"]) for row in rows] == [
        (11, 1, 1),
        (12, 2, 2),
    ]


def test_a_file_that_has_lost_all_rows_brings_none(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
    lake.append(id=[1])
    lake.upsert(id=[1])
    first, second = _paths(lake)
    assert _values(_merged(lake, [first])) == []
    assert _values(_merged(lake, [first, second])) == [[(1,)]]


def test_what_is_left_to_a_query(lake: Lake, tmp_path: Path) -> None:
    lake.create("CREATE TABLE t (id BIGINT, s STRING) TBLPROPERTIES ('comment'='')")
    lake.append(id=list(range(100)), s=["x" * 50] * 100)
    before = files_below(tmp_path)
    assert _merged(lake, _paths(lake), compacted_bytes=80) is None
    assert files_below(tmp_path) == before


def test_values_that_arrow_does_not_have_are_left_to_a_query(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, v VARIANT) TBLPROPERTIES ('format-version'='3')")
    assert _merged(lake, []) is None


@pytest.mark.parametrize(("table", "merged"), [("(id BIGINT, PRIMARY KEY (id)) {}", False), ("(id BIGINT)", True)])
def test_a_large_part_is_not_sorted_in_memory(lake: Lake, table: str, merged: bool) -> None:
    """1,000 rows of 9 bytes."""
    lake.create(f"CREATE TABLE t {table}".format("TBLPROPERTIES ('bucket'='1')"))
    lake.append(id=list(range(1000)))
    assert (_merged(lake, _paths(lake), sorted_bytes=8_000) is not None) is merged
    assert _merged(lake, _paths(lake), sorted_bytes=10_000) is not None
    assert _merged(lake, _paths(lake), compacted_bytes=8_000) is None
