import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UuidType,
    VariantType,
)
from sqlext.sql.syntax.type_name import parse_type
from sqlext.sql.syntax.type_text import ddl_type_text, spark_type_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("boolean", BooleanType()),
        ("TINYINT", IntegerType()),
        ("short", IntegerType()),
        ("INT", IntegerType()),
        ("INTEGER", IntegerType()),
        ("BIGINT", LongType()),
        ("long", LongType()),
        ("REAL", FloatType()),
        ("DOUBLE", DoubleType()),
        ("DOUBLE PRECISION", DoubleType()),
        ("DECIMAL", DecimalType(10, 0)),
        ("dec(5)", DecimalType(5, 0)),
        ("NUMERIC(38, 38)", DecimalType(38, 38)),
        ("DATE", DateType()),
        ("TIME", TimeType()),
        ("TIME(3)", TimeType()),
        ("TIMESTAMP", TimestamptzType()),
        ("TIMESTAMP(3)", TimestampType()),
        ("TIMESTAMP(6) WITHOUT TIME ZONE", TimestampType()),
        ("TIMESTAMP WITHOUT TIME ZONE", TimestampType()),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", TimestamptzType()),
        ("TIMESTAMP_LTZ", TimestamptzType()),
        ("TIMESTAMP_LTZ(3)", TimestamptzType()),
        ("timestamp_ntz", TimestampType()),
        ("STRING", StringType()),
        ("VARCHAR(2147483647)", StringType()),
        ("BINARY", BinaryType()),
        ("BYTES", BinaryType()),
        ("BINARY(16)", FixedType(16)),
        ("UUID", UuidType()),
        ("VARIANT", VariantType()),
        ("VOID", UnknownType()),
        ("ARRAY<INT>", ListType(1, IntegerType(), False)),
        ("ARRAY<INT NOT NULL>", ListType(1, IntegerType(), True)),
        ("array<array<string>>", ListType(1, ListType(2, StringType(), False), False)),
        ("MAP<STRING, ARRAY<INT>>", MapType(1, StringType(), 2, ListType(3, IntegerType(), False), False)),
        (
            "STRUCT<a: INT NOT NULL COMMENT 'x', `b c` STRING>",
            StructType((NestedField(1, "a", IntegerType(), True, "x"), NestedField(2, "b c", StringType()))),
        ),
        ("ROW(a INT)", StructType((NestedField(1, "a", IntegerType()),))),
        ("ROW<a INT>", StructType((NestedField(1, "a", IntegerType()),))),
        ("struct<>", StructType(())),
    ],
)
def test_types(text, expected):
    assert parse_type(text) == expected


def test_a_bare_timestamp_follows_sparks_setting():
    assert parse_type("TIMESTAMP", timestamp_type="TIMESTAMP_NTZ") == TimestampType()
    assert parse_type("ARRAY<TIMESTAMP>", timestamp_type="TIMESTAMP_NTZ") == ListType(1, TimestampType(), False)


@pytest.mark.parametrize(
    "text",
    [
        "CHAR(3)", "VARCHAR(10)", "VARCHAR", "TIMESTAMP(9)", "TIMESTAMP WITH TIME ZONE", "TIME(9)",
            "ARRAY<GEOMETRY(4326)>", "GEOGRAPHY", "NULL",
        "INTERVAL", "STRING COLLATE x", "DECIMAL(39, 0)", "DECIMAL(3, 4)", "DECIMAL(0)", "blob", "ARRAY<CHAR(2)>",
    ],
)  # fmt: skip
def test_refused_types(text):
    with pytest.raises(UnsupportedError) as caught:
        parse_type(text)
    assert caught.value.condition == "UNSUPPORTED_TYPE"


@pytest.mark.parametrize("text", ["", "INT INT", "ARRAY<INT", "MAP<INT>", "STRUCT<a>", "DECIMAL(a)", "INT)", "'x'"])
def test_malformed_types(text):
    with pytest.raises(ParseError):
        parse_type(text)


NESTED = "STRUCT<`a``b`: ARRAY<MAP<STRING, BINARY(4) NOT NULL> NOT NULL> NOT NULL COMMENT 'it\\'s', `c`: UUID>"


def test_type_text_round_trip():
    assert ddl_type_text(parse_type(NESTED)) == NESTED
    assert spark_type_text(parse_type(NESTED)) == "STRUCT<`a``b`: ARRAY<MAP<STRING, BINARY>>, `c`: STRING>"
    assert spark_type_text(TimestamptzType()) == "TIMESTAMP_LTZ"
    with pytest.raises(UnsupportedError):
        spark_type_text(TimestamptzNanoType())
