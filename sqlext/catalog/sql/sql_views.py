"""Views of a SQL catalog: rows of the kind VIEW among those of the tables, so a name is one or the other."""

from __future__ import annotations

from collections.abc import Callable

from sqlext.catalog.identifier import Namespace, TableIdentifier, quoted
from sqlext.catalog.metadata_pointer import MetadataFiles
from sqlext.catalog.sql.database import DuplicateKey, answered
from sqlext.catalog.sql.records import VIEW, CatalogRecords, Record
from sqlext.catalog.view_catalog import LoadedView
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
)
from sqlext.spec.view_metadata import ViewMetadata, decode_view_metadata
from sqlext.storage.file_io import FolderIO


class SqlViews:
    """The views of one SQL catalog; what it knows of namespaces and locations comes from there."""

    def __init__(
        self,
        catalog_name: str,
        io: FolderIO,
        records: CatalogRecords,
        files: MetadataFiles,
        location: Callable[[TableIdentifier], str],
        require_namespace: Callable[[Namespace], None],
    ) -> None:
        self._catalog_name = catalog_name
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
            with answered(self._qualified(identifier)):
                if previous is None:
                    self._records.insert(identifier, after)
                elif not self._records.swap(identifier, Record(VIEW, previous), after):
                    reason = "another writer has changed the view"
                    raise CommitConflict("COMMIT_CONFLICT", name=self._qualified(identifier), reason=reason)
        except DuplicateKey:
            self._files.discard(location)
            raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=self._qualified(identifier)) from None
        except CommitStateUnknown:
            raise
        except SqlextError as refused:
            self._files.discard(location)
            if refused.condition == "COMMIT_CONFLICT":
                self._required(identifier)
            raise
        return LoadedView(identifier, updated, location)

    def drop_view(self, identifier: TableIdentifier) -> bool:
        """Its metadata files stay, as those of a table that is dropped without PURGE."""
        while self._records.find(identifier) is not None:
            with answered(self._qualified(identifier)):
                if self._records.delete(identifier, self._required(identifier)):
                    return True
        return False

    def _required(self, identifier: TableIdentifier) -> Record:
        record = self._records.find(identifier)
        if record is None:
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=self._qualified(identifier))
        if record.kind != VIEW:
            raise AnalysisError("EXPECT_VIEW_NOT_TABLE", name=self._qualified(identifier))
        return record

    def _qualified(self, identifier: TableIdentifier) -> str:
        return quoted(self._catalog_name, *identifier.namespace, identifier.name)
