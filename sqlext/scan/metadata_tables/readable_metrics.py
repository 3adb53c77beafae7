"""Metrics of a content file by column name, with bounds as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from sqlext.scan.filter.value_range import decode_bound
from sqlext.scan.metadata_tables.arrow_type import arrow_type, readable
from sqlext.spec.field_path import path_text
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import nested_fields
from sqlext.spec.types import NestedField, Type, VariantType, is_primitive


def readable_metrics_type(metadata: TableMetadata) -> pa.DataType:
    """The Arrow type of `readable_metrics`: a struct for each primitive field except variants."""
    fields = []
    for name, field_id, value_type in _metrics_columns(metadata):
        bound = arrow_type(value_type)
        counts = [pa.field(count, pa.int64()) for count in ("column_size", *_COUNTS)]
        bounds = [pa.field("lower_bound", bound), pa.field("upper_bound", bound)]
        fields.append(pa.field(name, pa.struct([*counts, *bounds]), metadata={"field-id": str(field_id)}))
    return pa.struct(fields)


_COUNTS = ("value_count", "null_value_count", "nan_value_count")


def _metrics_columns(metadata: TableMetadata) -> list[tuple[str, int, Type]]:
    """Name, id and type of all primitive fields except variants, sorted by name.

    Names are dotted paths, as in Iceberg. If a column's own dots make two names equal, that column's name is quoted.
    """
    schema = metadata.schema()
    fields = list(_primitive_fields(schema.fields))
    dotted = Counter(schema.column_name(field.id) for field in fields)
    named = (
        (name if dotted[name] == 1 else path_text(schema.column_path(field.id)), field)
        for name, field in ((schema.column_name(field.id), field) for field in fields)
    )
    return sorted(((name, field.id, field.type) for name, field in named), key=lambda column: column[:2])


def _primitive_fields(fields: Iterable[NestedField]) -> Iterator[NestedField]:
    for field in fields:
        if isinstance(field.type, VariantType):
            continue
        if is_primitive(field.type):
            yield field
        else:
            yield from _primitive_fields(nested_fields(field.type))


def readable_metrics(metadata: TableMetadata) -> Callable[[ContentFile], dict[str, Any]]:
    """A function that gives a file's metrics of all columns."""
    columns = _metrics_columns(metadata)
    return lambda file: {name: _column_metrics(file, field_id, of) for name, field_id, of in columns}


def _column_metrics(file: ContentFile, field_id: int, value_type: Type) -> dict[str, Any]:
    metrics: dict[str, Any] = {
        name: (metric or {}).get(field_id)
        for name, metric in (
            ("column_size", file.column_sizes),
            ("value_count", file.value_counts),
            ("null_value_count", file.null_value_counts),
            ("nan_value_count", file.nan_value_counts),
        )
    }
    for name, bounds in (("lower_bound", file.lower_bounds), ("upper_bound", file.upper_bounds)):
        metrics[name] = readable(value_type, decode_bound(value_type, (bounds or {}).get(field_id)))
    return metrics
