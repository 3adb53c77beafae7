"""A metadata table: its schema by the table's metadata alone, and its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class TableState:
    """A table at the metadata file `location` and at one snapshot, None for an empty table.

    Metadata tables of the whole history ignore the snapshot.
    """

    io: FileIO
    metadata: TableMetadata
    location: str
    snapshot: Snapshot | None
    manifests: ManifestCache


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """`schema` reads no file of the table; the result of `rows` has exactly that schema."""

    schema: Callable[[TableMetadata], pa.Schema]
    rows: Callable[[TableState], pa.Table]


def fixed(schema: pa.Schema) -> Callable[[TableMetadata], pa.Schema]:
    """The `schema` function of a metadata table whose columns do not depend on the table."""
    return lambda metadata: schema
