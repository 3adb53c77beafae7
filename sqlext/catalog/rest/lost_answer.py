"""Changes whose answer is lost: what the server shows afterwards may tell that they have happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.rest.client import NoAnswer, Refusal
from sqlext.errors import SqlextError


@contextmanager
def looked_for(names: CatalogNames, identifier: TableIdentifier, has_happened: Callable[[], bool]) -> Iterator[None]:
    """Around a change: `CommitStateUnknown` where it has no answer, unless it is seen to have happened."""
    try:
        yield
    except NoAnswer as error:
        with suppress(Refusal, NoAnswer, SqlextError):
            if has_happened():
                return
        raise names.unknown(identifier, error) from None
