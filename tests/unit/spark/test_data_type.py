"""Format types and Spark's JSON types, both ways."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType as SparkStruct

from sqlext.errors import UnsupportedError
from sqlext.spark.data_type import as_nullable, schema_from_spark, schema_to_spark
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True, doc="unique"),
        NestedField(2, "at", TimestampType()),
        NestedField(3, "seen", TimestamptzType()),
        NestedField(4, "price", DecimalType(9, 2)),
        NestedField(5, "tags", ListType(8, StringType(), False)),
        NestedField(6, "counts", MapType(9, StringType(), 10, IntegerType(), True)),
        NestedField(7, "point", StructType((NestedField(11, "x", IntegerType()), NestedField(12, "y", IntegerType())))),
    )
)


def test_round_trip_keeps_everything_but_invents_the_same_ids() -> None:
    assert schema_from_spark(schema_to_spark(SCHEMA)) == SCHEMA


def test_spark_reads_the_json() -> None:
    struct = SparkStruct.fromJson(dict(schema_to_spark(SCHEMA)))
    assert struct.simpleString() == (
        "struct<id:bigint,at:timestamp_ntz,seen:timestamp,price:decimal(9,2),tags:array<string>,"
        "counts:map<string,int>,point:struct<x:int,y:int>>"
    )
    assert struct["id"].metadata == {"parquet.field.id": 1, "comment": "unique"}


def test_a_type_spark_lacks_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="time"):
        schema_to_spark(Schema((NestedField(1, "t", TimeType()),)))


@pytest.mark.parametrize("text", ["void", "interval day to second", "variant"])
def test_a_type_the_format_lacks_is_refused(text: str) -> None:
    field = {"name": "c", "type": text, "nullable": True, "metadata": {}}
    with pytest.raises(UnsupportedError) as refused:
        schema_from_spark({"type": "struct", "fields": [field]})
    assert refused.value.condition == "UNSUPPORTED_DATA_TYPE"


def test_a_length_that_would_be_dropped_is_refused() -> None:
    metadata = {"__CHAR_VARCHAR_TYPE_STRING": "varchar(2)"}
    with pytest.raises(UnsupportedError, match=r"varchar\(2\)"):
        schema_from_spark(
            {"type": "struct", "fields": [{"name": "c", "type": "string", "nullable": True, "metadata": metadata}]}
        )


def test_null_is_allowed_at_every_depth() -> None:
    inner = {"name": "x", "type": "integer", "nullable": False, "metadata": {}}
    nested = {
        "type": "map",
        "keyType": "string",
        "valueType": {"type": "struct", "fields": [inner]},
        "valueContainsNull": False,
    }
    listed = {"type": "array", "elementType": nested, "containsNull": False}
    schema = schema_from_spark(as_nullable({"type": "struct", "fields": [{**inner, "type": listed}]}))
    assert not any(field.required for field in map(schema.field, schema.field_ids) if field.name != "key")
