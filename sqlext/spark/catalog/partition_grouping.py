"""Partition fields for Spark, and the partition values by which a scan groups its files (storage-partitioned joins)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.catalog.hidden_columns import as_json
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spec.partition_spec import PartitionField
from sqlext.spec.transform import VoidTransform
from sqlext.spec.types import FixedType, TimestampNanoType, TimestamptzNanoType, TimeType, UuidType

# Spark has another type for these, whose values are in other buckets.
_HELD_OTHERWISE = (UuidType, FixedType, TimeType, TimestampNanoType, TimestamptzNanoType)


def shown_fields(version: TableVersion) -> list[PartitionField]:
    """Fields of the current spec whose source columns are in the version's schema, which may be an earlier
    snapshot's."""
    fields = version.metadata.spec().fields
    shown = [field for field in fields if not isinstance(field.transform, VoidTransform)]
    return [field for field in shown if version.schema.field_or_none(field.source_id) is not None]


def grouping_keys(
    version: TableVersion, tasks: Sequence[FileScanTask], wanted: Sequence[int] | None
) -> list[list[Any]] | None:
    """For each task the values of `wanted`, indexes into `shown_fields`, as JSON.

    None if nothing is wanted, a file has another spec, or Spark has another type for a source column.
    """
    spec = version.metadata.spec()
    if not wanted or not tasks or any(task.spec_id != spec.spec_id for task in tasks):
        return None
    shown = shown_fields(version)
    if any(isinstance(version.schema.field(shown[i].source_id).type, _HELD_OTHERWISE) for i in wanted):
        return None
    places = {field.field_id: place for place, field in enumerate(spec.fields)}
    fields = [(places[shown[i].field_id], shown[i]) for i in wanted]
    types = [field.transform.result_type(version.schema.field(field.source_id).type) for _, field in fields]
    return [
        [as_json(of, task.partition[place]) for of, (place, _) in zip(types, fields, strict=True)] for task in tasks
    ]
