"""Views of a warehouse folder: each is a folder of metadata files, named and committed like a table's.

A name belongs to the table or view whose version 1 is created first. Iceberg's Hadoop catalog, which has no views,
lists a view's folder as a table that it cannot open, and creates no table there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.metadata_file import MetadataFolder, MetadataVersion, version_number
from sqlext.catalog.view_catalog import LoadedView
from sqlext.errors import (
    CommitConflict,
    SqlextError,
)
from sqlext.spec.metadata.view_metadata import (
    ViewMetadata,
    decode_view_metadata,
    encode_view_metadata,
    is_view_metadata,
)
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import join, same_place


class WarehouseViews:
    """The views of one warehouse catalog, which provides names and folders."""

    def __init__(
        self,
        names: CatalogNames,
        io: FolderIO,
        location: Callable[[TableIdentifier], str],
        folders: Callable[[Namespace], tuple[TableIdentifier, ...]],
        require_namespace: Callable[[Namespace], None],
    ) -> None:
        """`location` gives a name's folder, `folders` those of tables and views in a namespace.

        `require_namespace` raises for a missing namespace, or one that is a table.
        """
        self._names = names
        self._io = io
        self._location = location
        self._folders = folders
        self._require_namespace = require_namespace

    def load_view(self, identifier: TableIdentifier) -> LoadedView:
        version = self._folder(identifier).current()
        if version is None:
            raise self._names.not_found(identifier)
        try:
            data = self._io.read(version.location)
        except FileNotFoundError:
            raise self._names.not_found(identifier) from None
        if not is_view_metadata(data):
            raise self._names.is_table(identifier)
        return LoadedView(identifier, decode_view_metadata(data, version.location), version.location)

    def view_exists(self, identifier: TableIdentifier) -> bool:
        return self._folder(identifier).holds_view()

    def list_views(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        return tuple(identifier for identifier in self._folders(namespace) if self.view_exists(identifier))

    def default_view_location(self, identifier: TableIdentifier) -> str:
        return self._location(identifier)

    def commit_view(self, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata) -> LoadedView:
        folder = self._folder(identifier)
        if base is None:
            version = self._create(identifier, folder, updated)
        else:
            version = self._written(
                identifier, folder, _number(base) + 1, updated, lambda: self._require_same_view(identifier, base)
            )
        folder.advance_hint(version)
        return LoadedView(identifier, updated, version.location)

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: ViewMetadata) -> LoadedView:
        folder, number = self._folder(identifier), version_number(damaged)
        if number is None or same_place(damaged) != same_place(join(folder.location, damaged.rpartition("/")[2])):
            raise self._names.conflict(identifier, f"{damaged} is no version of it")
        version = self._written(identifier, folder, number + 1, metadata)
        folder.advance_hint(version)
        return LoadedView(identifier, metadata, version.location)

    def drop_view(self, identifier: TableIdentifier) -> bool:
        if not self._folder(identifier).holds_metadata():
            return False
        self.load_view(identifier)
        try:
            self._io.delete_folder(self._location(identifier))
        except FileNotFoundError:
            return False
        return True

    def _create(self, identifier: TableIdentifier, folder: MetadataFolder, updated: ViewMetadata) -> MetadataVersion:
        exists = self._names.taken(identifier)
        self._require_namespace(identifier.namespace)
        if folder.holds_metadata():
            raise exists
        try:
            return self._written(identifier, folder, 1, updated)
        except CommitConflict:
            raise exists from None

    def _written(
        self,
        identifier: TableIdentifier,
        folder: MetadataFolder,
        number: int,
        metadata: ViewMetadata,
        confirm: Callable[[], None] | None = None,
    ) -> MetadataVersion:
        try:
            return folder.create(number, encode_view_metadata(metadata), compressed=False, confirm=confirm)
        except FileNotFoundError:
            raise self._names.not_found(identifier) from None
        except SqlextError:
            raise
        except Exception as error:
            raise self._names.unknown(identifier, str(error) or type(error).__name__) from error

    def _require_same_view(self, identifier: TableIdentifier, base: LoadedView) -> None:
        """Raises unless the base file exists and is this view's: a recreated one counts from 1 again."""
        try:
            data = self._io.read(base.metadata_location)
        except FileNotFoundError:
            raise self._names.not_found(identifier) from None
        uuid = base.metadata.view_uuid.encode("ascii")
        if re.search(rb'"view-uuid"\s*:\s*"' + re.escape(uuid) + b'"', data) is None:
            reason = "the view was dropped and made anew"
            raise self._names.conflict(identifier, reason)

    def _folder(self, identifier: TableIdentifier) -> MetadataFolder:
        return MetadataFolder(self._io, self._location(identifier))


def _number(view: LoadedView) -> int:
    number = version_number(view.metadata_location)
    if number is None:
        raise ValueError(f"{view.metadata_location} is no metadata file of a warehouse folder")
    return number
