"""position_deletes: the deleted positions of a snapshot, from position-delete files and deletion vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from sqlext.scan.deletes.deletion_vector_file import read_deletion_vector
from sqlext.scan.deletes.position_delete import read_position_deletes
from sqlext.scan.files.readable_files import require_readable
from sqlext.scan.metadata_tables.arrow_type import arrow_field
from sqlext.scan.metadata_tables.files import entries_of, listed_manifests
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState
from sqlext.scan.metadata_tables.partition_struct import partition_fields, partition_type, partition_values
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.in_threads import each_below


def _schema(metadata: TableMetadata) -> pa.Schema:
    partition = partition_fields(metadata)
    in_blob = [pa.field("content_offset", pa.int64()), pa.field("content_size_in_bytes", pa.int64())]
    return pa.schema(
        [
            pa.field("file_path", pa.string(), nullable=False),
            pa.field("pos", pa.int64(), nullable=False),
            pa.field("row", pa.struct([arrow_field(field) for field in metadata.schema().fields])),
            *([pa.field("partition", partition_type(partition), nullable=False)] if partition else []),
            pa.field("spec_id", pa.int32(), nullable=False),
            pa.field("delete_file_path", pa.string(), nullable=False),
            *(in_blob if metadata.format_version > 2 else []),
        ]
    )


def _rows(state: TableState) -> pa.Table:
    """The deleted positions. `row` is null, since copies of deleted rows in delete files are deprecated."""
    schema, values = _schema(state.metadata), partition_values(state.metadata)
    entries = entries_of(state, listed_manifests, [ManifestContent.DELETES])
    files = [one.file for one in entries if one.is_live and one.file.content == Content.POSITION_DELETES]
    for file in files:
        require_readable(file)
    batches = []
    each = each_below(state.metadata.location)
    for file, found in zip(files, each(partial(_positions, state), files), strict=True):
        common = {
            "partition": values(file),
            "spec_id": file.spec_id,
            "delete_file_path": file.file_path,
            "content_offset": file.content_offset,
            "content_size_in_bytes": file.content_size_in_bytes,
        }
        for path, positions in found:
            given = {**common, "file_path": path}
            constants = {field.name: pa.scalar(given.get(field.name), field.type) for field in schema}
            columns = [
                pa.array(positions, pa.int64()) if name == "pos" else pa.repeat(constant, len(positions))
                for name, constant in constants.items()
            ]
            batches.append(pa.record_batch(columns, schema=schema))
    return pa.Table.from_batches(batches, schema)


def _positions(state: TableState, file: ContentFile) -> list[tuple[Any, list[int]]]:
    """The deleted positions in a delete file, by data file path."""
    if file.is_deletion_vector:
        return [(file.referenced_data_file, list(read_deletion_vector(state.io, file).positions()))]
    by_path = read_position_deletes(state.io, file.file_path, file.file_format)
    return [(path, list(positions)) for path, positions in by_path.items()]


POSITION_DELETES = MetadataTable(_schema, _rows)
