"""All metadata tables, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlext.scan.metadata_tables.constraints import CONSTRAINTS
from sqlext.scan.metadata_tables.entries import ALL_ENTRIES, ENTRIES
from sqlext.scan.metadata_tables.files import (
    ALL_DATA_FILES,
    ALL_DELETE_FILES,
    ALL_FILES,
    DATA_FILES,
    DELETE_FILES,
    FILES,
)
from sqlext.scan.metadata_tables.health import HEALTH
from sqlext.scan.metadata_tables.history import HISTORY, METADATA_LOG_ENTRIES, REFS, SNAPSHOTS
from sqlext.scan.metadata_tables.manifests import ALL_MANIFESTS, MANIFESTS
from sqlext.scan.metadata_tables.metadata_table import MetadataTable
from sqlext.scan.metadata_tables.partitions import PARTITIONS
from sqlext.scan.metadata_tables.position_deletes import POSITION_DELETES

METADATA_TABLES: Mapping[str, MetadataTable] = MappingProxyType(
    {
        "snapshots": SNAPSHOTS,
        "history": HISTORY,
        "refs": REFS,
        "metadata_log_entries": METADATA_LOG_ENTRIES,
        "manifests": MANIFESTS,
        "all_manifests": ALL_MANIFESTS,
        "entries": ENTRIES,
        "all_entries": ALL_ENTRIES,
        "files": FILES,
        "data_files": DATA_FILES,
        "delete_files": DELETE_FILES,
        "all_files": ALL_FILES,
        "all_data_files": ALL_DATA_FILES,
        "all_delete_files": ALL_DELETE_FILES,
        "partitions": PARTITIONS,
        "position_deletes": POSITION_DELETES,
        "health": HEALTH,
        "constraints": CONSTRAINTS,
    }
)
