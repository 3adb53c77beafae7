"""The time of a partition is read from its values, by default or by a pattern and a formatter."""

from __future__ import annotations

from datetime import datetime

import pytest

from sqlext.commit.rules.partition_time import PartitionTime, directives
from sqlext.spec.transform import IdentityTransform, Transform, TruncateTransform, YearTransform


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-26", datetime(2026, 11, 26)),
        ("2026-1-6", datetime(2026, 1, 6)),
        ("2026-11", datetime(2026, 11, 1)),
        ("2026", datetime(2026, 1, 1)),
        ("2026-11-26-07", datetime(2026, 11, 26, 7)),
        ("2026-11-26 07:08:09", datetime(2026, 11, 26, 7, 8, 9)),
        ("2026-11-26T07:08:09.123456+00:00", datetime(2026, 11, 26, 7, 8, 9)),
        ("2026-13-01", None),
        ("20261126", None),
        ("eu", None),
        ("", None),
        (None, None),
        ("99999-01-01", None),
    ],
)
def test_times_by_default(text: str | None, time: datetime | None) -> None:
    assert PartitionTime().of({"day": text}) == time


def test_the_first_field_counts_by_default() -> None:
    assert PartitionTime().of({"day": "2026-01-01", "region": "eu"}) == datetime(2026, 1, 1)
    assert PartitionTime().of({"region": "eu", "day": "2026-01-01"}) is None
    assert PartitionTime().of({}) is None


@pytest.mark.parametrize(
    ("pattern", "values", "time"),
    [
        ("$dt", {"region": "eu", "dt": "2026-01-02"}, datetime(2026, 1, 2)),
        ("$y-$m-$d $h:00:00", {"y": "2026", "m": "3", "d": "4", "h": "5"}, datetime(2026, 3, 4, 5)),
        ("$dt", {"dt": "2026-01-02", "dt1": "2025-01-02"}, datetime(2026, 1, 2)),
        ("$dt1", {"dt": "2026-01-02", "dt1": "2025-01-02"}, datetime(2025, 1, 2)),
        ("$a.b", {"a.b": "2026-01-02", "a": "x"}, datetime(2026, 1, 2)),
        ("$dt", {"dt": None}, None),
        ("$gone", {"dt": "2026-01-02"}, None),
    ],
)
def test_a_pattern_names_fields(pattern: str, values: dict[str, str | None], time: datetime | None) -> None:
    assert PartitionTime(pattern).of(values) == time


@pytest.mark.parametrize(
    ("formatter", "text", "time"),
    [
        ("yyyyMMdd", "20261126", datetime(2026, 11, 26)),
        ("yyyyMMdd", "2026-11-26", None),
        ("dd.MM.uuuu HH:mm:ss", "26.11.2026 07:08:09", datetime(2026, 11, 26, 7, 8, 9)),
        ("yyyy-MM-dd'T'HH", "2026-11-26T07", datetime(2026, 11, 26, 7)),
        ("yyyy'%'MM", "2026%11", datetime(2026, 11, 1)),
        ("yyyyDDD", "2026032", datetime(2026, 2, 1)),
    ],
)
def test_a_formatter_of_java(formatter: str, text: str, time: datetime | None) -> None:
    assert PartitionTime(None, formatter).of({"dt": text}) == time


@pytest.mark.parametrize("formatter", ["yy", "yyyy-M", "EEE", "yyyy-MM-dd XXX"])
def test_other_letters_are_refused(formatter: str) -> None:
    with pytest.raises(ValueError, match="is not read"):
        directives(formatter)


@pytest.mark.parametrize(
    ("pattern", "formatter", "values", "until"),
    [
        (None, None, {"d": "2026"}, datetime(2027, 1, 1)),
        (None, None, {"d": "2026-11"}, datetime(2026, 12, 1)),
        (None, None, {"d": "2026-12"}, datetime(2027, 1, 1)),
        (None, None, {"d": "2026-11-30"}, datetime(2026, 12, 1)),
        (None, None, {"d": "2026-11-30-23"}, datetime(2026, 12, 1)),
        ("$d-01 00:00:00", None, {"d": "2026-11"}, datetime(2026, 12, 1)),
        ("$d-15", None, {"e": "x", "d": "2026-11"}, datetime(2026, 12, 15)),
        (None, "yyyyMM", {"d": "202611"}, datetime(2026, 12, 1)),
        (None, "yyyyMMddHH", {"d": "2026113023"}, datetime(2026, 12, 1)),
        (None, "yyyyDDD", {"d": "2026365"}, datetime(2027, 1, 1)),
        (None, None, {"d": "eu"}, None),
        (None, None, {"d": None}, None),
        (None, None, {"d": "9999"}, None),
    ],
)
def test_a_derived_value_is_the_time_of_all_that_it_was_derived_from(
    pattern: str | None, formatter: str | None, values: dict[str, str | None], until: datetime | None
) -> None:
    transforms = {"d": YearTransform(), "e": IdentityTransform()}
    assert PartitionTime(pattern, formatter).until(values, transforms) == until


def test_a_columns_own_value_is_its_time() -> None:
    own: Transform = IdentityTransform()
    assert PartitionTime().until({"d": "2026-11"}, {"d": own}) == datetime(2026, 11, 1)
    assert PartitionTime().until({"d": "2026-11", "e": "2026"}, {"d": own, "e": YearTransform()}) == datetime(
        2026, 11, 1
    )
    transforms = {"y": YearTransform(), "d": own}
    assert PartitionTime("$y-11-$d").until({"y": "2026", "d": "03"}, transforms) == datetime(2027, 11, 3)


@pytest.mark.parametrize("text", ["1", "42", "2026", "-7"])
@pytest.mark.parametrize("transform", [IdentityTransform(), TruncateTransform(10)])
def test_a_number_is_no_year_unless_it_is_said_to_be(text: str, transform: Transform) -> None:
    """The first partition field may be the id of a shop."""
    assert PartitionTime().until({"shop": text}, {"shop": transform}) is None
    assert PartitionTime("$shop").until({"shop": text}, {"shop": transform}) is None
    assert (PartitionTime(None, "yyyy").until({"shop": text}, {"shop": transform}) is not None) == (text == "2026")
