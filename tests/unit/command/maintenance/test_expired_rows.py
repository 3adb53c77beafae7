"""The condition of rows that are expired, by the type of their time."""

from __future__ import annotations

import pytest

from sqlext.command.maintenance.expired_rows import expired_condition
from sqlext.commit.rules.retention_rules import RecordRetention
from sqlext.spec.types import DateType, IntegerType, LongType, NestedField, TimestampType, TimestamptzType, Type

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("type", "condition"),
    [
        (IntegerType(), "`a``t` < 1699996400"),
        (LongType(), "`a``t` < 1699996400 OR (`a``t` >= 1000000000000 AND `a``t` < 1699996400000)"),
        (DateType(), "`a``t` < DATE'2023-11-14'"),
        (TimestampType(), "`a``t` < TIMESTAMP_NTZ'2023-11-14 21:13:20.000000'"),
        (TimestamptzType(), "`a``t` < TIMESTAMP_LTZ'2023-11-14 21:13:20.000000 UTC'"),
    ],
)
def test_conditions(type: Type, condition: str) -> None:
    assert expired_condition(RecordRetention(NestedField(1, "a`t", type, False), HOUR_MS), NOW_MS) == condition


def test_an_age_before_1970_expires_nothing_after() -> None:
    retention = RecordRetention(NestedField(1, "at", TimestampType(), False), 2 * NOW_MS)
    assert expired_condition(retention, NOW_MS) == "`at` < TIMESTAMP_NTZ'1970-01-01 00:00:00.000000'"
