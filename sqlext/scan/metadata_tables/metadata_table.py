"""What a metadata table is: a schema that the metadata alone gives, and rows."""

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
    """A table at one metadata file, which is at `location`, and one snapshot (None: it has none).

    Tables about the whole history pass over the snapshot.
    """

    io: FileIO
    metadata: TableMetadata
    location: str
    snapshot: Snapshot | None
    manifests: ManifestCache


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """`schema` needs no file of the table; the table of `rows` has exactly that schema."""

    schema: Callable[[TableMetadata], pa.Schema]
    rows: Callable[[TableState], pa.Table]


def fixed(schema: pa.Schema) -> Callable[[TableMetadata], pa.Schema]:
    """The schema of a metadata table that looks alike for every table."""
    return lambda metadata: schema
