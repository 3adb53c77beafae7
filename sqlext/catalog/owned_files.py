"""The files that go with a table when it is purged: those that its metadata names, in the folders that are its own."""

from __future__ import annotations

from contextlib import suppress

from sqlext.catalog.reachable_files import reachable_files
from sqlext.errors import SqlextError
from sqlext.spec.table_metadata import TableMetadata
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import data_location, is_below, metadata_location


def purge(io: FolderIO, metadata: TableMetadata, current_metadata_file: str) -> None:
    """Deletes the files of a table that has left its catalog; what cannot be deleted stays.

    Files elsewhere, such as those that were added from another folder, are not the table's to delete.
    """
    roots = (metadata.location, data_location(metadata), metadata_location(metadata))
    statistics = [str(one["statistics-path"]) for one in (*metadata.statistics, *metadata.partition_statistics)]
    log = [entry.metadata_file for entry in metadata.metadata_log]
    for path in [*reachable_files(io, metadata), *statistics, *log, current_metadata_file]:
        if any(is_below(root, path) for root in roots):
            with suppress(SqlextError, OSError):
                io.delete(path)
    with suppress(SqlextError, OSError):
        io.delete_empty_folder(metadata.location)
