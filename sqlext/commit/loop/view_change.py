"""The commit of a view: a function of its metadata, applied again to newer metadata after a lost race."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.view_catalog import LoadedView, ViewCatalog
from sqlext.commit.loop.pace import RetryPace
from sqlext.errors import AlreadyExistsError, CommitConflict, CommitStateUnknown, NotFoundError, StorageError
from sqlext.spec.metadata.view_metadata import ViewMetadata


def commit_view(
    catalog: Catalog,
    identifier: TableIdentifier,
    change: Callable[[ViewMetadata | None], ViewMetadata],
    *,
    base: LoadedView | None,
    clock: Callable[[], int],
    rng: random.Random,
    sleep: Callable[[float], None] = time.sleep,
) -> LoadedView:
    """Commits `change` of the view's metadata, starting from `base`; None creates the view.

    Raises `CommitConflict` at the deadline, `AlreadyExistsError` or `NotFoundError` if the view was created or dropped
    concurrently, and `CommitStateUnknown` if the catalog does not answer.
    """
    views = catalog.views
    name = CatalogNames(catalog.name).table(identifier)
    pace = RetryPace(clock, rng, sleep, {}, None)
    attempts = 0
    while True:
        attempts += 1
        updated = change(None if base is None else base.metadata)
        try:
            return views.commit_view(identifier, base, updated)
        except CommitConflict:
            if base is None:
                raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=name) from None
        except CommitStateUnknown:
            settled = _settled(views, identifier, base, updated, pace)
            if settled is None:
                raise
            return settled
        pace.wait_for_retry(name, attempts, None)
        base = views.load_view(identifier)


def _settled(
    views: ViewCatalog, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata, pace: RetryPace
) -> LoadedView | None:
    """The view if an unanswered compare-and-swap succeeded, None if that remains unknown.

    The change is sent again while `base` is current, which is safe: of equal changes on one base at most one succeeds.
    """
    for _ in pace.status_checks():
        with suppress(StorageError, CommitConflict, AlreadyExistsError, CommitStateUnknown):
            current = _current(views, identifier)
            if current is not None and (current.metadata == updated or current.metadata.is_commit_of(updated)):
                return current
            if (current and current.metadata_location) == (base and base.metadata_location):
                return views.commit_view(identifier, base, updated)
    return None


def _current(views: ViewCatalog, identifier: TableIdentifier) -> LoadedView | None:
    try:
        return views.load_view(identifier)
    except NotFoundError:
        return None
