"""Dates and times as ISO-8601 text in the proleptic Gregorian calendar, for every 32-bit or 64-bit stored value.

The calendar arithmetic is done here because `datetime` is limited to the years 1 to 9999.
"""

from __future__ import annotations

import re

SECONDS_PER_DAY = 86_400
MICROS_PER_SECOND = 1_000_000
NANOS_PER_SECOND = 1_000_000_000

_DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")
_OFFSET = re.compile(r"(?:Z|([+-])(\d\d):(\d\d))$")


def civil_date(days: int) -> tuple[int, int, int]:
    """Year, month and day of the day `days` after 1970-01-01."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to the given date."""
    shifted_year = year - (month <= 2)
    era, year_of_era = divmod(shifted_year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def format_year(year: int) -> str:
    """At least four digits, with the sign that ISO-8601 requires before 0 and after 9999."""
    if year > 9999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def format_date(days: int) -> str:
    """The day `days` after 1970-01-01, as `2017-11-16`."""
    year, month, day = civil_date(days)
    return f"{format_year(year)}-{month:02d}-{day:02d}"


def format_time(units: int, units_per_second: int) -> str:
    """The time `units` after midnight, as `22:31:08.1234`, without trailing zeros of the fraction."""
    seconds, fraction = divmod(units, units_per_second)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = len(str(units_per_second)) - 1
    return f"{text}.{fraction:0{digits}d}".rstrip("0") if fraction else text


def format_timestamp(units: int, units_per_second: int) -> str:
    """The instant `units` after 1970-01-01T00:00:00, as `2017-11-16T22:31:08.123456`."""
    days, of_day = divmod(units, SECONDS_PER_DAY * units_per_second)
    return f"{format_date(days)}T{format_time(of_day, units_per_second)}"


def moment(milliseconds: int) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC, always with three digits of a fraction and the `Z`: as texts, moments
    of one century have one width and the order of time."""
    seconds, fraction = divmod(milliseconds, 1000)
    return f"{format_timestamp(seconds, 1)}.{fraction:03d}Z"


def parse_date(text: str) -> int:
    """Days since 1970-01-01 of an ISO date. Raises ValueError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO date")
    year, month, day = (int(part) for part in match.groups())
    days = days_from_civil(year, month, day)
    if civil_date(days) != (year, month, day):
        raise ValueError(f"{text!r} is not a day of the calendar")
    return days


def parse_time(text: str, units_per_second: int) -> int:
    """Units since midnight of an ISO time. Raises ValueError, also for digits finer than the unit."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO time")
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a time of the day")
    nanos = int((match[4] or "").ljust(9, "0"))
    fraction, finer = divmod(nanos, NANOS_PER_SECOND // units_per_second)
    if finer:
        raise ValueError(f"{text!r} is finer than 1/{units_per_second} of a second")
    return ((hour * 60 + minute) * 60 + second) * units_per_second + fraction


def parse_timestamp(text: str, units_per_second: int) -> int:
    """Units since 1970-01-01T00:00:00 of an ISO timestamp without offset. Raises ValueError."""
    date, separator, time = text.partition("T")
    if not separator:
        raise ValueError(f"{text!r} is not an ISO timestamp")
    return parse_date(date) * SECONDS_PER_DAY * units_per_second + parse_time(time, units_per_second)


def parse_timestamptz(text: str, units_per_second: int) -> int:
    """Units since 1970-01-01T00:00:00Z of an ISO timestamp with offset. Raises ValueError."""
    match = _OFFSET.search(text)
    if match is None:
        raise ValueError(f"{text!r} has no UTC offset")
    local = parse_timestamp(text[: match.start()], units_per_second)
    offset = (int(match[2] or 0) * 60 + int(match[3] or 0)) * 60 * units_per_second
    return local + offset if match[1] == "-" else local - offset
