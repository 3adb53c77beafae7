"""The catalogs of a Spark application, each opened once for all its sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import GroupCommit, group_commit
from sqlext.errors import AnalysisError, NotFoundError

_TABLE_DEFAULT = "table-default."


@dataclass(frozen=True, slots=True)
class OpenCatalog:
    """A catalog, and the options `spark.sql.catalog.<name>.*` that it was opened with.

    `group_commit` says whose commits may land together; None: each lands alone.
    """

    catalog: Catalog
    options: Mapping[str, str]
    group_commit: GroupCommit | None

    def require_options(self, name: str, options: Mapping[str, str], *, all_of_them: bool) -> None:
        """`AnalysisError` CATALOG_IS_OPEN where an option is not what the catalog has; with `all_of_them` also where
        it has one that is not among them."""
        for option in sorted({*options, *(self.options if all_of_them else ())}):
            if self.options.get(option) != options.get(option):
                raise AnalysisError("CATALOG_IS_OPEN", name=name, option=option)

    @property
    def table_defaults(self) -> Mapping[str, str]:
        """Properties of a new table that sets none of these itself: the options under `table-default.`."""
        return {
            key.removeprefix(_TABLE_DEFAULT): value
            for key, value in self.options.items()
            if key.startswith(_TABLE_DEFAULT)
        }


class OpenCatalogs:
    """By name; thread-safe. `open_catalog` makes one of its name and options."""

    def __init__(self, open_catalog: Callable[[str, Mapping[str, str]], Catalog]) -> None:
        self._open_catalog = open_catalog
        # Whole values are put in and none is changed, so that reading needs no lock.
        self._by_name: dict[str, OpenCatalog] = {}
        # Held while a catalog is opened, for which a server may be asked.
        self._opening = Lock()

    def initialize(self, name: str, options: Mapping[str, str]) -> None:
        """Opens the catalog. `AnalysisError` CATALOG_IS_OPEN for one that is open with other options."""
        with self._opening:
            if name in self._by_name:
                self._by_name[name].require_options(name, options, all_of_them=True)
            else:
                catalog = self._open_catalog(name, options)
                self._by_name[name] = OpenCatalog(catalog, dict(options), group_commit(name, options))

    def require_settings(self, catalogs: Mapping[str, Mapping[str, str]]) -> None:
        """`AnalysisError` CATALOG_IS_OPEN where one of the options, by catalog, is not what an open catalog has."""
        for name, options in catalogs.items():
            if name in self._by_name:
                self._by_name[name].require_options(name, options, all_of_them=False)

    def of(self, name: str) -> OpenCatalog:
        """The catalog of that name; NotFoundError CATALOG_NOT_FOUND where Spark has not initialised one."""
        try:
            return self._by_name[name]
        except KeyError:
            raise NotFoundError("CATALOG_NOT_FOUND", name=name) from None
