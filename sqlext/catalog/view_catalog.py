"""The interface of a catalog's views: names, and a compare-and-swap of each view's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.spec.metadata.view_metadata import ViewMetadata


@dataclass(frozen=True, slots=True)
class LoadedView:
    """One version of a view: its metadata and the location of the metadata file."""

    identifier: TableIdentifier
    metadata: ViewMetadata
    metadata_location: str


class ViewCatalog(Protocol):
    """Views by name; tables and views share names.

    Raises NotFoundError for a missing name, AnalysisError EXPECT_VIEW_NOT_TABLE for that of a table.
    """

    def load_view(self, identifier: TableIdentifier) -> LoadedView:
        """The current version. Raises CorruptionError or NotFoundError FILE_NOT_FOUND for a damaged view."""

    def view_exists(self, identifier: TableIdentifier) -> bool:
        """Whether a view has the name."""

    def list_views(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        """The views directly in the namespace, sorted."""

    def default_view_location(self, identifier: TableIdentifier) -> str:
        """The folder of a view that is created."""

    def commit_view(self, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata) -> LoadedView:
        """Replaces the view's metadata by `updated` if `base` is current; creates the view if `base` is None.

        Raises CommitConflict if `base` is not current, AlreadyExistsError if the name is taken, and CommitStateUnknown
        if there is no answer, so that the change may have been made. After any other error it was not made.
        """

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: ViewMetadata) -> LoadedView:
        """Makes `metadata` the current version of a view whose current metadata file, at `damaged`, cannot be read.

        The file stays. Raises CommitConflict if another file is the current one, UnsupportedError if the catalog does
        not let its clients write metadata files, and in a transaction.
        """

    def drop_view(self, identifier: TableIdentifier) -> bool:
        """Removes the view; False if it does not exist."""
