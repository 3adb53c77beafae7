"""Fields that a later writer put into table metadata outlive what this version does to the table."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from sqlext.spec.metadata.metadata_update import (
    AddSchema,
    SetCurrentSchema,
    SetProperties,
    UpgradeFormatVersion,
    apply_updates,
)
from sqlext.spec.metadata.table_metadata import decode_table_metadata, encode_table_metadata
from unit.spec import iceberg_tables

FILES = [
    json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    for _, data in iceberg_tables.metadata_files()
]
# maps from names to strings, where every name is known
MAPS = {"properties", "summary", "refs"}


def objects(value: Any, name: str = "") -> Iterator[dict[str, Any]]:
    """Every JSON object in which a field may be put, at any depth."""
    if isinstance(value, dict):
        if name not in MAPS and name not in ("initial-default", "write-default"):
            yield value
        for key, inner in value.items():
            yield from objects(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def injected(seed: int) -> dict[str, Any]:
    """Metadata that Iceberg wrote, with unknown fields in some of its objects."""
    random = Random(seed)
    obj = copy.deepcopy(FILES[seed % len(FILES)])
    for number, one in enumerate(list(objects(obj))):
        if random.random() < 0.3:
            one[f"x-{seed}-{number}"] = random.choice([1, None, "text", {"deep": [1, {"er": 2}]}, [], True])
    if obj["format-version"] == 1:
        # the copies of the current schema and spec say the same as these
        obj["schema"] = next(one for one in obj["schemas"] if one["schema-id"] == obj["current-schema-id"])
        specs = {one["spec-id"]: one["fields"] for one in obj["partition-specs"]}
        obj["partition-spec"] = specs[obj["default-spec-id"]]
    return obj


@pytest.mark.parametrize("seed", range(150))
def test_all_fields_survive(seed: int) -> None:
    obj = injected(seed)
    metadata = decode_table_metadata(json.dumps(obj).encode(), "m")
    made = json.loads(encode_table_metadata(metadata))
    assert made.pop("sqlext-checksum")
    assert made == obj


@pytest.mark.parametrize("seed", range(0, 150, 7))
def test_fields_survive_changes(seed: int) -> None:
    """Also in a schema that was made from the one that had them."""
    obj = injected(seed)
    metadata = decode_table_metadata(json.dumps(obj).encode(), "m")
    highest = max(schema.schema_id for schema in metadata.schemas)
    updates = (
        SetProperties({"a": "b"}),
        UpgradeFormatVersion(3),
        AddSchema(replace(metadata.schema(), schema_id=highest + 1)),
        SetCurrentSchema(),
    )
    changed = json.loads(encode_table_metadata(apply_updates(metadata, updates, now_ms=10**15)))
    for gone in ("schema", "partition-spec"):
        obj.pop(gone, None)
    before = {name for one in objects(obj) for name in one if name.startswith("x-")}
    assert before <= {name for one in objects(changed) for name in one}
    old = next(one for one in obj["schemas"] if one["schema-id"] == obj["current-schema-id"])
    new = next(one for one in changed["schemas"] if one["schema-id"] == highest + 1)
    assert new["fields"] == old["fields"]


def test_a_field_that_goes_takes_what_was_unknown_of_it_along() -> None:
    obj = injected(2)
    obj["schemas"][-1]["fields"][0]["x-policy"] = "hidden"
    metadata = decode_table_metadata(json.dumps(obj).encode(), "m")
    schema = metadata.schema()
    smaller = replace(schema, fields=schema.fields[1:], schema_id=99, identifier_field_ids=())
    metadata = apply_updates(metadata, (AddSchema(smaller), SetCurrentSchema()), now_ms=10**15)
    made = next(one for one in json.loads(encode_table_metadata(metadata))["schemas"] if one["schema-id"] == 99)
    assert "x-policy" not in json.dumps(made)
