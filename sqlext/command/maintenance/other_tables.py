"""Signs that a folder of a table holds files of another table, whose catalog may be another one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlext.catalog.catalog import LoadedTable
from sqlext.errors import UnsupportedError
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import is_below, join, metadata_location, same_place

_METADATA_FILE = re.compile(r"[^/]*\.metadata\.json(\.gz)?")
# Writers put the uuid among the first fields.
_HEAD_BYTES = 4096
_UUID = re.compile(rb'"table-uuid"\s*:\s*"([^"]*)"')


def folders_of_other_tables(table: LoadedTable, listed: Collection[str]) -> frozenset[str]:
    """The folders below those of `table` that have metadata files and are not its own metadata folder: each is that of
    another table or view, with everything in it. `listed` are the files below the table's folders."""
    own = {same_place(folder) for folder in _metadata_folders(table)}
    folders = {path.rpartition("/")[0] for path in listed if is_metadata_file(path)}
    return frozenset(folder.removesuffix("/metadata") for folder in folders if same_place(folder) not in own)


def require_sole_table(io: FileIO, table: LoadedTable, listed: Collection[str], name: str) -> None:
    """Raises UnsupportedError FOLDER_OF_TWO_TABLES if a metadata file in the table's own metadata folder is of another
    table, and as `decode_table_metadata` for one that does not tell."""
    metadata = table.metadata
    own = {same_place(folder) for folder in _metadata_folders(table)}
    known = {same_place(one) for one in (table.metadata_location, *_log(metadata))}
    for path in listed:
        if not is_metadata_file(path) or same_place(path) in known or same_place(path.rpartition("/")[0]) not in own:
            continue
        uuid = _table_uuid(io, path)
        if uuid is not None and uuid.lower() != metadata.table_uuid.lower():
            raise UnsupportedError("FOLDER_OF_TWO_TABLES", name=name, path=path)


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
    """The uuid in a metadata file; None if the file is gone."""
    try:
        with io.open_input(path) as file:
            found = _UUID.search(file.read(_HEAD_BYTES))
        if found is not None:
            return found[1].decode()
        return decode_table_metadata(io.read(path), path).table_uuid
    except FileNotFoundError:
        return None
