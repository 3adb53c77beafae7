"""Full names of a catalog's objects for messages, and the errors about them that all catalogs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.catalog.identifier import Namespace, TableIdentifier, quoted
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    StorageError,
    UnsupportedError,
)


@dataclass(frozen=True, slots=True)
class CatalogNames:
    """Names and errors of one catalog; errors are returned, not raised."""

    catalog: str

    def table(self, identifier: TableIdentifier) -> str:
        """The full name of a table or view."""
        return quoted(self.catalog, *identifier.namespace, identifier.name)

    def namespace(self, namespace: Namespace) -> str:
        return quoted(self.catalog, *namespace)

    def not_found(self, identifier: TableIdentifier) -> NotFoundError:
        return NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=self.table(identifier))

    def taken(self, identifier: TableIdentifier) -> AlreadyExistsError:
        return AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=self.table(identifier))

    def is_view(self, identifier: TableIdentifier) -> AnalysisError:
        return AnalysisError("EXPECT_TABLE_NOT_VIEW", name=self.table(identifier))

    def is_table(self, identifier: TableIdentifier) -> AnalysisError:
        return AnalysisError("EXPECT_VIEW_NOT_TABLE", name=self.table(identifier))

    def namespace_not_found(self, namespace: Namespace) -> NotFoundError:
        return NotFoundError("SCHEMA_NOT_FOUND", name=self.namespace(namespace))

    def namespace_taken(self, namespace: Namespace) -> AlreadyExistsError:
        return AlreadyExistsError("SCHEMA_ALREADY_EXISTS", name=self.namespace(namespace))

    def namespace_is_table(self, namespace: Namespace) -> AlreadyExistsError:
        return AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=self.namespace(namespace))

    def namespace_not_empty(self, namespace: Namespace, held: Sequence[str]) -> AnalysisError:
        """`held`: what is, or may be, in the namespace."""
        holds = ", ".join(held[:5]) + (" and more" if len(held) > 5 else "")
        return AnalysisError("SCHEMA_NOT_EMPTY", name=self.namespace(namespace), holds=holds)

    def failure(self, reason: object) -> StorageError:
        return StorageError("CATALOG_FAILURE", name=self.catalog, reason=reason)

    def no_answer(self, name: str, reason: object) -> StorageError:
        """`name`: the object that the request was about."""
        return StorageError("CATALOG_NO_ANSWER", name=self.catalog, object=name, reason=reason)

    def unknown(self, identifier: TableIdentifier, reason: object) -> CommitStateUnknown:
        """A change of the table or view may have been made."""
        return CommitStateUnknown("CHANGE_STATE_UNKNOWN", name=self.table(identifier), reason=reason)

    def refused(self, identifier: TableIdentifier, reason: object, refusal: SqlextError) -> CommitStateUnknown:
        """The catalog refused the change, but an earlier delivery of the same request may have been made."""
        name = self.table(identifier)
        return CommitStateUnknown("CHANGE_STATE_UNKNOWN", refusal=refusal, name=name, reason=reason)

    def conflict(self, identifier: TableIdentifier, reason: str) -> CommitConflict:
        return CommitConflict("COMMIT_CONFLICT", name=self.table(identifier), reason=reason)

    def unsupported(self, operation: str, reason: str, way_out: str) -> UnsupportedError:
        """The error for an operation that this kind of catalog does not have."""
        return UnsupportedError(
            "UNSUPPORTED_CATALOG_OPERATION", operation=operation, catalog=self.catalog, reason=reason, way_out=way_out
        )
