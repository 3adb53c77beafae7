"""Format types and Spark's JSON types, both ways."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType as SparkStruct

from sqlext.errors import UnsupportedError
from sqlext.spark.catalog.data_type import as_nullable, schema_from_spark, schema_to_spark
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    DecimalType,
    GeospatialType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
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
    for type_ in (TimeType(), TimestampNanoType(), TimestamptzNanoType(), GeospatialType("geometry(EPSG:3857)")):
        with pytest.raises(UnsupportedError) as refused:
            schema_to_spark(Schema((NestedField(1, "c", ListType(2, type_, False)),)))
        assert str(type_) in refused.value.message


@pytest.mark.parametrize("text", ["interval day to second", "geometry(4326)"])
def test_a_type_the_format_lacks_is_refused(text: str) -> None:
    field = {"name": "c", "type": text, "nullable": True, "metadata": {}}
    with pytest.raises(UnsupportedError) as refused:
        schema_from_spark({"type": "struct", "fields": [field]})
    assert refused.value.condition == "UNSUPPORTED_DATA_TYPE"


ARRAY = {"type": "array", "elementType": "string", "containsNull": True}


@pytest.mark.parametrize(
    ("type_", "metadata", "named"),
    [
        ("string", {"__CHAR_VARCHAR_TYPE_STRING": "varchar(2)"}, r"varchar\(2\)"),
        (ARRAY, {"__CHAR_VARCHAR_TYPE_STRING": "array<char(3)>"}, r"char\(3\)"),
        ("string", {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}, "COLLATE UTF8_LCASE"),
        (ARRAY, {"__COLLATIONS": {"c.element": "icu.de_CI"}}, "COLLATE de_CI"),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_what_would_be_dropped_of_a_string_is_refused(
    type_: object, metadata: dict[str, object], named: str, nested: bool
) -> None:
    struct = {"type": "struct", "fields": [{"name": "c", "type": type_, "nullable": True, "metadata": metadata}]}
    if nested:
        struct = {"type": "struct", "fields": [{"name": "s", "type": struct, "nullable": True, "metadata": {}}]}
    with pytest.raises(UnsupportedError, match=named):
        schema_from_spark(struct)


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
