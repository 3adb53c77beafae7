"""Avro schemas and conversions of the records of manifests and manifest lists, cached.

Parsing a schema costs more than encoding or decoding a small manifest with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias
from uuid import UUID

import fastavro

from sqlext.spec import single_value
from sqlext.spec.avro import avro_file
from sqlext.spec.avro.avro_schema import decimal_size, encoding, field_key, physical, to_avro
from sqlext.spec.iso_date_time import MICROS_PER_SECOND, NANOS_PER_SECOND, SECONDS_PER_DAY
from sqlext.spec.manifests.manifest_schema import NAMES, entry_type, manifest_file_type
from sqlext.spec.types import DecimalType, StructType, TimestampNanoType, TimestampType, Type, UuidType

Conversion: TypeAlias = Callable[[Any], Any]

# A record's location and ids alone take more bytes, so a block that claims more records than this allows is damaged.
_SMALLEST_RECORD_BYTES = 24

_DATA_FILE = "data_file"
METRICS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")


@dataclass(frozen=True, slots=True)
class RecordWriter:
    """The schema text for the file's header, the schema that encodes records, and each partition field's name in
    records with the conversion of its stored values."""

    schema_text: str
    record_schema: Any
    partition: tuple[tuple[str, Conversion], ...]


@lru_cache(maxsize=256)
def entry_writer(format_version: int, partition_type: StructType) -> RecordWriter:
    avro = to_avro(entry_type(format_version, partition_type), "manifest_entry")
    partition = tuple((f"p{field.id}", _physical_form(field.type)) for field in partition_type.fields)
    record = _with_named_metrics(physical(avro, NAMES))
    return RecordWriter(json_text(avro), avro_file.array_of(record), partition)


@dataclass(frozen=True, slots=True)
class FileWriter:
    """How `data_file` is encoded in manifests of a format version and partition type: `record_schema` encodes it
    alone; bytes of other manifests are equal to that if `encoding` and `logical_types` are."""

    record_schema: Any
    encoding: Any
    logical_types: Mapping[str, Any]


@lru_cache(maxsize=256)
def file_writer(format_version: int, partition_type: StructType) -> FileWriter:
    avro = to_avro(entry_type(format_version, partition_type), "manifest_entry")
    record = physical(avro, NAMES)
    file = _data_file_field(_with_named_metrics(record))["type"]
    logical = _told_logical_types(dict(_partition_logical_types(avro)))
    return FileWriter(fastavro.parse_schema(file), file_encoding(physical(avro, NAMES)), logical)


def file_encoding(record: Mapping[str, Any]) -> Any:
    """The encoding of `data_file` in entries of a physical schema; None unless it is their last field."""
    last = record["fields"][-1]
    return encoding(last["type"]) if last["name"] == _DATA_FILE else None


def metric_pairs(name: str, metric: Mapping[int, Any] | None) -> Any:
    """A metric of a content file in the form that the record schema of `entry_writer` takes."""
    return (
        None if metric is None else (name, {"pairs": [{"key": key, "value": value} for key, value in metric.items()]})
    )


def _with_named_metrics(record: dict[str, Any]) -> dict[str, Any]:
    # fastavro validates a whole value to choose an unnamed union branch. A record of one field has the encoding of the
    # field, and a name to choose it by, which makes encoding twice as fast.
    for field in _data_file_field(record)["type"]["fields"]:
        if field["name"] in METRICS:
            pairs = {"name": "pairs", "type": field["type"][1]}
            field["type"] = ["null", {"type": "record", "name": field["name"], "fields": [pairs]}]
    return record


def _data_file_field(record: Mapping[str, Any]) -> Any:
    return next(field for field in record["fields"] if field["name"] == _DATA_FILE)


@lru_cache(maxsize=3)
def manifest_file_writer(format_version: int) -> RecordWriter:
    avro = to_avro(manifest_file_type(format_version), "manifest_file")
    return RecordWriter(json_text(avro), avro_file.array_of(physical(avro, NAMES)), ())


def _physical_form(type: Type) -> Conversion:
    match type:
        case DecimalType(precision=precision, scale=scale):
            size = decimal_size(precision)
            return lambda value: single_value.unscaled(value, scale).to_bytes(size, "big", signed=True)
        case UuidType():
            return lambda value: value.bytes
    return lambda value: value


class RecordReader:
    """Decodes the records of files with one Avro schema."""

    def __init__(self, schema_text: bytes) -> None:
        schema = json.loads(schema_text)
        self.physical_schema = physical(schema, NAMES)
        self.record_schema = avro_file.array_of(self.physical_schema)
        self.smallest_record = max(_SMALLEST_RECORD_BYTES, avro_file.smallest_size(self.physical_schema))
        self.field_types = dict(_field_types(self.physical_schema))
        prefixed = _fixed_as_bytes(schema, set())
        self._prefixed = None if prefixed == schema else avro_file.array_of(physical(prefixed, NAMES))
        self._logical_types = dict(_partition_logical_types(schema))
        self._file_encoding = file_encoding(self.physical_schema)

    def copies_files(self, writer: FileWriter) -> bool:
        """Whether the bytes of `data_file` are what `writer` makes of its values."""
        logical = _told_logical_types(self._logical_types)
        return self._file_encoding == writer.encoding and logical == writer.logical_types

    def records(self, data: bytes, start: int, codec: str) -> list[Any]:
        """The records of the blocks from offset `start`. Raises the errors of `avro_file.decode_blocks`.

        Values of type `fixed` are also read with a length before them, which Iceberg's Java library writes although
        its schema has none.
        """
        try:
            return self._decode(data, start, codec, self.record_schema)
        except MemoryError:
            raise
        except Exception:  # on bytes that are misaligned fastavro may raise nearly any exception
            if self._prefixed is None:
                raise
            return self._decode(data, start, codec, self._prefixed)

    def _decode(self, data: bytes, start: int, codec: str, record_schema: Any) -> list[Any]:
        return avro_file.decode_blocks(
            data, start, codec=codec, record_schema=record_schema, smallest_record=self.smallest_record
        )

    def partition_conversions(self, partition_type: StructType) -> list[tuple[str, Conversion | None]]:
        """Each partition field's name in records, and the conversion of Avro's value to the stored value, if any."""
        keys = ((f"p{field.id}", field.type) for field in partition_type.fields)
        return [(key, _stored_form(self._logical_types.get(key, {}), type)) for key, type in keys]


@lru_cache(maxsize=256)
def record_reader(schema_text: bytes) -> RecordReader:
    return RecordReader(schema_text)


def read_records(data: bytes) -> tuple[RecordReader, list[Any]]:
    metadata, start = avro_file.decode_header(data)
    reader = record_reader(metadata["avro.schema"])
    codec = metadata.get("avro.codec", b"null").decode()
    return reader, reader.records(data, start, codec)


def _field_types(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and physical type, without null, of each field, including the fields of nested records."""
    for field in record["fields"]:
        type = field["type"]
        if isinstance(type, list):
            type = next((branch for branch in type if branch != "null"), "null")
        if isinstance(type, dict) and type.get("type") == "record":
            yield from _field_types(type)
        else:
            yield field["name"], type


