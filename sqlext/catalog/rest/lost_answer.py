"""Changes without a success response: reading the server's state may show that they were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.rest.client import NoAnswer, NotAllowed, Refusal
from sqlext.errors import SqlextError


@contextmanager
def looked_for(names: CatalogNames, identifier: TableIdentifier, has_happened: Callable[[], bool]) -> Iterator[None]:
    """Context of a change: no error if it is seen to have been made, whatever the response. A refusal passes if it was
    not made. Raises CommitStateUnknown without a response, or if its state cannot be read."""
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
