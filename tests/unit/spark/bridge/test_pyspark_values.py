"""Values of rows that are looked up, beside those that PySpark makes of the same moments."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql.types import TimestampType

from sqlext.spark.bridge.pyspark_values import converted, converter_of
from sqlext.spec.types import ListType, TimestamptzType

_FIRST, _LAST = -62_135_500_000_000_000, 253_402_200_000_000_000
# Clocks are put back in Berlin, forward in New York, and forth and back by half an hour in Lord Howe.
_EDGES = [1_729_990_800, 1_710_054_000, 1_712_415_600, 0, -1, -2_208_988_800]


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
def test_a_moment_is_told_in_the_zone_of_the_process() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    micros = [rng.randint(_FIRST, _LAST) for _ in range(500)]
    micros += [edge * 1_000_000 + rng.randint(-7_200_000_000, 7_200_000_000) for edge in _EDGES for _ in range(100)]
    column = pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))
    expected = [TimestampType().fromInternal(one) for one in micros]
    found = converted(column, converter_of(TimestamptzType(), None))
    assert found == expected, f"seed {seed}"
    assert [one.fold for one in found] == [one.fold for one in expected], f"seed {seed}"
    nested = pa.array([[None, *column.to_pylist()]], pa.list_(column.type))
    of_list = converter_of(ListType(1, TimestamptzType(), False), None)
    assert converted(nested, of_list) == [[None, *expected]], f"seed {seed}"
