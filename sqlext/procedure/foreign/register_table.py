"""register_table: a table of the catalog from an existing metadata file of another catalog, or of none."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.actions.registration import RegisterTable, shared_copy
from sqlext.errors import AlreadyExistsError, NotFoundError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import as_location, same_place

_SUFFIXES = (".metadata.json", ".metadata.json.gz")


def register_table(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the current snapshot, its number of rows and of data files.

    A catalog of folders takes metadata in the table's own folder as it is; of metadata elsewhere it makes a copy, which
    reads the other table's files and owns none of them. Other catalogs register the table where it is. Raises
    AlreadyExistsError; NotFoundError for a file that does not exist, the current manifest list included.
    """
    environment = invocation.environment
    parts = invocation.table_parts(invocation.arguments["table"])
    catalog = environment.catalogs.catalog(parts[0])
    identifier = TableIdentifier(parts[1:-1], parts[-1])
    if catalog.table_exists(identifier):
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=path_text(parts))
    metadata = _read(catalog.io, invocation.arguments["metadata_file"])
    if catalog.register_table(identifier, as_location(invocation.arguments["metadata_file"])) is not None:
        return _answer(metadata)
    location = catalog.default_table_location(identifier)
    if same_place(metadata.location) != same_place(location):
        table_uuid = str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
        metadata = shared_copy(metadata, location, table_uuid)
    environment.create(catalog, identifier, RegisterTable(metadata))
    return _answer(metadata)


def _answer(metadata: TableMetadata) -> Sequence[Sequence[Any]]:
    snapshot = metadata.current_snapshot()
    if snapshot is None:
        return [(None, None, None)]
    totals = (snapshot.summary.get(name, "") for name in ("total-records", "total-data-files"))
    return [(snapshot.snapshot_id, *(int(total) if total.isdecimal() else None for total in totals))]


def _read(io: FileIO, given: str) -> TableMetadata:
    location = as_location(given)
    if not location.endswith(_SUFFIXES):
        raise NotFoundError("NO_TABLE_AT_LOCATION", location=given, reason="it is no .metadata.json file")
    try:
        metadata = decode_table_metadata(io.read(location), location)
    except FileNotFoundError:
        raise NotFoundError("NO_TABLE_AT_LOCATION", location=given, reason="the file does not exist") from None
    snapshot = metadata.current_snapshot()
    if snapshot is not None:
        ManifestCache(0).manifests(io, snapshot)
    return metadata


REGISTER_TABLE = Procedure(
    "register_table",
    (Parameter("table", "string"), Parameter("metadata_file", "string")),
    (("current_snapshot_id", "long"), ("total_records_count", "long"), ("total_data_files_count", "long")),
    register_table,
)
