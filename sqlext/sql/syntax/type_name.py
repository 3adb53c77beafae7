"""Column types: SQL text to format type, in Spark's and Flink's spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Literal, TypeAlias

from sqlext.errors import SqlextError
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
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
)
from sqlext.sql.syntax.type_text import refuse_type
from sqlext.sql.tokens.token_cursor import TokenCursor

TimestampSetting: TypeAlias = Literal["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"]

_PLAIN: Mapping[str, Type] = {
    "BOOLEAN": BooleanType(),
    "TINYINT": IntegerType(), "BYTE": IntegerType(), "SMALLINT": IntegerType(), "SHORT": IntegerType(),
    "INT": IntegerType(), "INTEGER": IntegerType(), "BIGINT": LongType(), "LONG": LongType(),
    "FLOAT": FloatType(), "REAL": FloatType(), "DOUBLE": DoubleType(),
    "DATE": DateType(), "STRING": StringType(), "BINARY": BinaryType(), "BYTES": BinaryType(), "UUID": UuidType(),
    "VARIANT": VariantType(), "VOID": UnknownType(),
}  # fmt: skip
_REFUSED: Mapping[str, str] = {
    "CHAR": "Iceberg strings are not padded with blanks. Use VARCHAR(n), whose length is kept, or STRING",
    "CHARACTER": "Iceberg strings are not padded with blanks. Use VARCHAR(n), whose length is kept, or STRING",
    "VARCHAR": "it has no length. Use VARCHAR(n) or STRING",
    "INTERVAL": "Iceberg has no interval type. Use BIGINT with a unit of your choice",
    "NULL": "a column of nulls only is VOID. Write that, or the type that the column shall have",
    "GEOMETRY": "sqlext has no geometries. Use BINARY with well-known binary",
    "GEOGRAPHY": "sqlext has no geographies. Use BINARY with well-known binary",
    "MULTISET": "Iceberg has no multisets. Use MAP<element, INT>",
    "RAW": "Iceberg has no opaque type. Use BINARY",
}
_ZONED: Mapping[str, TimestampSetting] = {
    "TIMESTAMP_LTZ": "TIMESTAMP_LTZ", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ", "DATETIME": "TIMESTAMP_NTZ",
}  # fmt: skip
_UNBOUNDED_LENGTH = 2**31 - 1  # Flink's spelling of STRING is VARCHAR(2147483647)


def parse_type(
    text: str,
    *,
    timestamp_type: TimestampSetting = "TIMESTAMP_LTZ",
    ids: Iterator[int] | None = None,
    id: int = 0,
    lengths: dict[int, int] | None = None,
) -> Type:
    """The format type of a SQL type.

    A bare TIMESTAMP is of `timestamp_type`, Spark's `spark.sql.timestampType`; with a precision, `TIMESTAMP(3)`, it is
    Flink's, without time zone. Precisions up to 6 become microseconds. Nested fields get their ids from `ids`, or from
    1. `lengths` receives the n of each VARCHAR(n) by field id, `id` for the column; without it VARCHAR(n) is refused.
    Raises ParseError and UnsupportedError.
    """
    cursor = TokenCursor(text)
    parsed = _TypeReader(cursor, timestamp_type, count(1) if ids is None else ids, lengths).read(id)
    cursor.expect_end()
    return parsed


def is_type_text(text: str) -> bool:
    """Whether the text is a SQL type that a column may have."""
    try:
        parse_type(text)
    except SqlextError:
        return False
    return True


class _TypeReader:
    def __init__(
        self,
        cursor: TokenCursor,
        timestamp_type: TimestampSetting,
        ids: Iterator[int],
        lengths: dict[int, int] | None,
    ) -> None:
        self._cursor = cursor
        self._timestamp_type = timestamp_type
        self._ids = ids
        self._lengths = lengths

    def read(self, id: int) -> Type:
        cursor = self._cursor
        word = cursor.peek().word
        nested: Mapping[str, Callable[[], Type]] = {
            "STRUCT": self._struct,
            "ROW": self._struct,
            "ARRAY": self._list,
            "MAP": self._map,
        }
        if word in nested:
            cursor.position += 1
            return nested[word]()
        return self._primitive(cursor.name("a type").upper(), id)

    def _primitive(self, name: str, id: int) -> Type:
        cursor = self._cursor
        if name == "DOUBLE":
            cursor.accept("PRECISION")
        if name in ("DECIMAL", "DEC", "NUMERIC"):
            return self._decimal()
        if name == "TIME":
            return self._time()
        if name == "TIMESTAMP" or name in _ZONED:
            return self._timestamp(name)
        if name in ("VARCHAR", "BINARY", "VARBINARY", "FIXED") and cursor.at("("):
            length = self._parameter()
            if name in ("BINARY", "FIXED"):
                return FixedType(length)
            if length == _UNBOUNDED_LENGTH:
                return StringType() if name == "VARCHAR" else BinaryType()
            if name == "VARBINARY" or self._lengths is None:
                refuse_type(f"{name}({length})", "no Iceberg type has a length limit. Use STRING or BINARY")
            if length < 1:
                refuse_type(f"{name}({length})", "its length must be at least 1")
            self._lengths[id] = length
            if cursor.at("COLLATE"):
                refuse_type(f"{name} COLLATE", "Iceberg strings have no collation. Leave it out")
            return StringType()
        if name in _REFUSED:
            refuse_type(name, _REFUSED[name])
        if name not in _PLAIN:
            refuse_type(name, "Spark and Iceberg know no type of that name. Check the spelling")
        if cursor.at("COLLATE"):
            refuse_type(f"{name} COLLATE", "Iceberg strings have no collation. Leave it out")
        return _PLAIN[name]

    def _decimal(self) -> Type:
        cursor = self._cursor
        precision, scale = 10, 0
        if cursor.accept("("):
            precision = cursor.integer("a precision")
            if cursor.accept(","):
                scale = cursor.integer("a scale")
            cursor.expect(")")
        if not 0 < precision <= 38 or scale > precision:
            refuse_type(f"DECIMAL({precision},{scale})", "the precision must be 1 to 38, the scale 0 to the precision")
        return DecimalType(precision, scale)

    def _time(self) -> Type:
        precision = self._parameter() if self._cursor.at("(") else 6
        if precision > 6:
            refuse_type(f"TIME({precision})", "times are kept in microseconds. Use a precision of at most 6")
        self._cursor.accept("WITHOUT", "TIME", "ZONE")
        return TimeType()

    def _timestamp(self, name: str) -> Type:
        cursor = self._cursor
        setting = _ZONED.get(name, self._timestamp_type)
        if cursor.at("("):
            precision = self._parameter()
            if precision > 6:
                reason = "Spark has no nanoseconds. Use a precision of at most 6, or BIGINT for nanoseconds"
                refuse_type(f"{name}({precision})", reason)
            if name == "TIMESTAMP":
                setting = "TIMESTAMP_NTZ"
        if name == "TIMESTAMP":
            if cursor.accept("WITHOUT", "TIME", "ZONE"):
                setting = "TIMESTAMP_NTZ"
            elif cursor.accept("WITH", "LOCAL", "TIME", "ZONE"):
                setting = "TIMESTAMP_LTZ"
            elif cursor.at("WITH", "TIME", "ZONE"):
                refuse_type("TIMESTAMP WITH TIME ZONE", "a zone per value is not kept. Use TIMESTAMP_LTZ for instants")
        return TimestampType() if setting == "TIMESTAMP_NTZ" else TimestamptzType()

    def _parameter(self) -> int:
        self._cursor.expect("(")
        value = self._cursor.integer()
        self._cursor.expect(")")
        return value

    def _list(self) -> Type:
        self._cursor.expect("<")
        element_id = next(self._ids)
        element = self.read(element_id)
        required = self._nullability()
        self._cursor.expect(">")
        return ListType(element_id, element, required)

    def _map(self) -> Type:
        self._cursor.expect("<")
        key_id, value_id = next(self._ids), next(self._ids)
        key = self.read(key_id)
        self._nullability()
        self._cursor.expect(",")
        value = self.read(value_id)
        required = self._nullability()
        self._cursor.expect(">")
        return MapType(key_id, key, value_id, value, required)

    def _struct(self) -> Type:
        cursor = self._cursor
        if cursor.accept("<>"):
            return StructType(())
        close = ")" if cursor.accept("(") else ">"  # ROW(a INT) is Flink's other spelling of ROW<a INT>
        if close == ">":
            cursor.expect("<")
        fields = [self._field()]
        while cursor.accept(","):
            fields.append(self._field())
        cursor.expect(close)
        return StructType(tuple(fields))

    def _field(self) -> NestedField:
        cursor = self._cursor
        id = next(self._ids)
        name = cursor.name("a field name")
        cursor.accept(":")
        type = self.read(id)
        required = self._nullability()
        doc = cursor.string("a comment in quotes") if cursor.accept("COMMENT") else None
        return NestedField(id, name, type, required or self._nullability(), doc)

    def _nullability(self) -> bool:
        """Whether NOT NULL comes next; skips it, or a bare NULL."""
        if self._cursor.accept("NOT", "NULL"):
            return True
        self._cursor.accept("NULL")
        return False
