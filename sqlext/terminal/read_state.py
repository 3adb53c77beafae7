"""A named table as its metadata tables read it."""

from __future__ import annotations

from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.terminal.named_catalog import NamedTable


def state_of(named: NamedTable) -> TableState:
    """The table at its version, with a cache of manifests of its own."""
    return TableState(named.io, named.metadata, named.table.metadata_location, named.snapshot, ManifestCache())
