from __future__ import annotations

import json
from typing import Any

import pytest

from sqlext.errors import CorruptionError
from sqlext.spec.metadata_shape import require_metadata_shape
from sqlext.spec.table_metadata import decode_table_metadata
from unit.spec import iceberg_tables


def metadata() -> Any:
    _, data = next(one for one in iceberg_tables.metadata_files() if "d08" in one[0] and b'"snapshots"' in one[1])
    return json.loads(data)


def test_fields_that_are_unknown_or_absent_are_no_matter() -> None:
    require_metadata_shape({})
    require_metadata_shape({"later-field": [1, None], "snapshots": [{"later": {}}], "refs": None})


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"location": 5}, "location"),
        ({"location": "warehouse/t"}, "location"),
        ({"last-column-id": True}, "last-column-id"),
        ({"last-column-id": 2**31}, "last-column-id"),
        ({"current-snapshot-id": 2**63}, "current-snapshot-id"),
        ({"properties": {"a": 1}}, r"properties\['a'\]"),
        ({"refs": {"main": {"snapshot-id": "1"}}}, r"refs\['main'\].snapshot-id"),
        ({"snapshots": [{"manifest-list": ""}]}, r"snapshots\[0\].manifest-list"),
        ({"schemas": [{"fields": [{"type": {"type": "list", "element": 1}}]}]}, "element"),
        ({"schemas": [{"fields": [{"name": "\ud800"}]}]}, "surrogates"),
        ({"partition-specs": [{"fields": None}]}, r"partition-specs\[0\].fields"),
    ],
)
def test_a_field_of_another_type_is_named(changed: dict[str, Any], named: str) -> None:
    data = json.dumps({**metadata(), **changed}).encode()
    with pytest.raises(CorruptionError, match=named):
        decode_table_metadata(data, "file:///w/t/metadata/v1.metadata.json")


def test_depth_is_limited() -> None:
    deep: Any = "int"
    for _ in range(120):
        deep = {"type": "list", "element-id": 1, "element": deep, "element-required": True}
    with pytest.raises(ValueError, match="nested more than"):
        require_metadata_shape({"schemas": [{"fields": [{"type": deep}]}]})
