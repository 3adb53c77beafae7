"""Which files go with a table when it is purged: those that its metadata names, in the folders that are its own.

A table's metadata may have been written by somebody else, and it may name any file. So its word alone takes none away:
a file has to be in one of the table's folders, these in the places of the catalog, and in no other table's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from sqlext.catalog.changelog_files import changelog_files
from sqlext.catalog.reachable_files import reachable_files
from sqlext.errors import SqlextError
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.allowed_locations import AllowedLocations, is_within, resolved
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import data_location, is_below, metadata_location


def purge(io: FolderIO, files: tuple[str, ...], folder: str) -> None:
    """Deletes files of a table that has left its catalog, and its folder if that is empty then; what cannot be deleted
    stays."""
    for path in files:
        with suppress(SqlextError, OSError):
            io.delete(path)
    with suppress(SqlextError, OSError):
        io.delete_empty_folder(folder)


def owned_files(
    io: FolderIO,
    metadata: TableMetadata,
    current_metadata_file: str,
    allowed: AllowedLocations,
    is_of_another: Callable[[str], bool],
) -> Iterator[str]:
    """The files that the table's metadata names, and its stored changelogs, so far as they are the table's to delete.

    Files elsewhere, such as those that were added from another folder, are not. `is_of_another` says whether a
    location, with links resolved, lies in the folder of some other table.
    """
    statistics = [str(one["statistics-path"]) for one in (*metadata.statistics, *metadata.partition_statistics)]
    log = [entry.metadata_file for entry in metadata.metadata_log]
    roots = [resolved(root) for root in own_folders(metadata)]
    changelogs = [file.path for _, file in changelog_files(io, metadata)]
    for path in [*reachable_files(io, metadata), *changelogs, *statistics, *log, current_metadata_file]:
        if allowed.owns(path):
            place = resolved(path)
            if any(is_below(root, place) for root in roots) and not is_of_another(place):
                yield path


def lies_in(is_folder: Callable[[str], bool]) -> Callable[[str], bool]:
    """Whether a location lies, at any depth, in a folder of which `is_folder` says yes. Each is asked about once."""
    known: dict[str, bool] = {}

    def is_in(location: str) -> bool:
        folder = location.rpartition("/")[0]
        if folder not in known:
            known[folder] = bool(folder) and (is_folder(folder) or is_in(folder))
        return known[folder]

    return is_in


def folder_elsewhere(metadata: TableMetadata, allowed: AllowedLocations) -> str | None:
    """The first folder of the table's files in which the catalog may delete nothing."""
    return next((folder for folder in own_folders(metadata) if not allowed.owns(folder)), None)


def own_folders(metadata: TableMetadata) -> tuple[str, ...]:
    """Where the table's own files are: its folder, and those beside it that its properties name."""
    beside = (data_location(metadata), metadata_location(metadata))
    return (metadata.location, *(one for one in beside if not is_within(metadata.location, one)))
