"""Moments as PySpark hands them over."""

from __future__ import annotations

import datetime

MICROSECONDS = 1000
"""In a millisecond."""


def milliseconds(value: datetime.datetime) -> int:
    """Since 1970; PySpark gives a TIMESTAMP in the process's zone, with no zone on it."""
    instant = value.astimezone(datetime.timezone.utc)
    whole = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (instant - whole) // datetime.timedelta(milliseconds=1)
