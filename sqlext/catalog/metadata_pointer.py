"""Metadata files of catalogs that store a pointer to the current one: names, writes and deletions.

A file is `metadata/<number>-<uuid>.metadata.json`, as in Iceberg's catalogs of this kind. Names are never reused, so a
file that lost its race can be deleted; one that may have won must stay.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from sqlext.catalog.decoded_metadata import DecodedMetadata
from sqlext.errors import SqlextError, StorageError
from sqlext.properties import (
    METADATA_COMPRESSION,
    METADATA_DELETE_AFTER_COMMIT,
    METADATA_PREVIOUS_VERSIONS_MAX,
    looks_after_itself,
)
from sqlext.spec.metadata.metadata_update import with_metadata_log
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.metadata.view_metadata import ViewMetadata, encode_view_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join, metadata_location, same_place

# What the metadata files of a table that looks after itself may take, by the text of their snapshots.
_LOG_BYTES, _SNAPSHOT_BYTES = 8 * 1024 * 1024, 700
# Transactions look for the versions of a time in the past, and lost answers for a commit's, in the log.
_FEWEST_VERSIONS = 10
_NUMBERED = re.compile(r"v?([0-9]{1,18})(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")


class MetadataFiles:
    """Writes and deletes metadata files; their names use `new_uuid`."""

    def __init__(self, io: FileIO, new_uuid: Callable[[], uuid.UUID]) -> None:
        self._io = io
        self._new_uuid = new_uuid
        self._decoded = DecodedMetadata()

    def read_table(self, location: str) -> TableMetadata:
        """The metadata in a file. Raises FileNotFoundError, and as `decode_table_metadata`."""
        return self._decoded.of(self._io.read(location), location)

    def write_table(self, metadata: TableMetadata, previous: str | None) -> str:
        """Writes a file and returns its location; `previous` is that of the version before. Raises StorageError."""
        compressed = METADATA_COMPRESSION.of(metadata.properties) == "gzip"
        suffix = ".gz.metadata.json" if compressed else ".metadata.json"
        location = self._new_location(metadata_location(metadata), previous, suffix)
        data = self._decoded.encode(metadata, location, compressed=compressed)
        self._create(location, data)
        self._decoded.keep(data, location, metadata)
        return location

    def write_view(self, metadata: ViewMetadata, previous: str | None) -> str:
        """As `write_table`."""
        location = self._new_location(join(metadata.location, "metadata"), previous, ".metadata.json")
        self._create(location, encode_view_metadata(metadata))
        return location

    def discard(self, location: str) -> None:
        """Deletes a file that lost its race; a failure leaves an orphan."""
        with suppress(SqlextError, OSError):
            self._io.delete(location)

    def trim(self, before: TableMetadata, after: TableMetadata, pointers: Sequence[str]) -> None:
        """Deletes files that left the metadata log, if the table's properties ask for it; failures leave orphans.

        The log may name any file. Only one with a metadata file's name is deleted, in the folder of a file that the
        catalog's pointer has just led to.
        """
        if not deletes_old_metadata(after.properties):
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
            # The file may exist, but no pointer names it: nothing was committed.
            reason = str(error) or type(error).__name__
            raise StorageError("STORAGE_FAILURE", operation="Writing", path=location, reason=reason) from error


def logged(updated: TableMetadata, previous: TableMetadata, previous_location: str) -> TableMetadata:
    """`updated` with the previous version in its metadata log."""
    return with_metadata_log(updated, previous_location, previous.last_updated_ms, versions_kept(updated))


def versions_kept(metadata: TableMetadata) -> int:
    """The most previous versions in the metadata log.

    A table that looks after itself, and does not set the number, has fewer if many snapshots make each file large.
    """
    most = METADATA_PREVIOUS_VERSIONS_MAX.of(metadata.properties)
    if METADATA_PREVIOUS_VERSIONS_MAX.name in metadata.properties or not looks_after_itself(metadata.properties):
        return most
    fitting = _LOG_BYTES // (_SNAPSHOT_BYTES * max(1, len(metadata.snapshots)))
    return min(most, max(_FEWEST_VERSIONS, fitting))


def deletes_old_metadata(properties: Mapping[str, str]) -> bool:
    """Whether metadata files that have left the metadata log are deleted."""
    if METADATA_DELETE_AFTER_COMMIT.name in properties:
        return METADATA_DELETE_AFTER_COMMIT.of(properties)
    return looks_after_itself(properties)


def _folder(location: str) -> str:
    return location.rpartition("/")[0]


def metadata_number(location: str) -> int:
    """The number in a metadata file's name; -1 if it has none."""
    match = _NUMBERED.fullmatch(location.rpartition("/")[2])
    return -1 if match is None else int(match.group(1))
