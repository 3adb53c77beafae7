"""Which scans the driver reads itself, and of how many rows."""

from __future__ import annotations

import pytest

from sqlext.spark.scan.driver_read import driver_rows
from sqlext.spec.expression import AlwaysTrue, And, Comparison, In, Not, NotNull, Or, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.thresholds import Thresholds
from unit.scan.small_table import data_file

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
    assert driver_rows(predicate, _files(8), Thresholds()) == (65_536 if read else 0)
    assert driver_rows(predicate, _files(9), Thresholds()) == 0


def test_wide_rows_are_fewer() -> None:
    limits = Thresholds(driver_bytes=1_000_000, unpacked=4)
    assert driver_rows(BY_KEY, _files(2, rows=1_000, size=1_000_000), limits) == 250
    assert driver_rows(BY_KEY, _files(1, rows=1, size=10_000_000), limits) == 0


def test_no_file_is_nothing_to_read() -> None:
    assert driver_rows(BY_KEY, [], Thresholds()) == 65_536
    assert driver_rows(BY_KEY, [], Thresholds(looked_up_rows=0)) == 0
