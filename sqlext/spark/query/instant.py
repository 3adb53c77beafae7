"""Conversion of PySpark's timestamps."""

from __future__ import annotations

import datetime

MICROSECONDS = 1000
"""Microseconds in a millisecond."""


def milliseconds(value: datetime.datetime) -> int:
    """Milliseconds since 1970. PySpark gives a TIMESTAMP as a local time without zone."""
    instant = value.astimezone(datetime.timezone.utc)
    whole = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (instant - whole) // datetime.timedelta(milliseconds=1)
