"""The struct of the partition fields of all specs of a table (spec: "Partition Evolution")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.metadata_tables.arrow_type import arrow_type, readable
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.transform import VoidTransform
from sqlext.spec.types import NestedField, Type, UnknownType


def partition_fields(metadata: TableMetadata) -> tuple[NestedField, ...]:
    """The partition fields of all specs, those of the newest spec first, each once.

    A void field, which replaces a dropped one, is left out unless an earlier spec has the field with another transform.
    Fields whose column the table no longer has are left out.
    """
    columns = metrics_columns([metadata.schema()])
    fields: dict[int, NestedField] = {}
    for spec in sorted(metadata.partition_specs, key=lambda spec: -spec.spec_id):
        for field, result_type in zip(spec.fields, result_types(spec, metadata), strict=True):
            if not isinstance(field.transform, VoidTransform) and field.source_id in columns:
                fields.setdefault(field.field_id, NestedField(field.field_id, field.name, result_type))
    return tuple(fields.values())


def result_types(spec: PartitionSpec, metadata: TableMetadata) -> list[Type]:
    """Types of a spec's partition values; a dropped source column counts with its last type."""
    columns = metrics_columns((metadata.schema(), *reversed(metadata.schemas)))
    known = (columns.get(field.source_id) for field in spec.fields)
    types = [UnknownType() if one is None else one.type for one in known]
    return [field.transform.result_type(type) for field, type in zip(spec.fields, types, strict=True)]


def partition_type(fields: Sequence[NestedField]) -> pa.DataType:
    """The Arrow struct of partition fields."""
    return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])


def partition_values(metadata: TableMetadata) -> Callable[[ContentFile], dict[str, Any]]:
    """A function that gives a file's value of each of `partition_fields`; None for a field that its spec lacks."""
    fields, specs = partition_fields(metadata), metadata.specs_by_id()

    def values(file: ContentFile) -> dict[str, Any]:
        spec_fields = specs[file.spec_id].fields
        by_id = dict(zip((field.field_id for field in spec_fields), file.partition, strict=True))
        return {field.name: readable(field.type, by_id.get(field.id)) for field in fields}

    return values
