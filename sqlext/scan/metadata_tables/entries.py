"""entries and all_entries: manifest entries, also those of status DELETED."""

from __future__ import annotations

import pyarrow as pa

from sqlext.scan.metadata_tables.files import (
    Listing,
    all_manifests,
    entries_of,
    file_fields,
    file_rows,
    listed_manifests,
    table_of,
)
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState
from sqlext.scan.metadata_tables.readable_metrics import readable_metrics, readable_metrics_type
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.table_metadata import TableMetadata


def _schema(metadata: TableMetadata) -> pa.Schema:
    return pa.schema(
        [
            pa.field("status", pa.int32(), nullable=False),
            pa.field("snapshot_id", pa.int64()),
            pa.field("sequence_number", pa.int64()),
            pa.field("file_sequence_number", pa.int64()),
            pa.field("data_file", pa.struct(file_fields(metadata)), nullable=False),
            pa.field("readable_metrics", readable_metrics_type(metadata)),
        ]
    )


def _entries_of(listing: Listing) -> MetadataTable:
    def rows(state: TableState) -> pa.Table:
        row, metrics = file_rows(state.metadata), readable_metrics(state.metadata)
        listed = (
            {
                "status": int(entry.status),
                "snapshot_id": entry.snapshot_id,
                "sequence_number": entry.sequence_number,
                "file_sequence_number": entry.file_sequence_number,
                "data_file": row(entry.file),
                "readable_metrics": metrics(entry.file),
            }
            for entry in entries_of(state, listing, ManifestContent)
        )
        return table_of(listed, _schema(state.metadata))

    return MetadataTable(_schema, rows)


ENTRIES = _entries_of(listed_manifests)
ALL_ENTRIES = _entries_of(all_manifests)
