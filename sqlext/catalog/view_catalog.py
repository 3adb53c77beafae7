"""What a catalog with views offers: names, and one compare-and-swap of a view's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.spec.metadata.view_metadata import ViewMetadata


@dataclass(frozen=True, slots=True)
class LoadedView:
    """A view at one version of its metadata, and the file that holds it."""

    identifier: TableIdentifier
    metadata: ViewMetadata
    metadata_location: str


class ViewCatalog(Protocol):
    """Views by name, in one space of names with the tables.

    A name that is not there is a `NotFoundError`, that of a table an `AnalysisError` EXPECT_VIEW_NOT_TABLE.
    """

    def load_view(self, identifier: TableIdentifier) -> LoadedView:
        """The current version. `CorruptionError` or `NotFoundError` FILE_NOT_FOUND for a damaged view."""

    def view_exists(self, identifier: TableIdentifier) -> bool:
        """Whether the name is that of a view."""

    def list_views(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        """The views directly in the namespace, sorted."""

    def default_view_location(self, identifier: TableIdentifier) -> str:
        """The folder of a view that is made."""

    def commit_view(self, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata) -> LoadedView:
        """Makes `updated` the view's metadata if `base` still is; without a base, makes the view.

        `CommitConflict`: `base` is no longer current. `AlreadyExistsError`: the name is taken. `CommitStateUnknown`: no
        answer, so either may have happened. Any other error: nothing was committed.
        """

    def drop_view(self, identifier: TableIdentifier) -> bool:
        """Removes the view; False if there is none."""
