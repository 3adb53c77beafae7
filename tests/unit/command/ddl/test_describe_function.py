"""DESCRIBE FUNCTION of a catalog's own functions."""

from __future__ import annotations

from sqlext.command.ddl.describe_function import describe_function
from unit.command.lake import read, refused


def _lines(text: str) -> list[str]:
    return [row[0] for row in describe_function(None, None, read(text)).rows]


def test_a_line_for_the_name_and_one_for_the_use() -> None:
    assert _lines("DESCRIBE FUNCTION lake.system.bucket") == [
        "Function: lake.system.bucket",
        "Usage: bucket(n, value) - Returns the bucket of a value, from 0 to n - 1, by Iceberg's 32-bit murmur3 hash.",
    ]
    assert _lines("DESC FUNCTION EXTENDED lake.system.TRUNCATE")[2:] == [
        "Extended Usage:",
        "    > SELECT lake.system.truncate(10, 25);",
        "     20",
    ]


def test_a_name_that_is_none_is_answered_with_those_that_are() -> None:
    with refused("FUNCTION_NOT_FOUND", "buckets", "bucket, days, hours, iceberg_version, months, truncate, years"):
        _lines("DESCRIBE FUNCTION lake.system.buckets")
