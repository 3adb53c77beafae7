from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.spec import iso_date_time as iso

EPOCH = datetime.date(1970, 1, 1)


@given(st.dates())
def test_civil_date_agrees_with_datetime(date: datetime.date) -> None:
    days = (date - EPOCH).days
    assert iso.civil_date(days) == (date.year, date.month, date.day)
    assert iso.days_from_civil(date.year, date.month, date.day) == days
    assert iso.parse_date(iso.format_date(days)) == days


@given(st.integers(-(2**31), 2**31 - 1))
def test_dates_beyond_datetime_round_trip(days: int) -> None:
    assert iso.days_from_civil(*iso.civil_date(days)) == days
    assert iso.parse_date(iso.format_date(days)) == days


@given(st.lists(st.integers(0, 253_402_300_799_999), min_size=2, max_size=2))
def test_moments_have_one_width_and_sort_as_texts(given: list[int]) -> None:
    texts = [iso.moment(milliseconds) for milliseconds in given]
    # Python 3.10 reads fractions of three or six digits alone.
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) for text in texts)
    assert [iso.parse_timestamptz(text, 1000) for text in texts] == given
    assert sorted(texts) == [iso.moment(milliseconds) for milliseconds in sorted(given)]


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([1_000_000, 1_000_000_000]))
def test_timestamps_round_trip(units: int, per_second: int) -> None:
    text = iso.format_timestamp(units, per_second)
    assert iso.parse_timestamp(text, per_second) == units
    assert iso.parse_timestamptz(text + "Z", per_second) == units


def test_offsets_are_applied() -> None:
    assert iso.parse_timestamptz("1970-01-01T01:30:00+01:30", 1_000_000) == 0
    assert iso.parse_timestamptz("1969-12-31T23:00:00-01:00", 1_000_000) == 0


@pytest.mark.parametrize("text", ["2023-02-29", "2023-13-01", "23-01-01", "2023-1-1", ""])
def test_impossible_dates_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        iso.parse_date(text)


def test_digits_finer_than_the_unit_are_refused() -> None:
    with pytest.raises(ValueError, match="finer"):
        iso.parse_time("00:00:00.0000001", 1_000_000)
