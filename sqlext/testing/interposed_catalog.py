"""A catalog where faults stand between a commit and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlext.catalog.catalog import Catalog, LoadedTable, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.spec.metadata.table_metadata import TableMetadata

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommitPlace:
    """A compare-and-swap on its way: its changes, and the catalog that they go to.

    `options` are those of the catalog. `is_alone`: the commit loop of one table has sent it, else a transaction.
    """

    catalog: Catalog
    options: Mapping[str, str]
    changes: Sequence[TableCommit]
    is_alone: bool


class CommitFaults(Protocol):
    """What stands there. Both methods return what the effect returns, or raise an error of `Catalog`."""

    def around_commit(self, place: CommitPlace, send: Callable[[], T]) -> T:
        """Called in place of a compare-and-swap, which `send` makes."""

    def around_load(self, load: Callable[[], T]) -> T:
        """Called in place of a look at a table."""


class InterposedCatalog:
    """`Catalog` by another one, to which all calls go; commits and looks at tables pass `faults` first."""

    def __init__(self, catalog: Catalog, options: Mapping[str, str], faults: CommitFaults) -> None:
        self._catalog = catalog
        self._options = options
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def load_table(self, identifier: TableIdentifier) -> LoadedTable:
        return self._faults.around_load(lambda: self._catalog.load_table(identifier))

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        place = CommitPlace(self._catalog, self._options, (TableCommit(identifier, base, updated),), is_alone=True)
        return self._faults.around_commit(place, lambda: self._catalog.commit(identifier, base, updated))

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        place = CommitPlace(self._catalog, self._options, changes, is_alone=False)
        self._faults.around_commit(place, lambda: self._catalog.commit_tables(changes, unchanged))
