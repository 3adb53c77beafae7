from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from sqlext.errors import CorruptionError
from sqlext.spark.catalog.data_type import schema_from_spark, schema_to_spark
from sqlext.spec.metadata.metadata_shape import MAX_TYPES, require_metadata_shape
from sqlext.spec.metadata.table_metadata import decode_table_metadata, encode_table_metadata, new_table_metadata
from sqlext.spec.nesting import MAX_LEVELS
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema, assign_fresh_ids
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.stored_fields import stored_schema
from sqlext.spec.types import IntegerType, NestedField, StructType, Type
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.write.arrow_schema import schema_to_arrow
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


def _described(types: int) -> dict[str, Any]:
    """Metadata with structs, of which each takes the most levels of JSON."""
    type: Any = "int"
    for id in range(2, types + 2):
        type = {"type": "struct", "fields": [{"id": id, "name": "f", "required": False, "type": type}]}
    return {"schemas": [{"fields": [{"id": 1, "name": "c", "required": False, "type": type}]}]}


def test_depth_is_limited_in_types() -> None:
    require_metadata_shape(_described(MAX_TYPES))
    for types in (MAX_TYPES + 1, 5_000):
        with pytest.raises(ValueError, match=f"nested more than {MAX_TYPES} types"):
            require_metadata_shape(_described(types))


@pytest.mark.parametrize("types", [1, MAX_LEVELS, MAX_TYPES])
def test_what_is_no_deeper_is_read_written_compared_and_sent(types: int) -> None:
    type: Type = IntegerType()
    for id in range(types + 1, 1, -1):
        type = StructType((NestedField(id, "f", type),))
    made = Schema((NestedField(1, "c", type),))
    uuid = "f46e96fd-7174-44e9-9c48-e25b2eb790e0"
    table = new_table_metadata(made, UNPARTITIONED, UNSORTED, "file:///w/t", {}, 2, uuid, 1_000)
    data = encode_table_metadata(table)
    read, again = (decode_table_metadata(data, "file:///w/t/metadata/v1.metadata.json") for _ in range(2))
    schema = read.schema()
    assert schema == again.schema()
    assert hash(schema.fields) == hash(again.schema().fields)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert decode_table_metadata(encode_table_metadata(read), "file:///w/t").schema() == schema
    assert str(schema.fields[0]).count("struct<") == types
    assert stored_schema(schema) == schema
    assert len(assign_fresh_ids(schema).field_ids) == types + 1
    assert schema.select([types + 1]) == schema
    assert schema_from_spark(schema_to_spark(schema)).field_ids == schema.field_ids
    assert spark_type_text(schema.fields[0].type).count("STRUCT<") == types
    assert len(schema_to_arrow(schema)) == 1
