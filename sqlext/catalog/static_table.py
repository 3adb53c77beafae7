"""Tables in no catalog, by their location."""

from __future__ import annotations

import re

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier, check_name
from sqlext.catalog.metadata_file import MetadataFolder
from sqlext.catalog.warehouse_commit import decoded_table
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import configured_location, join

_NUMBERED = re.compile(r"([0-9]+)-[^/]*(?:\.gz\.metadata\.json|\.metadata\.json(?:\.gz)?)")


def load_static_table(path: str, io: FolderIO) -> LoadedTable:
    """A table in no catalog, by its folder or one of its metadata files.

    In a folder the current version is that of Hadoop's layout (`version-hint.text`, `v<N>.metadata.json`), else the
    numbered file with the highest number (`00003-<uuid>.metadata.json`). Raises NotFoundError NO_TABLE_AT_LOCATION.
    """
    location = configured_location(path)
    if location.endswith((".metadata.json", ".metadata.json.gz")):
        metadata_file: str | None = location
        table = location.rpartition("/")[0].removesuffix("/metadata")
    else:
        table = location
        version = MetadataFolder(io, location).current()
        metadata_file = _newest_numbered(io, location) if version is None else version.location
    if metadata_file is None:
        raise NotFoundError("NO_TABLE_AT_LOCATION", location=path, reason="it holds no metadata file")
    try:
        data = io.read(metadata_file)
    except FileNotFoundError:
        raise NotFoundError("NO_TABLE_AT_LOCATION", location=path, reason="the file does not exist") from None
    return decoded_table(_path_identifier(table), data, metadata_file)


def _newest_numbered(io: FolderIO, table_location: str) -> str | None:
    found = [
        (int(match.group(1)), status.modified_ms, status.path)
        for status in io.list(join(table_location, "metadata"))
        if (match := _NUMBERED.fullmatch(status.path.rpartition("/")[2]))
    ]
    return max(found)[2] if found else None


def _path_identifier(table_location: str) -> TableIdentifier:
    name = table_location.rpartition("/")[2]
    try:
        check_name(name)
    except AnalysisError:
        name = "table"
    return TableIdentifier(("path",), name)
