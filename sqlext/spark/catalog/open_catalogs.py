"""The open catalogs of a Spark application, shared by its sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_options import TABLE_DEFAULT
from sqlext.catalog.catalog_settings import GroupCommit, cares_for_keyed_tables, group_commit
from sqlext.catalog.session_catalog import SessionNames
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.sql.statements.table_resolution import SPARK_CATALOG


@dataclass(frozen=True, slots=True)
class OpenCatalog:
    """A catalog, and the options `spark.sql.catalog.<name>.*` that it was opened with.

    `group_commit` is its setting for group commits; None: each commit is made alone. `beside` are the names of Spark
    that it shares with Spark's session catalog; None for all others. `cares_for_keyed_tables`: new tables with a key
    look after themselves unless told not to.
    """

    catalog: Catalog
    options: Mapping[str, str]
    group_commit: GroupCommit | None
    beside: SessionNames | None = None
    cares_for_keyed_tables: bool = True

    def require_options(self, name: str, options: Mapping[str, str], *, all_of_them: bool) -> None:
        """Raises AnalysisError CATALOG_IS_OPEN for an option whose value differs from the catalog's, and with
        `all_of_them` for an option of the catalog that is not in `options`."""
        for option in sorted({*options, *(self.options if all_of_them else ())}):
            if self.options.get(option) != options.get(option):
                raise AnalysisError("CATALOG_IS_OPEN", name=name, option=option)

    @property
    def table_defaults(self) -> Mapping[str, str]:
        """Properties of a new table that sets none of these itself: the options under `table-default.`."""
        return {
            key.removeprefix(TABLE_DEFAULT): value
            for key, value in self.options.items()
            if key.startswith(TABLE_DEFAULT)
        }


class OpenCatalogs:
    """The open catalogs by name. Thread-safe. `open_catalog` opens a catalog by its name and options; `session_names`
    are those of Spark's own session catalog, where there is Spark."""

    def __init__(
        self, open_catalog: Callable[[str, Mapping[str, str]], Catalog], session_names: SessionNames | None = None
    ) -> None:
        self._open_catalog = open_catalog
        self._session_names = session_names
        # Entries are immutable, so reads need no lock.
        self._by_name: dict[str, OpenCatalog] = {}
        self._around: Callable[[str, OpenCatalog], Catalog] | None = None
        # Held while a catalog is opened, which may send requests to its server.
        self._opening = Lock()

    def initialize(self, name: str, options: Mapping[str, str]) -> None:
        """Opens the catalog, unless it is open. Raises AnalysisError CATALOG_IS_OPEN for other options."""
        with self._opening:
            if name in self._by_name:
                self._by_name[name].require_options(name, options, all_of_them=True)
            else:
                catalog = self._open_catalog(name, options)
                beside = self._session_names if name == SPARK_CATALOG else None
                cares, grouped = cares_for_keyed_tables(name, options), group_commit(name, options)
                opened = OpenCatalog(catalog, dict(options), grouped, beside, cares)
                self._by_name[name] = self._seen(name, opened)

    @contextmanager
    def seen_through(self, around: Callable[[str, OpenCatalog], Catalog]) -> Iterator[None]:
        """While it lasts, what `around` makes of each catalog stands in its place; for those that are opened meanwhile
        also afterwards. Calls may be nested."""
        with self._opening:
            outer, before, self._around = self._around, self._by_name, around
            self._by_name = {name: self._seen(name, one) for name, one in before.items()}
        try:
            yield
        finally:
            with self._opening:
                self._by_name, self._around = {**self._by_name, **before}, outer

    def _seen(self, name: str, opened: OpenCatalog) -> OpenCatalog:
        return opened if self._around is None else replace(opened, catalog=self._around(name, opened))

    def require_settings(self, catalogs: Mapping[str, Mapping[str, str]]) -> None:
        """Raises AnalysisError CATALOG_IS_OPEN for an option, by catalog, whose value differs from an open
        catalog's."""
        for name, options in catalogs.items():
            if name in self._by_name:
                self._by_name[name].require_options(name, options, all_of_them=False)

    def of(self, name: str) -> OpenCatalog:
        """The catalog `name`. Raises NotFoundError CATALOG_NOT_FOUND if Spark has not initialised it."""
        try:
            return self._by_name[name]
        except KeyError:
            raise NotFoundError("CATALOG_NOT_FOUND", name=name) from None
