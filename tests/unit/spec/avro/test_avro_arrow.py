from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sqlext.spec.avro.avro_arrow import arrow_schema

TEXT = pa.field("value", pa.string(), nullable=False)
MAP = {"type": "record", "name": "kv", "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}]}


def record(type_: Any) -> dict[str, Any]:
    return {"type": "record", "name": "row", "fields": [{"name": "c", "type": type_}]}


@pytest.mark.parametrize(
    ("avro", "arrow"),
    [
        ("long", pa.int64()),
        (["null", {"type": "int", "logicalType": "date"}], pa.date32()),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False}, pa.timestamp("us")),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "fixed", "name": "f", "size": 4, "logicalType": "decimal", "precision": 9}, pa.decimal128(9, 0)),
        ({"type": "fixed", "name": "f", "size": 4}, pa.binary(4)),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
        ({"type": "array", "items": "int"}, pa.list_(pa.field("element", pa.int32(), nullable=False))),
        (
            {"type": "array", "logicalType": "map", "items": MAP},
            pa.map_(pa.int32(), pa.field("value", pa.string(), False)),
        ),
        ({"type": "map", "values": ["null", "int"]}, pa.map_(pa.string(), pa.int32())),
        (record("int"), pa.struct([pa.field("c", pa.int32(), nullable=False)])),
    ],
)
def test_types(avro: Any, arrow: pa.DataType) -> None:
    (field,) = arrow_schema(record(avro))
    assert field.type == arrow
    assert field.nullable == (isinstance(avro, list))


def test_field_ids() -> None:
    (field,) = arrow_schema({"type": "record", "name": "r", "fields": [{"name": "c", "type": "int", "field-id": 7}]})
    assert field.metadata == {b"field-id": b"7"}


@pytest.mark.parametrize("schema", ["int", record(["int", "string"]), record("unknown")])
def test_what_is_no_column(schema: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        arrow_schema(schema)
