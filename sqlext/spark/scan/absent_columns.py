"""Identity partition columns that data files lack (spec: "Column Projection").

Files imported by Iceberg's `add_files` have the values of partition columns in folder names only, `column=value`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlext.scan.files.file_columns import Reading
from sqlext.spark.catalog.hidden_columns import as_json
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform


def identity_ids(spec: PartitionSpec) -> frozenset[int]:
    """Source ids of identity partition fields."""
    return frozenset(one.source_id for one in spec.fields if isinstance(one.transform, IdentityTransform))


def absent_columns(
    metadata: TableMetadata, schema: Schema, files: Sequence[ContentFile], readings: Sequence[Reading | None]
) -> list[Mapping[str, Any] | None]:
    """For each file the values of absent partition columns by name, as JSON; empty if no file has any."""
    if not any(readings):
        return []
    specs = metadata.specs_by_id()
    columns = {field.id: field for field in schema.fields}

    def absent(file: ContentFile, reading: Reading | None) -> Mapping[str, Any] | None:
        if reading is None:
            return None
        spec, found = specs[file.spec_id], {field_id for field_id, _ in reading.names}
        told = dict(zip((one.source_id for one in spec.fields), file.partition, strict=True))
        lacking = (identity_ids(spec) - found) & columns.keys()
        return {columns[id].name: as_json(columns[id].type, told[id]) for id in sorted(lacking)} or None

    filled = [absent(file, reading) for file, reading in zip(files, readings, strict=True)]
    return filled if any(filled) else []
