"""Debezium's JSON change events as rows with row kinds.

    changes = from_debezium(feed, "value", "id INT, name STRING")
    changes.writeTo("lake.db.customers").option("upsert-enabled", "true").append()

An event is an envelope of `before`, `after` and `op`, alone or as the `payload` beside its `schema`. Tombstones, which
have no value, are skipped; any other event that cannot be read fails the query and is shown in the error. Spark's
`from_json` parses values. Dates and timestamps must be ISO text (`time.precision.mode=isostring`): numbers are errors,
as their unit is unknown. Decimals must be text or numbers (`decimal.handling.mode` `string` or `double`): bytes in
Base64 are errors, unless they consist of digits alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType, TimestampType

from sqlext.errors import UnsupportedError
from sqlext.spec.row_kind import ROW_KIND

_CORRUPT = "__corrupt"
_SHOWN = 500


def from_debezium(
    events: DataFrame,
    value_column: str,
    schema: StructType | str,
    metadata: Mapping[str, str] = MappingProxyType({}),
) -> DataFrame:
    """The rows of the events in the columns of `schema`, those of `metadata`, and `_row_kind`.

    `value_column` holds the events as text or UTF-8 bytes. `schema` is the table's, as a struct or DDL: a column that
    an event lacks is null, other fields of the event are dropped. `metadata` maps further columns, of type BIGINT, to
    paths in the envelope, such as `{"lsn": "source.lsn", "changed_ms": "ts_ms"}`; they may serve as
    `write.upsert.sequence-field`.

    Operations `c` and `r` give `+I`, `d` gives `-D`, `u` gives `-U` for `before`, if present, and `+U` for `after`.
    Raises UnsupportedError UNSUPPORTED_TYPE for a nested timestamp. The query fails with Spark's USER_RAISED_EXCEPTION,
    which shows the event, for text that is no JSON, a value not of its column's type, another operation (such as `t` or
    `m`), and a missing image.
    """
    columns_of = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    row = _read_as(columns_of)
    text = F.col(_quoted(value_column)).cast("string")
    envelope = _envelope(row, metadata)
    wrapped = StructType([StructField("payload", envelope), *envelope.fields, StructField(_CORRUPT, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    # A tombstone is a null value, or the text `null`.
    values = events.select(text.alias("text")).where("text IS NOT NULL AND trim(text) <> 'null'")
    read = values.select("text", F.from_json("text", wrapped, options).alias("event"))
    inner = ["before", "after", "op", *(path.split(".")[0] for path in metadata.values())]
    payload = F.when(
        F.col("event.payload").isNotNull(), F.struct(*(F.col(f"event.payload.{name}").alias(name) for name in inner))
    ).otherwise(F.struct(*(F.col(f"event.{name}").alias(name) for name in inner)))
    opened = read.select("text", F.col(f"event.{_CORRUPT}").alias("corrupt"), payload.alias("payload"))
    images = opened.select("text", "payload", F.explode(_images(row)).alias("image"))
    columns = [_value(field).alias(field.name) for field in columns_of.fields]
    further = [F.col(f"payload.{path}").alias(name) for name, path in metadata.items()]
    return images.select(*columns, *further, F.col("image.kind").alias(ROW_KIND.name))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _envelope(row: StructType, metadata: Mapping[str, str]) -> StructType:
    """The fields of the envelope that are read; paths of `metadata` with one head share a struct."""
    fields = [StructField("before", row), StructField("after", row), StructField("op", StringType())]
    nested: dict[str, list[str]] = {}
    for path in metadata.values():
        head, _, rest = path.partition(".")
        nested.setdefault(head, []).append(rest)
    for head, rests in nested.items():
        inner = [StructField(rest, LongType()) for rest in dict.fromkeys(rests) if rest]
        fields.append(StructField(head, StructType(inner) if inner else LongType()))
    return StructType(fields)


def _images(row: StructType) -> Column:
    """The images of an event, as an array of rows with their kinds."""
    before, after, op = (F.col(f"payload.{name}") for name in ("before", "after", "op"))
    image = StructType([StructField("row", row), StructField("kind", StringType())])

    def of(*pairs: tuple[Column, str]) -> Column:
        return F.array(*(F.struct(one.alias("row"), F.lit(kind).alias("kind")) for one, kind in pairs))

    return (
        F.when(F.col("corrupt").isNotNull(), _refused("it is no JSON, or a value is not of its column's type"))
        .when(op.isin("c", "r") & after.isNotNull(), of((after, "+I")))
        .when((op == "u") & after.isNotNull() & before.isNotNull(), of((before, "-U"), (after, "+U")))
        .when((op == "u") & after.isNotNull(), of((after, "+U")))
        .when((op == "d") & before.isNotNull(), of((before, "-D")))
        .when(op.isin("c", "r", "u"), _refused("it has no after"))
        .when(op == "d", _refused("it has no before"))
        .otherwise(_refused("its op is none of c, r, u and d"))
        .cast(ArrayType(image))
    )


def _refused(reason: str) -> Column:
    shown = F.substring(F.col("text"), 1, _SHOWN)
    return F.raise_error(F.concat(F.lit(f"The Debezium event is refused, {reason}: "), shown))


def _read_as(columns: StructType) -> StructType:
    """The schema for `from_json`: all fields nullable, and timestamps as text, as it takes a number for seconds.

    NOT NULL is checked when the table is written. Raises UnsupportedError for a timestamp inside another type.
    """
    fields = []
    for field in columns.fields:
        is_timestamp = isinstance(field.dataType, TimestampType)
        if not is_timestamp and "timestamp" in field.dataType.simpleString().replace("timestamp_ntz", ""):
            reason = "a number inside it would be taken for seconds. Read it as STRING, and cast it"
            raise UnsupportedError("UNSUPPORTED_TYPE", type=field.dataType.simpleString(), reason=reason)
        fields.append(StructField(field.name, StringType() if is_timestamp else field.dataType, True))
    return StructType(fields)


def _value(field: StructField) -> Column:
    read = F.col(f"image.row.{_quoted(field.name)}")
    if not isinstance(field.dataType, TimestampType):
        return read
    refused = _refused(f"{field.name} is no timestamp in ISO text").cast("timestamp")
    # Spark would read a bare number as a year.
    known = F.when(read.rlike("^[0-9]{4}-[0-9]{2}-[0-9]{2}"), read.try_cast("timestamp"))
    return F.when(read.isNotNull(), F.coalesce(known, refused))
