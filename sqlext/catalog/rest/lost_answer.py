"""Changes that were not answered by a success: what the server shows afterwards may tell that they have happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.rest.client import NoAnswer, NotAllowed, Refusal
from sqlext.errors import SqlextError


@contextmanager
def looked_for(names: CatalogNames, identifier: TableIdentifier, has_happened: Callable[[], bool]) -> Iterator[None]:
    """Around a change: nothing where it is seen to have happened, whatever was answered. A refusal of what is seen not
    to have happened passes. `CommitStateUnknown` without an answer, or where it cannot be seen."""
    try:
        yield
    except (Refusal, NoAnswer, NotAllowed) as error:
        try:
            if has_happened():
                return
        except (Refusal, NoAnswer, SqlextError):
            raise names.unknown(identifier, error) from None
        if isinstance(error, NoAnswer):
            raise names.unknown(identifier, error) from None
        raise
