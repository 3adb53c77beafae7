"""Signs that a folder of a table holds files of another table, whose catalog may be another one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.owned_files import own_folders
from sqlext.errors import SqlextError, UnsupportedError
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata, metadata_beginning
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import each_below
from sqlext.storage.location import is_below, join, metadata_location, same_place

_METADATA_FILE = re.compile(r"[^/]*\.metadata\.json(\.gz)?")
# Writers put the uuid among the first fields.
_HEAD_BYTES = 64 * 1024
_UUID = re.compile(rb'"table-uuid"\s*:\s*"([^"]*)"')


def folders_of_other_tables(table: LoadedTable, listed: Collection[str]) -> frozenset[str]:
    """The folders below those of `table` that have metadata files and are not its own metadata folder: each is that of
    another table or view, with everything in it. `listed` are the files below the table's folders."""
    own = {same_place(folder) for folder in _metadata_folders(table)}
    folders = {path.rpartition("/")[0] for path in listed if is_metadata_file(path)}
    return frozenset(folder.removesuffix("/metadata") for folder in folders if same_place(folder) not in own)


def unknown_metadata_files(io: FileIO, table: LoadedTable, listed: Collection[str], name: str) -> frozenset[str]:
    """The metadata files in the table's own metadata folder that do not tell whose they are, such as damaged ones.

    Raises UnsupportedError FOLDER_OF_TWO_TABLES if one is of another table.
    """
    own = {same_place(folder) for folder in _metadata_folders(table)}
    known = {same_place(one) for one in (table.metadata_location, *_log(table.metadata))}
    others = [
        path
        for path in listed
        if is_metadata_file(path) and same_place(path) not in known and same_place(path.rpartition("/")[0]) in own
    ]
    unknown = set()
    uuids = each_below(table.metadata.location)(lambda path: _table_uuid(io, path), others)
    for path, uuid in zip(others, uuids, strict=True):
        if uuid is None:
            unknown.add(path)
        elif uuid.lower() != table.metadata.table_uuid.lower():
            raise UnsupportedError("FOLDER_OF_TWO_TABLES", name=name, path=path)
    return frozenset(unknown)


def metadata_files_around(io: FileIO, table: LoadedTable, paths: Collection[str]) -> Iterator[str]:
    """The metadata files of folders between the table's own folders and `paths`, for a search that does not list
    these."""
    roots = [same_place(folder).rstrip("/") + "/" for folder in own_folders(table.metadata)]
    seen: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in seen and any((same_place(folder) + "/").startswith(root) for root in roots):
            seen.add(folder)
            yield from (one.path for one in io.list(join(folder, "metadata")) if is_metadata_file(one.path))
            folder = folder.rpartition("/")[0]


def is_metadata_file(path: str) -> bool:
    """Whether a file has the name of a metadata file of a table or view."""
    return _METADATA_FILE.fullmatch(path.rpartition("/")[2]) is not None


def is_in_one_of(folders: Collection[str], path: str) -> bool:
    return any(is_below(folder, path) for folder in folders)


def _metadata_folders(table: LoadedTable) -> Iterator[str]:
    yield join(table.metadata.location, "metadata")
    yield metadata_location(table.metadata)
    for path in (table.metadata_location, *_log(table.metadata)):
        yield path.rpartition("/")[0]


def _log(metadata: TableMetadata) -> Iterator[str]:
    return (entry.metadata_file for entry in metadata.metadata_log)


def _table_uuid(io: FileIO, path: str) -> str | None:
    """The uuid in a metadata file; None if it does not tell one, or is gone."""
    with suppress(SqlextError, FileNotFoundError):
        with io.open_input(path) as file:
            found = _UUID.search(metadata_beginning(file.read(_HEAD_BYTES), _HEAD_BYTES))
        return found[1].decode() if found is not None else decode_table_metadata(io.read(path), path).table_uuid
    return None
