"""The names of what is in a catalog, as messages have them, and the errors of every kind of catalog about them."""

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
    """The errors are made, not raised."""

    catalog: str

    def table(self, identifier: TableIdentifier) -> str:
        """Of a table or a view."""
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
        """`held`: what is in it, or might be."""
        holds = ", ".join(held[:5]) + (" and more" if len(held) > 5 else "")
        return AnalysisError("SCHEMA_NOT_EMPTY", name=self.namespace(namespace), holds=holds)

    def failure(self, reason: object) -> StorageError:
        return StorageError("CATALOG_FAILURE", name=self.catalog, reason=reason)

    def no_answer(self, name: str, reason: object) -> StorageError:
        """`name`: what the catalog was asked about."""
        return StorageError("CATALOG_NO_ANSWER", name=self.catalog, object=name, reason=reason)

    def unknown(self, identifier: TableIdentifier, reason: object) -> CommitStateUnknown:
        """A change of that table or view which may have happened."""
        return CommitStateUnknown("CHANGE_STATE_UNKNOWN", name=self.table(identifier), reason=reason)

    def refused(self, identifier: TableIdentifier, reason: object, refusal: SqlextError) -> CommitStateUnknown:
        """A change which the catalog has refused, and which may have happened, as it may have been delivered twice."""
        name = self.table(identifier)
        return CommitStateUnknown("CHANGE_STATE_UNKNOWN", refusal=refusal, name=name, reason=reason)

    def conflict(self, identifier: TableIdentifier, reason: str) -> CommitConflict:
        return CommitConflict("COMMIT_CONFLICT", name=self.table(identifier), reason=reason)

    def unsupported(self, operation: str, reason: str, way_out: str) -> UnsupportedError:
        """Of an operation that this kind of catalog does not have."""
        return UnsupportedError(
            "UNSUPPORTED_CATALOG_OPERATION", operation=operation, catalog=self.catalog, reason=reason, way_out=way_out
        )
