"""files, data_files and delete_files of a snapshot, and with the prefix `all_` of all snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState
from sqlext.scan.metadata_tables.partition_struct import partition_fields, partition_type, partition_values
from sqlext.scan.metadata_tables.readable_metrics import readable_metrics, readable_metrics_type
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata

_ROWS_AT_A_TIME = 1_000


def file_fields(metadata: TableMetadata) -> list[pa.Field]:
    """The columns of a content file without readable metrics."""
    counts = pa.map_(pa.int32(), pa.field("value", pa.int64(), nullable=False))
    bounds = pa.map_(pa.int32(), pa.field("value", pa.binary(), nullable=False))
    partition = partition_fields(metadata)
    return [
        pa.field("content", pa.int32()),
        pa.field("file_path", pa.string(), nullable=False),
        pa.field("file_format", pa.string(), nullable=False),
        pa.field("spec_id", pa.int32()),
        *([pa.field("partition", partition_type(partition), nullable=False)] if partition else []),
        pa.field("record_count", pa.int64(), nullable=False),
        pa.field("file_size_in_bytes", pa.int64(), nullable=False),
        pa.field("column_sizes", counts),
        pa.field("value_counts", counts),
        pa.field("null_value_counts", counts),
        pa.field("nan_value_counts", counts),
        pa.field("lower_bounds", bounds),
        pa.field("upper_bounds", bounds),
        pa.field("key_metadata", pa.binary()),
        pa.field("split_offsets", pa.list_(pa.field("element", pa.int64(), nullable=False))),
        pa.field("equality_ids", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("sort_order_id", pa.int32()),
        pa.field("first_row_id", pa.int64()),
        pa.field("referenced_data_file", pa.string()),
        pa.field("content_offset", pa.int64()),
        pa.field("content_size_in_bytes", pa.int64()),
    ]


def files_schema(metadata: TableMetadata) -> pa.Schema:
    """The columns of a content file with readable metrics."""
    return pa.schema([*file_fields(metadata), pa.field("readable_metrics", readable_metrics_type(metadata))])


def file_rows(metadata: TableMetadata) -> Callable[[ContentFile], dict[str, Any]]:
    """A function that gives a file's values of `file_fields`."""
    names = [field.name for field in file_fields(metadata) if field.name != "partition"]
    partition = partition_values(metadata)

    def row(file: ContentFile) -> dict[str, Any]:
        return {"partition": partition(file), **{name: _plain(getattr(file, name)) for name in names}}

    return row


def listed_manifests(state: TableState) -> tuple[ManifestFile, ...]:
    """The manifests of the state's snapshot."""
    return state.manifests.manifests(state.io, state.snapshot) if state.snapshot else ()


def all_manifests(state: TableState) -> tuple[ManifestFile, ...]:
    """The manifests of all snapshots, each path once."""
    found: dict[str, ManifestFile] = {}
    for snapshot in state.metadata.snapshots:
        for manifest in state.manifests.manifests(state.io, snapshot):
            found.setdefault(manifest.path, manifest)
    return tuple(found.values())


Listing = Callable[[TableState], tuple[ManifestFile, ...]]


def entries_of(state: TableState, listing: Listing, contents: Iterable[ManifestContent]) -> Iterator[ManifestEntry]:
    """All entries, also those of status DELETED, of the listed manifests with one of `contents`."""
    wanted = frozenset(contents)
    listed = [manifest for manifest in listing(state) if manifest.content in wanted]
    return state.manifests.entries_of(state.io, listed, state.metadata)


def table_of(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """The rows as Arrow, converted in small batches since Python objects take much more memory."""
    batches = []
    while some := list(islice(rows, _ROWS_AT_A_TIME)):
        batches.append(pa.RecordBatch.from_pylist(some, schema))
    return pa.Table.from_batches(batches, schema)


def _files_of(listing: Listing, contents: Iterable[ManifestContent]) -> MetadataTable:
    def rows(state: TableState) -> pa.Table:
        row, metrics = file_rows(state.metadata), readable_metrics(state.metadata)
        files = (entry.file for entry in entries_of(state, listing, contents) if entry.is_live)
        listed = ({**row(file), "readable_metrics": metrics(file)} for file in files)
        return table_of(listed, files_schema(state.metadata))

    return MetadataTable(files_schema, rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Content):
        return int(value)
    return list(value.items()) if isinstance(value, Mapping) else value


FILES = _files_of(listed_manifests, ManifestContent)
DATA_FILES = _files_of(listed_manifests, [ManifestContent.DATA])
DELETE_FILES = _files_of(listed_manifests, [ManifestContent.DELETES])
ALL_FILES = _files_of(all_manifests, ManifestContent)
ALL_DATA_FILES = _files_of(all_manifests, [ManifestContent.DATA])
ALL_DELETE_FILES = _files_of(all_manifests, [ManifestContent.DELETES])
