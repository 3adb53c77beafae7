"""Views of a SQL catalog: rows of kind VIEW in the table of tables, so that a name is either."""

from __future__ import annotations

from collections.abc import Callable

from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.metadata_pointer import MetadataFiles
from sqlext.catalog.sql.database import DuplicateKey, answered
from sqlext.catalog.sql.records import VIEW, CatalogRecords, Record
from sqlext.catalog.view_catalog import LoadedView
from sqlext.errors import (
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
)
from sqlext.spec.metadata.view_metadata import ViewMetadata, decode_view_metadata
from sqlext.storage.file_io import FolderIO


class SqlViews:
    """The views of one SQL catalog, which provides namespaces and locations."""

    def __init__(
        self,
        names: CatalogNames,
        io: FolderIO,
        records: CatalogRecords,
        files: MetadataFiles,
        location: Callable[[TableIdentifier], str],
        require_namespace: Callable[[Namespace], None],
    ) -> None:
        self._names = names
        self._io = io
        self._records = records
        self._files = files
        self._location = location
        self._require_namespace = require_namespace

    def load_view(self, identifier: TableIdentifier) -> LoadedView:
        location = self._required(identifier).metadata_location
        try:
            return LoadedView(identifier, decode_view_metadata(self._io.read(location), location), location)
        except FileNotFoundError:
            raise NotFoundError("FILE_NOT_FOUND", path=location, kind="view metadata") from None

    def view_exists(self, identifier: TableIdentifier) -> bool:
        record = self._records.find(identifier)
        return record is not None and record.kind == VIEW

    def list_views(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        self._require_namespace(namespace)
        return tuple(TableIdentifier(namespace, name) for name in self._records.names(namespace, VIEW))

    def default_view_location(self, identifier: TableIdentifier) -> str:
        return self._location(identifier)

    def commit_view(self, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata) -> LoadedView:
        if base is None:
            self._require_namespace(identifier.namespace)
        previous = None if base is None else base.metadata_location
        location = self._files.write_view(updated, previous)
        after = Record(VIEW, location)
        try:
            with answered(self._names.table(identifier)):
                if previous is None:
                    self._records.insert(identifier, after)
                elif not self._records.swap(identifier, Record(VIEW, previous), after):
                    reason = "another writer has changed the view"
                    raise self._names.conflict(identifier, reason)
        except DuplicateKey:
            self._files.discard(location)
            raise self._names.taken(identifier) from None
        except CommitStateUnknown:
            raise
        except SqlextError as refused:
            self._files.discard(location)
            if refused.condition == "COMMIT_CONFLICT":
                self._required(identifier)
            raise
        return LoadedView(identifier, updated, location)

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: ViewMetadata) -> LoadedView:
        return self.commit_view(identifier, LoadedView(identifier, metadata, damaged), metadata)

    def drop_view(self, identifier: TableIdentifier) -> bool:
        """Metadata files stay, as for DROP TABLE without PURGE."""
        while self._records.find(identifier) is not None:
            with answered(self._names.table(identifier)):
                if self._records.delete(identifier, self._required(identifier)):
                    return True
        return False

    def _required(self, identifier: TableIdentifier) -> Record:
        record = self._records.find(identifier)
        if record is None:
            raise self._names.not_found(identifier)
        if record.kind != VIEW:
            raise self._names.is_table(identifier)
        return record
