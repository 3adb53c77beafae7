"""How long a table keeps rows and partitions, by its properties (Paimon's names and meanings)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlext.commit.rules.partition_time import PartitionTime, directives
from sqlext.errors import AnalysisError
from sqlext.properties import (
    PARTITION_EXPIRATION_MAX,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
    RECORD_EXPIRE_TIME,
    RECORD_TIME_FIELD,
    UPDATE_TIME,
)
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, VoidTransform
from sqlext.spec.types import DateType, IntegerType, LongType, NestedField, TimestampType, TimestamptzType

TIME_TYPES = (IntegerType, LongType, DateType, TimestampType, TimestamptzType)
"""Types of a time field: seconds, seconds or milliseconds, days, and microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class RecordRetention:
    """Rows are deleted when the time in `field`, one of `TIME_TYPES`, is more than `age_ms` milliseconds ago; rows
    without a time stay."""

    field: NestedField
    age_ms: int


@dataclass(frozen=True, slots=True)
class PartitionRetention:
    """Partitions are deleted, at most `most` at a time, when their time is more than `age_ms` milliseconds ago.

    `time` reads it from the values of a partition; None: it is that of the last snapshot that added a file.
    """

    age_ms: int
    time: PartitionTime | None
    most: int


def record_retention(schema: Schema, properties: Mapping[str, str], table: str) -> RecordRetention | None:
    """What `record-level.*` say; None if they say nothing. Raises AnalysisError INVALID_RETENTION."""
    age_ms, name = RECORD_EXPIRE_TIME.of(properties), RECORD_TIME_FIELD.of(properties)
    if age_ms is None:
        return None
    if name is None:
        reason = f"it needs {RECORD_TIME_FIELD.name}, the column with the time of a row"
        raise AnalysisError("INVALID_RETENTION", name=table, property=RECORD_EXPIRE_TIME.name, reason=reason)
    field = next((field for field in schema.fields if field.name.lower() == name.lower()), None)
    if field is None:
        reason = f"there is no column {name}"
    elif not isinstance(field.type, TIME_TYPES):
        reason = f"{name} has the type {field.type}, and a time is an INT, BIGINT, DATE or TIMESTAMP"
    else:
        return RecordRetention(field, age_ms)
    raise AnalysisError("INVALID_RETENTION", name=table, property=RECORD_TIME_FIELD.name, reason=reason)


def partition_retention(spec: PartitionSpec, properties: Mapping[str, str], table: str) -> PartitionRetention | None:
    """What `partition.*` say; None if they say nothing. Raises AnalysisError INVALID_RETENTION."""
    age_ms = PARTITION_EXPIRATION_TIME.of(properties)
    if age_ms is None:
        return None
    if spec.is_unpartitioned:
        reason = "the table has no partitions"
        raise AnalysisError("INVALID_RETENTION", name=table, property=PARTITION_EXPIRATION_TIME.name, reason=reason)
    most = PARTITION_EXPIRATION_MAX.of(properties)
    if PARTITION_EXPIRATION_STRATEGY.of(properties) == UPDATE_TIME:
        return PartitionRetention(age_ms, None, most)
    formatter = PARTITION_TIMESTAMP_FORMATTER.of(properties)
    if formatter is not None:
        try:
            directives(formatter)
        except ValueError as error:
            name = PARTITION_TIMESTAMP_FORMATTER.name
            raise AnalysisError("INVALID_RETENTION", name=table, property=name, reason=error) from None
    time = PartitionTime(PARTITION_TIMESTAMP_PATTERN.of(properties), formatter)
    names = [one.name for one in spec.fields if not isinstance(one.transform, BucketTransform | VoidTransform)]
    if not names:
        reason = f"no partition field tells a time. Set {PARTITION_EXPIRATION_STRATEGY.name} to {UPDATE_TIME}"
        raise AnalysisError("INVALID_RETENTION", name=table, property=PARTITION_EXPIRATION_TIME.name, reason=reason)
    if not time.fields(names):
        reason = f"{time.pattern} names no field that tells a time. There are {', '.join(f'${name}' for name in names)}"
        raise AnalysisError("INVALID_RETENTION", name=table, property=PARTITION_TIMESTAMP_PATTERN.name, reason=reason)
    return PartitionRetention(age_ms, time, most)


def broken_retention_rules(
    schema: Schema, spec: PartitionSpec, properties: Mapping[str, str], table: str
) -> Iterator[AnalysisError]:
    """The errors of `record_retention` and `partition_retention`."""
    try:
        record_retention(schema, properties, table)
    except AnalysisError as broken:
        yield broken
    try:
        partition_retention(spec, properties, table)
    except AnalysisError as broken:
        yield broken
