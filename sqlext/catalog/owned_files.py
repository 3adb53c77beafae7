"""Which files are a table's to delete, by PURGE, expiry of snapshots, and the removal of orphan files.

Metadata may have been written by anybody and may name any file. A file is deleted only in one of the table's folders,
within the catalog's locations, and in no other table's folder.
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
    """Deletes files of a table that was removed from its catalog, and its folder if then empty; ignores failures."""
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
    """The files that the metadata names, and stored changelogs, if they are the table's to delete.

    Files elsewhere are not, such as those added from another folder. `is_of_another` says whether a location, with
    links resolved, is in another table's folder.
    """
    owns = owned_by(metadata, allowed, is_of_another)
    log = [entry.metadata_file for entry in metadata.metadata_log]
    changelogs = [file.path for _, file in changelog_files(io, metadata)]
    for path in [
        *reachable_files(io, metadata),
        *changelogs,
        *metadata.statistics_files(),
        *log,
        current_metadata_file,
    ]:
        if owns(path):
            yield path


def owned_by(
    metadata: TableMetadata, allowed: AllowedLocations, is_of_another: Callable[[str], bool]
) -> Callable[[str], bool]:
    """A function: whether a file is the table's to delete, by its location.

    `is_of_another` is as in `owned_files`. A symbolic link in an own folder is the table's, and not what it leads to.
    """
    roots = [resolved(root) for root in own_folders(metadata)]
    known: dict[str, str | None] = {}

    def place_of(folder: str) -> str | None:
        """The folder with links resolved; None if files in it are not the catalog's to delete."""
        try:
            return resolved(folder) if allowed.owns(folder) else None
        except SqlextError:
            return None

    def owns(location: str) -> bool:
        folder, _, name = location.rpartition("/")
        if folder not in known:
            known[folder] = place_of(folder)
        place = known[folder]
        if place is None or name in ("", ".", ".."):
            return False
        file = f"{place}/{name}"
        return any(is_below(root, file) for root in roots) and not is_of_another(file)

    return owns


def in_any_folder(is_folder: Callable[[str], bool]) -> Callable[[str], bool]:
    """A function: whether a location is, at any depth, in a folder for which `is_folder` is true. Asks once per
    folder."""
    known: dict[str, bool] = {}

    def is_in(location: str) -> bool:
        folder = location.rpartition("/")[0]
        if folder not in known:
            known[folder] = bool(folder) and (is_folder(folder) or is_in(folder))
        return known[folder]

    return is_in


def folder_elsewhere(metadata: TableMetadata, allowed: AllowedLocations) -> str | None:
    """The first of the table's folders in which the catalog may not delete; None if there is none."""
    return next((folder for folder in own_folders(metadata) if not allowed.owns(folder)), None)


def own_folders(metadata: TableMetadata) -> tuple[str, ...]:
    """The table's location, and the data and metadata folders outside it that its properties name."""
    beside = (data_location(metadata), metadata_location(metadata))
    return (metadata.location, *(one for one in beside if not is_within(metadata.location, one)))
