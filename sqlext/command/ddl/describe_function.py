"""DESCRIBE FUNCTION for the functions of a catalog's namespace `system`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.errors import NotFoundError
from sqlext.sql.statements.routine_statement import DescribeFunction

DESCRIBE_FUNCTION_COLUMNS = (("function_desc", "string"),)


@dataclass(frozen=True, slots=True)
class _Usage:
    signature: str
    meaning: str
    example: str
    result: str


# The functions of the shim's `TransformFunction`; a test compares the names.
_USAGES: Mapping[str, _Usage] = MappingProxyType(
    {
        "bucket": _Usage(
            "bucket(n, value)",
            "the bucket of a value, from 0 to n - 1, by Iceberg's 32-bit murmur3 hash",
            "bucket(16, 34L)",
            "3",
        ),
        "truncate": _Usage(
            "truncate(width, value)",
            "the first `width` characters or bytes of a text, or a number rounded down to a multiple of `width`",
            "truncate(10, 25)",
            "20",
        ),
        "years": _Usage(
            "years(value)", "the years of a date or timestamp (in UTC) since 1970", "years(DATE'2026-11-23')", "56"
        ),
        "months": _Usage(
            "months(value)", "the months of a date or timestamp (in UTC) since 1970", "months(DATE'2026-11-23')", "682"
        ),
        "days": _Usage(
            "days(value)",
            "the day of a date or timestamp (in UTC), as a date",
            "days(TIMESTAMP_NTZ'2026-11-23 10:00:00')",
            "2026-11-23",
        ),
        "hours": _Usage(
            "hours(value)",
            "the hours of a timestamp (in UTC) since 1970-01-01",
            "hours(TIMESTAMP_NTZ'1970-01-02 03:00:00')",
            "27",
        ),
        "iceberg_version": _Usage("iceberg_version()", "the name of the writer", "iceberg_version()", "sqlext"),
    }
)


def describe_function(environment: Environment, spark: SparkSession, statement: DescribeFunction) -> Outcome:
    """Runs the statement; a row for each line, as for Spark's functions. Raises NotFoundError FUNCTION_NOT_FOUND."""
    usage = _USAGES.get(statement.name)
    if usage is None:
        known = ", ".join(sorted(_USAGES))
        raise NotFoundError("FUNCTION_NOT_FOUND", catalog=statement.catalog, name=statement.name, known=known)
    whole = f"{statement.catalog}.system"
    lines = [
        f"Function: {whole}.{statement.name}",
        f"Usage: {usage.signature} - Returns {usage.meaning}.",
    ]
    if statement.extended:
        lines += ["Extended Usage:", f"    > SELECT {whole}.{usage.example};", f"     {usage.result}"]
    return Outcome([[line] for line in lines])
