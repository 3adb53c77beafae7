"""Which files hold rows to delete alone, by their partitions and bounds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sqlext.command.change.metadata_delete import covered_files
from sqlext.command.ddl.alter_table import alter_partitioning
from sqlext.spec.expression import And, Comparison, In, IsNaN, IsNull, Predicate
from unit.command.lake import Lake, read


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _covered(lake: Lake, row_filter: Predicate) -> tuple[list[int], list[int]]:
    """The numbers of the files that go whole, and of those that have to be read; the oldest is 0."""
    numbers = {file.file_path: number for number, file in enumerate(lake.files())}
    found = covered_files(lake.environment, lake.target(), row_filter)
    return tuple(sorted(numbers[task.file.file_path] for task in tasks) for tasks in (found.whole, found.undecided))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_bounds_and_counts_of_nulls_decide(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT) TBLPROPERTIES ('format-version'='{version}')")
    assert _covered(lake, Comparison("<", 1, 5)) == ([], []), "of an empty table"
    lake.append(id=[1, 2])
    lake.append(id=[4, 5])
    lake.append(id=[9])
    lake.append(id=[1, None])
    lake.append(id=[None, None])
    assert _covered(lake, Comparison("<", 1, 5)) == ([0], [1, 3])
    assert _covered(lake, IsNull(1)) == ([4], [3])
    assert _covered(lake, Comparison(">", 1, 9)) == ([], [])


def test_a_partition_is_known_to_the_value(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, p STRING, d DOUBLE) PARTITIONED BY (p, bucket(4, id))")
    lake.append(id=[1], p=["a"])
    lake.append(id=[2], p=["b"])
    lake.append(id=[3], p=[None])
    assert _covered(lake, Comparison("=", 2, "a")) == ([0], [])
    assert _covered(lake, In(2, frozenset({"a", "b"}))) == ([0, 1], [])
    assert _covered(lake, IsNull(2)) == ([2], [])
    assert _covered(lake, And(Comparison("=", 2, "a"), Comparison("=", 1, 2))) == ([], [])


def test_nan_is_greater_than_every_number(lake: Lake) -> None:
    """A file's bounds leave NaN out, so that an upper bound decides nothing where the file may have some."""
    lake.create("CREATE TABLE t (d DOUBLE)")
    lake.append(d=[1.0, math.nan])
    lake.append(d=[1.0, 2.0])
    lake.append(d=[math.nan])
    assert _covered(lake, Comparison("<=", 1, 2.0)) == ([1], [0])
    assert _covered(lake, Comparison(">=", 1, 1.0)) == ([0, 1, 2], [])
    assert _covered(lake, IsNaN(1)) == ([2], [0])


def test_files_of_an_earlier_partitioning_go_by_their_own(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p)")
    lake.append(id=[1, 2], p=["a", "a"])
    alter_partitioning(lake.environment, None, read("ALTER TABLE t DROP PARTITION FIELD p"))
    lake.append(id=[3, 4], p=["a", "b"])
    assert _covered(lake, Comparison("=", 2, "a")) == ([0], [1])
