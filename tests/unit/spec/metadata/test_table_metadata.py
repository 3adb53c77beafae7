from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from sqlext.errors import AnalysisError, CorruptionError, NotFoundError, UnsupportedError
from sqlext.spec.metadata.table_metadata import (
    TableMetadata,
    decode_table_metadata,
    encode_table_metadata,
    new_table_metadata,
)
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import HourTransform
from sqlext.spec.types import DateType, LongType, NestedField
from unit.spec import iceberg_tables

SCHEMA = Schema((NestedField(1, "id", LongType(), True), NestedField(2, "d", DateType())), 0, (1,))
UUID = "f46e96fd-7174-44e9-9c48-e25b2eb790e0"


def new(format_version: int = 2) -> TableMetadata:
    return new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "file:///w/db/t", {"a": "b"}, format_version, UUID, 1000)


def without_checksum(data: bytes) -> dict[str, Any]:
    obj: dict[str, Any] = json.loads(data)
    del obj["sqlext-checksum"]
    return obj


def test_icebergs_metadata_is_encoded_as_it_was() -> None:
    count = 0
    for name, data in iceberg_tables.metadata_files():
        plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        assert without_checksum(encode_table_metadata(decode_table_metadata(data, name))) == json.loads(plain), name
        count += 1
    assert count > 50


@pytest.mark.parametrize("version", [1, 2])
def test_new_metadata_is_read_by_pyiceberg(version: int) -> None:
    theirs = TableMetadataUtil.parse_raw(encode_table_metadata(new(version)).decode())
    assert theirs.format_version == version
    assert theirs.schema().identifier_field_ids == [1]
    assert theirs.current_snapshot_id is None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_new_metadata_round_trips(version: int) -> None:
    metadata = new(version)
    assert decode_table_metadata(encode_table_metadata(metadata), "m") == metadata
    assert decode_table_metadata(gzip.compress(encode_table_metadata(metadata)), "m") == metadata


def test_unknown_fields_survive() -> None:
    obj = json.loads(encode_table_metadata(new())) | {"later-field": {"x": [1]}}
    metadata = decode_table_metadata(json.dumps(obj).encode(), "m")
    assert metadata.extra == {"later-field": {"x": [1]}}
    assert without_checksum(encode_table_metadata(metadata)) == without_checksum(json.dumps(obj).encode())


def test_the_first_form_of_version_1_is_read() -> None:
    obj = json.loads(encode_table_metadata(new(1)))
    for name in ("schemas", "current-schema-id", "partition-specs", "default-spec-id", "sort-orders", "table-uuid"):
        del obj[name]
    for name in ("last-partition-id", "default-sort-order-id", "refs"):
        del obj[name]
    metadata = decode_table_metadata(json.dumps(obj).encode(), "m")
    assert metadata.schema() == SCHEMA
    assert metadata.spec() == UNPARTITIONED
    assert metadata.sort_order() == UNSORTED
    assert metadata.last_partition_id == 999
    assert metadata.table_uuid == decode_table_metadata(json.dumps(obj).encode(), "other").table_uuid


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\x1f\x8bxx", b"\xff\xfe", b'{"format-version": "x"}'])
def test_damaged_files_are_named(data: bytes) -> None:
    with pytest.raises(CorruptionError) as caught:
        decode_table_metadata(data, "file:///w/v1.metadata.json")
    assert caught.value.parameters["path"] == "file:///w/v1.metadata.json"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("current-schema-id", 9),
        ("default-spec-id", 9),
        ("current-snapshot-id", 5),
        ("schemas", None),
        ("snapshots", [{}]),
    ],
)
def test_inconsistent_metadata_is_refused(name: str, value: object) -> None:
    obj = json.loads(encode_table_metadata(new())) | {name: value}
    with pytest.raises(CorruptionError):
        decode_table_metadata(json.dumps(obj).encode(), "m")


def test_a_later_format_version_is_refused() -> None:
    with pytest.raises(UnsupportedError) as caught:
        decode_table_metadata(b'{"format-version": 9}', "m")
    assert caught.value.condition == "UNSUPPORTED_FORMAT_VERSION"


def test_a_transform_must_fit_its_column() -> None:
    spec = PartitionSpec(0, (PartitionField(2, 1000, "d_hour", HourTransform()),))
    with pytest.raises(AnalysisError, match="hour is not defined"):
        new_table_metadata(SCHEMA, spec, UNSORTED, "file:///t", {}, 2, UUID, 0)


def test_snapshots_by_time() -> None:
    name, data = next(pair for pair in iceberg_tables.metadata_files() if len(json.loads(pair[1])["snapshots"]) > 1)
    metadata = decode_table_metadata(data, name)
    first, second = metadata.snapshot_log[:2]
    assert metadata.snapshot_as_of(second.timestamp_ms - 1).snapshot_id == first.snapshot_id
    assert metadata.snapshot_as_of(second.timestamp_ms).snapshot_id == second.snapshot_id
    with pytest.raises(NotFoundError):
        metadata.snapshot_as_of(first.timestamp_ms - 1)
    with pytest.raises(NotFoundError):
        metadata.snapshot(1)
