"""Which scans the driver reads itself, and of how many rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sqlext.spark.scan.driver_read import are_scattered, driver_rows
from sqlext.spec.expression import AlwaysTrue, And, Comparison, In, Not, NotNull, Or, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.thresholds import Thresholds
from unit.scan.small_table import SCHEMA, bounds, data_file

BY_KEY = Comparison("=", 1, 5)


def _files(count: int, rows: int = 1_000_000, size: int = 20_000_000) -> list[ContentFile]:
    return [data_file(f"{number}.parquet", rows=rows, file_size_in_bytes=size) for number in range(count)]


@pytest.mark.parametrize(
    ("predicate", "read"),
    [
        (BY_KEY, True),
        (In(1, frozenset({1, 2})), True),
        (And(And(NotNull(1), Comparison(">", 2, 3)), BY_KEY), True),
        (AlwaysTrue(), False),
        (Comparison("<", 1, 5), False),
        (Comparison("!=", 1, 5), False),
        (Not(BY_KEY), False),
        (Or(BY_KEY, Comparison(">", 2, 3)), False),
    ],
)
def test_scans_by_values_are_read(predicate: Predicate, read: bool) -> None:
    assert driver_rows(predicate, _files(8), SCHEMA, Thresholds()) == (131_072 if read else 0)
    assert driver_rows(predicate, _files(9), SCHEMA, Thresholds()) == 0


def test_wide_rows_are_fewer() -> None:
    limits = Thresholds(driver_bytes=1_000_000, unpacked=4)
    assert driver_rows(BY_KEY, _files(2, rows=1_000, size=1_000_000), SCHEMA, limits) == 250
    assert driver_rows(BY_KEY, _files(1, rows=1, size=10_000_000), SCHEMA, limits) == 0


def test_no_file_is_nothing_to_read() -> None:
    assert driver_rows(BY_KEY, [], SCHEMA, Thresholds()) == 131_072
    assert driver_rows(BY_KEY, [], SCHEMA, Thresholds(looked_up_rows=0)) == 0


def _ordered(*firsts: int) -> list[ContentFile]:
    """Files of a million rows, with the ids of a million from each of `firsts` on."""
    return [
        data_file(f"{first}.parquet", rows=1_000_000, file_size_in_bytes=4_000_000, **bounds(first, first + 999_999))
        for first in firsts
    ]


def test_values_in_many_pages_are_left_to_tasks() -> None:
    """In files that are ordered by the column each value is in a page of 20,000 rows of its own."""
    for count, files, read in (
        (6, _ordered(0), True),
        (7, _ordered(0), False),
        (100, _ordered(0), False),
        (6, _ordered(0, 1_000_000), True),
        (3, _ordered(0, 0), True),
        (4, _ordered(0, 0), False),
        (100, _ordered(1_000), True),  # none of them is in it
    ):
        found = driver_rows(In(1, frozenset(range(count))), files, SCHEMA, Thresholds())
        assert found == (131_072 if read else 0), (count, len(files))


def test_the_term_of_the_fewest_values_counts() -> None:
    many = In(1, frozenset(range(100)))
    assert driver_rows(And(many, Comparison("=", 2, "a")), _ordered(0), SCHEMA, Thresholds())
    assert driver_rows(And(many, Comparison(">", 1, 3)), _ordered(0), SCHEMA, Thresholds()) == 0


def test_few_rows_are_read_whatever_their_pages_are() -> None:
    many = In(1, frozenset(range(1_000)))
    small = [replace(one, record_count=100_000) for one in _ordered(0, 0)]
    assert driver_rows(many, small[:1], SCHEMA, Thresholds()) == 131_072
    assert driver_rows(many, small, SCHEMA, Thresholds()) == 0


def test_rows_are_scattered_where_a_value_may_be_in_several_large_files() -> None:
    assert are_scattered(BY_KEY, _ordered(0, 0), SCHEMA)
    assert are_scattered(In(1, frozenset(range(9))), _ordered(0, 0, 0), SCHEMA)
    assert not are_scattered(BY_KEY, _ordered(0, 1_000_000), SCHEMA)
    assert not are_scattered(BY_KEY, _ordered(0), SCHEMA)
    small = [replace(one, record_count=20_000) for one in _ordered(0, 0, 0)]
    assert not are_scattered(BY_KEY, [*_ordered(0), *small], SCHEMA)