def _fixed_as_bytes(schema: Any, named: set[str]) -> Any:
    """The schema with `bytes` for each `fixed` type without logical type; `named` collects the names of these types."""
    match schema:
        case [*branches]:
            return [_fixed_as_bytes(branch, named) for branch in branches]
        case {"type": "fixed", "name": str(name), **rest}:
            if "logicalType" in rest:
                return schema
            named.add(name)
            return "bytes"
        case {"type": "record", "fields": fields}:
            return {**schema, "fields": [{**field, "type": _fixed_as_bytes(field["type"], named)} for field in fields]}
        case str() if schema in named:
            return "bytes"
    return schema


def _partition_logical_types(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    named: dict[str, Mapping[str, Any]] = {}
    for field in _record_fields(schema, "data_file", "partition"):
        branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
        for branch in branches:
            if isinstance(branch, dict):
                named[branch.get("name", "")] = branch
                yield field_key(field, NAMES), branch
            elif branch in named:
                yield field_key(field, NAMES), named[branch]


def _told_logical_types(types: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """What the bytes of partition values mean beside their physical types."""
    told = {key: (type.get("logicalType"), type.get("precision"), type.get("scale")) for key, type in types.items()}
    return {key: logical for key, logical in told.items() if any(logical)}


def _record_fields(schema: Mapping[str, Any], *path: str) -> Sequence[Mapping[str, Any]]:
    fields: Sequence[Mapping[str, Any]] = schema["fields"]
    for step in path:
        inner = next((field for field in fields if field_key(field, NAMES) == step), None)
        if inner is None:
            return ()
        fields = inner["type"]["fields"]
    return fields


def _stored_form(avro: Mapping[str, Any], type: Type) -> Conversion | None:
    # By the logical type in the file, since the source column may have been promoted or dropped since then.
    logical = avro.get("logicalType")
    if logical == "decimal":
        scale = avro.get("scale", 0)
        return lambda value: single_value.scaled(int.from_bytes(value, "big", signed=True), scale)
    if logical == "uuid":
        return lambda value: UUID(value) if isinstance(value, str) else UUID(bytes=value)
    if logical == "date" and isinstance(type, TimestampType | TimestampNanoType):
        units = MICROS_PER_SECOND if isinstance(type, TimestampType) else NANOS_PER_SECOND
        return lambda value: value * SECONDS_PER_DAY * units
    return None


def json_text(obj: Any) -> str:
    """Compact JSON."""
    return json.dumps(obj, ensure_ascii=False, separators=(",", ":"))
