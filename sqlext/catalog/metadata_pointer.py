"""Metadata files of catalogs that keep a pointer to the current one: their names, and what a commit writes and leaves.

A file is `metadata/<number>-<uuid>.metadata.json`, as Iceberg's own catalogs of this kind name them. No name is used
twice, so a file that lost its race can be deleted, and one that may have won it is left alone.
"""

from __future__ import annotations

import gzip
import re
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress

from sqlext.catalog.decoded_metadata import DecodedMetadata
from sqlext.errors import SqlextError, StorageError
from sqlext.properties import (
    METADATA_COMPRESSION,
    METADATA_DELETE_AFTER_COMMIT,
    METADATA_PREVIOUS_VERSIONS_MAX,
)
from sqlext.spec.metadata.metadata_update import with_metadata_log
from sqlext.spec.metadata.table_metadata import TableMetadata, encode_table_metadata
from sqlext.spec.metadata.view_metadata import ViewMetadata, encode_view_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join, metadata_location, same_place

_NUMBERED = re.compile(r"v?([0-9]{1,18})(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")


class MetadataFiles:
    """Writes and deletes metadata files; `new_uuid` is where their names come from."""

    def __init__(self, io: FileIO, new_uuid: Callable[[], uuid.UUID]) -> None:
        self._io = io
        self._new_uuid = new_uuid
        self._decoded = DecodedMetadata()

    def read_table(self, location: str) -> TableMetadata:
        """The metadata in a file. `FileNotFoundError`; errors as `decode_table_metadata`."""
        return self._decoded.of(self._io.read(location), location)

    def write_table(self, metadata: TableMetadata, previous: str | None) -> str:
        """The location of a new file; `previous` is that of the version it follows. `StorageError`."""
        compressed = METADATA_COMPRESSION.of(metadata.properties) == "gzip"
        data = encode_table_metadata(metadata)
        suffix = ".gz.metadata.json" if compressed else ".metadata.json"
        location = self._new_location(metadata_location(metadata), previous, suffix)
        self._create(location, gzip.compress(data, mtime=0) if compressed else data)
        self._decoded.keep(data, location, metadata)
        return location

    def write_view(self, metadata: ViewMetadata, previous: str | None) -> str:
        """As `write_table`."""
        location = self._new_location(join(metadata.location, "metadata"), previous, ".metadata.json")
        self._create(location, encode_view_metadata(metadata))
        return location

    def discard(self, location: str) -> None:
        """Deletes a file that lost its race; a failure leaves litter that nothing reads."""
        with suppress(SqlextError, OSError):
            self._io.delete(location)

    def trim(self, before: TableMetadata, after: TableMetadata, pointers: Sequence[str]) -> None:
        """Deletes files that have left the log, where the table asks for that; what fails is litter.

        The log may name any file. What goes has the name of a metadata file, and lies in the folder of one that the
        catalog's pointer has led to just now.
        """
        if not METADATA_DELETE_AFTER_COMMIT.of(after.properties):
            return
        kept = {entry.metadata_file for entry in after.metadata_log}
        folders = {same_place(_folder(pointer)) for pointer in pointers}
        for path in (entry.metadata_file for entry in before.metadata_log):
            if path not in kept and metadata_number(path) >= 0 and same_place(_folder(path)) in folders:
                self.discard(path)

    def _new_location(self, folder: str, previous: str | None, suffix: str) -> str:
        number = 0 if previous is None else metadata_number(previous) + 1
        return join(folder, f"{number:05d}-{self._new_uuid()}{suffix}")

    def _create(self, location: str, data: bytes) -> None:
        try:
            self._io.create(location, data)
        except SqlextError:
            raise
        except Exception as error:
            # The file may be there, but no pointer names it: nothing was committed.
            reason = str(error) or type(error).__name__
            raise StorageError("STORAGE_FAILURE", operation="Writing", path=location, reason=reason) from error


def logged(updated: TableMetadata, previous: TableMetadata, previous_location: str) -> TableMetadata:
    """`updated` with the version before it in its metadata log."""
    most = METADATA_PREVIOUS_VERSIONS_MAX.of(updated.properties)
    return with_metadata_log(updated, previous_location, previous.last_updated_ms, most)


def _folder(location: str) -> str:
    return location.rpartition("/")[0]


def metadata_number(location: str) -> int:
    """The number in the name of a metadata file; -1 where it has none."""
    match = _NUMBERED.fullmatch(location.rpartition("/")[2])
    return -1 if match is None else int(match.group(1))
