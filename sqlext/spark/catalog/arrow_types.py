"""Spark's types in Arrow, as `DataFrame.toArrow` gives them, and back.

PySpark's own conversions are private, and their parameters differ between Spark 4.0 and 4.3.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import types as spark

# Times of the day are a type from Spark 4.1 on.
_TIME: type[spark.DataType] | None = getattr(spark, "TimeType", None)
_TO_ARROW: Mapping[type[spark.DataType], pa.DataType] = {
    spark.NullType: pa.null(),
    spark.BooleanType: pa.bool_(),
    spark.ByteType: pa.int8(),
    spark.ShortType: pa.int16(),
    spark.IntegerType: pa.int32(),
    spark.LongType: pa.int64(),
    spark.FloatType: pa.float32(),
    spark.DoubleType: pa.float64(),
    spark.StringType: pa.string(),
    spark.CharType: pa.string(),
    spark.VarcharType: pa.string(),
    spark.BinaryType: pa.binary(),
    spark.DateType: pa.date32(),
    spark.TimestampType: pa.timestamp("us", "UTC"),
    spark.TimestampNTZType: pa.timestamp("us"),
    spark.DayTimeIntervalType: pa.duration("us"),
    spark.VariantType: pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
        ]
    ),
    **({} if _TIME is None else {_TIME: pa.time64("ns")}),
}
_FROM_ARROW: Mapping[pa.DataType, spark.DataType] = {
    pa.null(): spark.NullType(),
    pa.bool_(): spark.BooleanType(),
    pa.int32(): spark.IntegerType(),
    pa.int64(): spark.LongType(),
    pa.float32(): spark.FloatType(),
    pa.float64(): spark.DoubleType(),
    pa.string(): spark.StringType(),
    pa.binary(): spark.BinaryType(),
    pa.date32(): spark.DateType(),
}


def to_arrow_schema(struct: spark.StructType) -> pa.Schema:
    """The Arrow schema of rows of these columns, several of which may have one name, but not fields of a struct.

    Raises PySparkTypeError, as `toArrow`, for a type without a form in Arrow and for a repeated name of a field.
    """
    return pa.schema([_arrow_field(field.name, field.dataType, field.nullable) for field in struct.fields])


def _arrow_field(name: str, data_type: spark.DataType, nullable: bool) -> pa.Field:
    return pa.field(name, _to_arrow(data_type), nullable=nullable)


def _to_arrow(data_type: spark.DataType) -> pa.DataType:
    match data_type:
        case spark.DecimalType():
            return pa.decimal128(data_type.precision, data_type.scale)
        case spark.ArrayType():
            return pa.list_(_arrow_field("element", data_type.elementType, data_type.containsNull))
        case spark.MapType():
            key = _arrow_field("key", data_type.keyType, nullable=False)
            return pa.map_(key, _arrow_field("value", data_type.valueType, data_type.valueContainsNull))
        case spark.StructType():
            if len(set(data_type.names)) != len(data_type.names):
                raise _error("DUPLICATED_FIELD_NAME_IN_ARROW_STRUCT", field_names=str(data_type.names))
            return pa.struct([_arrow_field(field.name, field.dataType, field.nullable) for field in data_type.fields])
        case spark.UserDefinedType():
            return _to_arrow(data_type.sqlType())
    found = _TO_ARROW.get(type(data_type))
    if found is None:
        raise _error("UNSUPPORTED_DATA_TYPE_FOR_ARROW_CONVERSION", data_type=str(data_type))
    return found


def _error(condition: str, **parameters: str) -> PySparkTypeError:
    return PySparkTypeError(errorClass=condition, messageParameters=parameters)


def from_arrow_schema(schema: pa.Schema) -> spark.StructType:
    """Spark's struct of the columns of an Arrow schema of sqlext's own: of a metadata table or of messages of tasks.

    Raises PySparkTypeError for a time of the day in Spark 4.0.
    """
    return from_arrow_struct(pa.struct(list(schema)))


def from_arrow_struct(struct: pa.StructType) -> spark.StructType:
    """Spark's struct of an Arrow struct of the types that `from_arrow_schema` takes."""
    return spark.StructType(
        [spark.StructField(field.name, _from_arrow(field.type), field.nullable) for field in struct.fields]
    )


def _from_arrow(arrow: pa.DataType) -> spark.DataType:
    if pa.types.is_decimal(arrow):
        return spark.DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_fixed_size_binary(arrow):
        return spark.BinaryType()
    if pa.types.is_list(arrow):
        return spark.ArrayType(_from_arrow(arrow.value_type), arrow.value_field.nullable)
    if pa.types.is_map(arrow):
        key, item = _from_arrow(arrow.key_type), _from_arrow(arrow.item_type)
        return spark.MapType(key, item, arrow.item_field.nullable)
    if pa.types.is_struct(arrow):
        return from_arrow_struct(arrow)
    if pa.types.is_timestamp(arrow):
        return spark.TimestampNTZType() if arrow.tz is None else spark.TimestampType()
    if pa.types.is_time(arrow):
        if _TIME is None:
            raise _error("UNSUPPORTED_DATA_TYPE_FOR_ARROW_CONVERSION", data_type=str(arrow))
        return _TIME()
    return _FROM_ARROW[arrow]


def batches_in_base64(rows: pa.Table) -> list[str]:
    """The rows as the shim takes them in an answer: record batches of Arrow, see ArrowRows.scala."""
    return [b64encode(batch.serialize()).decode() for batch in rows.combine_chunks().to_batches()]
