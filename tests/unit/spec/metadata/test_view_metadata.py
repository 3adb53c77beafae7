"""View metadata: the spec's fields, versions and their log, and files that are none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from small_tables import SCHEMA, UNPARTITIONED, UNSORTED
from sqlext.errors import CorruptionError, UnsupportedError
from sqlext.spec.metadata.metadata_checksum import MEMBER
from sqlext.spec.metadata.table_metadata import encode_table_metadata, new_table_metadata
from sqlext.spec.metadata.view_metadata import (
    ViewMetadata,
    ViewVersion,
    decode_view_metadata,
    encode_view_metadata,
    is_view_metadata,
    new_view_metadata,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, LongType, NestedField

INTS = Schema((NestedField(1, "a", IntegerType()),))
LONGS = Schema((NestedField(1, "a", LongType()),))


def version(sql: str, timestamp_ms: int = 1_700_000_000_000) -> ViewVersion:
    return ViewVersion(
        version_id=1,
        schema_id=0,
        timestamp_ms=timestamp_ms,
        summary={"engine-name": "test"},
        representations=({"type": "sql", "sql": sql, "dialect": "spark"},),
        default_namespace=("db", "sub"),
        default_catalog="lake",
    )


def view(**properties: str) -> ViewMetadata:
    return new_view_metadata("6a9d3f5e-0000-4000-8000-000000000000", "file:///w/db/v", properties, version("q1"), INTS)


def document(metadata: ViewMetadata | None = None) -> Any:
    """The fields, without the checksum of the text."""
    obj = json.loads(encode_view_metadata(metadata or view()))
    assert obj.pop(MEMBER)
    return obj


def test_the_fields_are_those_of_the_spec() -> None:
    assert document(view(comment="c")) == {
        "view-uuid": "6a9d3f5e-0000-4000-8000-000000000000",
        "format-version": 1,
        "location": "file:///w/db/v",
        "properties": {"comment": "c"},
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "fields": [{"id": 1, "name": "a", "required": False, "type": "int"}],
            }
        ],
        "current-version-id": 1,
        "versions": [
            {
                "version-id": 1,
                "timestamp-ms": 1_700_000_000_000,
                "schema-id": 0,
                "summary": {"engine-name": "test"},
                "default-catalog": "lake",
                "default-namespace": ["db", "sub"],
                "representations": [{"type": "sql", "sql": "q1", "dialect": "spark"}],
            }
        ],
        "version-log": [{"timestamp-ms": 1_700_000_000_000, "version-id": 1}],
    }


def test_what_is_not_known_survives() -> None:
    obj = document()
    obj["later"] = {"x": 1}
    obj["versions"][0]["storage-table"] = {"namespace": ["db"], "name": "s"}
    obj["versions"][0]["representations"].append({"type": "sql", "sql": "SELECT 1", "dialect": "trino"})
    decoded = decode_view_metadata(json.dumps(obj).encode(), "file:///v")
    assert document(decoded) == obj
    assert decoded.version().sql("trino") == "SELECT 1"
    assert decoded.version().sql("presto") is None


def test_a_new_version_has_a_schema_of_its_own_only_if_columns_differ() -> None:
    changed = view().with_version(version("q2"), INTS).with_version(version("q3"), LONGS)
    assert [(one.version_id, one.schema_id) for one in changed.versions] == [(1, 0), (2, 0), (3, 1)]
    assert changed.version().sql("spark") == "q3"
    assert changed.schema().same_columns(LONGS)
    assert [entry.version_id for entry in changed.version_log] == [1, 2, 3]


@pytest.mark.parametrize(("kept", "expected"), [("2", [4, 5]), ("0", [5]), ("many", [1, 2, 3, 4, 5])])
def test_as_many_versions_stay_as_the_property_says(kept: str, expected: list[int]) -> None:
    changed = view(**{"version.history.num-entries": kept})
    for number in range(2, 6):
        changed = changed.with_version(version(f"q{number}"), LONGS if number % 2 else INTS)
    assert [one.version_id for one in changed.versions] == expected
    assert [entry.version_id for entry in changed.version_log] == expected
    assert decode_view_metadata(encode_view_metadata(changed), "file:///v") == changed


def test_a_view_is_told_from_a_table_by_its_first_bytes() -> None:
    table = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "file:///w/db/t", {"a": '"view-uuid"'}, 2, "u", 1)
    assert is_view_metadata(encode_view_metadata(view()))
    assert not is_view_metadata(encode_table_metadata(table))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"current-version-id": 7}, "current-version-id 7"),
        ({"versions": []}, "current-version-id"),
        ({"schemas": []}, "schema-id 0"),
        ({"location": 5}, "location"),
        ({"version-log": {}}, "version-log"),
        ({"properties": {"a": 1}}, "properties"),
        ({"view-uuid": None}, "view-uuid"),
    ],
)
def test_damage_is_told_with_the_file(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(CorruptionError, match=named) as caught:
        decode_view_metadata(json.dumps({**document(), **changes}).encode(), "file:///w/db/v/metadata/v1.metadata.json")
    assert caught.value.parameters["path"] == "file:///w/db/v/metadata/v1.metadata.json"


def test_a_later_format_version_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="Format version 2"):
        decode_view_metadata(json.dumps({**document(), "format-version": 2}).encode(), "file:///v")


def test_a_cut_file_is_damage() -> None:
    with pytest.raises(CorruptionError):
        decode_view_metadata(encode_view_metadata(replace(view()))[:-9], "file:///v")
