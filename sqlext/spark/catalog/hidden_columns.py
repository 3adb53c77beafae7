"""The metadata column `_partition` for the shim: its type, and each file's value as JSON."""

from __future__ import annotations

import base64
import decimal
from collections.abc import Callable, Mapping
from typing import Any

from sqlext.scan.metadata_tables.arrow_type import readable
from sqlext.scan.metadata_tables.partition_struct import partition_fields, partition_type
from sqlext.spark.catalog.arrow_types import from_arrow_struct
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.types import TimestampNanoType, TimestamptzNanoType, Type

_NANOS = (TimestampNanoType, TimestamptzNanoType)


def partition_column(metadata: TableMetadata) -> Mapping[str, Any]:
    """Spark's struct of the partition fields of all specs."""
    struct: dict[str, Any] = from_arrow_struct(partition_type(partition_fields(metadata))).jsonValue()
    return struct


def stored_partition(metadata: TableMetadata) -> Callable[[ContentFile], list[Any]]:
    """A function for a file's values of the fields of `partition_column`, as JSON: days, microseconds, decimals as
    text, bytes in base64."""
    fields, specs = partition_fields(metadata), metadata.specs_by_id()

    def values(file: ContentFile) -> list[Any]:
        ids = (field.field_id for field in specs[file.spec_id].fields)
        by_id = dict(zip(ids, file.partition, strict=True))
        return [as_json(field.type, by_id.get(field.id)) for field in fields]

    return values


def as_json(value_type: Type, value: Any) -> Any:
    """A stored value as JSON."""
    if value is None:
        return None
    if isinstance(value_type, _NANOS):
        return value // 1000
    value = readable(value_type, value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
