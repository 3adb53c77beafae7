"""Properties of retention, and which are refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sqlext.commit.rules.partition_time import PartitionTime
from sqlext.commit.rules.retention_rules import partition_retention, record_retention
from sqlext.errors import AnalysisError
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import DoubleType, LongType, NestedField, StringType, TimestampType, Type

_DAY_MS = 86_400_000


def schema(type: Type) -> Schema:
    return Schema((NestedField(1, "Id", LongType(), True), NestedField(2, "At", type, False)))


SPEC = PartitionSpec(0, (PartitionField(2, 1000, "at", IdentityTransform()),))


def test_rows_are_kept_without_the_property() -> None:
    assert record_retention(schema(LongType()), {"record-level.time-field": "at"}, "t") is None
    assert partition_retention(SPEC, {"partition.timestamp-formatter": "yyyy"}, "t") is None


@pytest.mark.parametrize("type", [LongType(), TimestampType()])
def test_the_time_field_is_found_in_any_case(type: Type) -> None:
    found = record_retention(schema(type), {"record-level.expire-time": "7 d", "record-level.time-field": "at"}, "t")
    assert found is not None
    assert (found.field.name, found.age_ms) == ("At", 7 * _DAY_MS)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({}, "it needs record-level.time-field"),
        ({"record-level.time-field": "gone"}, "there is no column gone"),
        ({"record-level.time-field": "at"}, "has the type double"),
    ],
)
def test_records_without_a_time_are_refused(properties: Mapping[str, str], reason: str) -> None:
    with pytest.raises(AnalysisError, match=f"INVALID_RETENTION.*{reason}"):
        record_retention(schema(DoubleType()), {"record-level.expire-time": "1 h", **properties}, "t")


def test_partitions_by_their_values_or_updates() -> None:
    told = {"partition.expiration-time": "2 d"}
    found = partition_retention(SPEC, {**told, "partition.timestamp-pattern": "$at"}, "t")
    assert found is not None
    assert (found.age_ms, found.time, found.most) == (2 * _DAY_MS, PartitionTime("$at"), 100)
    updated = partition_retention(
        SPEC, {**told, "partition.expiration-strategy": "update-time", "partition.expiration-max-num": "3"}, "t"
    )
    assert updated is not None
    assert (updated.time, updated.most) == (None, 3)


@pytest.mark.parametrize(
    ("spec", "properties", "reason"),
    [
        (PartitionSpec(0, ()), {}, "no partitions"),
        (SPEC, {"partition.timestamp-formatter": "yy"}, "is not read"),
        (SPEC, {"partition.timestamp-pattern": "$gone"}, "names no field that tells a time. There are .at"),
        (PartitionSpec(0, (PartitionField(1, 1000, "b", BucketTransform(4)),)), {}, "no partition field tells a time"),
    ],
)
def test_partitions_without_a_time_are_refused(spec: PartitionSpec, properties: Mapping[str, str], reason: str) -> None:
    with pytest.raises(AnalysisError, match=f"INVALID_RETENTION.*{reason}"):
        partition_retention(spec, {"partition.expiration-time": "1 d", **properties}, "t")


def test_types_of_text_tell_no_record_time() -> None:
    with pytest.raises(AnalysisError, match="INVALID_RETENTION"):
        record_retention(
            schema(StringType()), {"record-level.expire-time": "1 h", "record-level.time-field": "at"}, "t"
        )
