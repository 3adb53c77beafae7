"""The catalog that a table's name belongs to, by Spark's rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlext.errors import UnsupportedError
from sqlext.sql.statements.statement import TableName

SPARK_CATALOG = "spark_catalog"
"""The name of Spark's session catalog."""

_GLOBAL_VIEWS = "global_temp"


@dataclass(frozen=True, slots=True)
class TableResolution:
    """`catalogs` are sqlext's, `other_catalogs` are not; `current` is the current catalog and its namespace.

    `by_path` tells that Spark looks tables without a namespace up by `SET PATH`, which the parser does not know.
    If sqlext is Spark's session catalog too, `holds` tells which of its tables, by their full names, are sqlext's.
    """

    catalogs: frozenset[str]
    other_catalogs: frozenset[str]
    current: tuple[str, ...]
    by_path: bool = False
    holds: Callable[[tuple[str, ...]], bool] = lambda parts: True

    def resolve(self, written: tuple[str, ...]) -> TableName | None:
        """The full name of a table, or None if it is not sqlext's. Raises UnsupportedError SEARCH_PATH_NOT_FOLLOWED."""
        name = self.resolve_new(written)
        if self.by_path and name is not None and len(written) == 1:
            raise UnsupportedError("SEARCH_PATH_NOT_FOLLOWED", name=written[0], whole=name)
        return name if name is None or name.catalog != SPARK_CATALOG or self.holds(name.parts) else None

    def resolve_new(self, written: tuple[str, ...]) -> TableName | None:
        """The full name, or None if it is not in a sqlext catalog."""
        if not self.owns(written):
            return None
        if len(written) == 1:
            return TableName(self.current + written, written)
        if written[0] in self.catalogs:
            return TableName(written, written)
        return TableName((self.current[0], *written), written)

    def resolve_view(self, written: tuple[str, ...]) -> TableName | None:
        """The full name of a view, or None if it is not in a sqlext catalog; Spark's session catalog has its own."""
        name = self.resolve_new(written)
        return None if name is None or name.catalog == SPARK_CATALOG else name

    def resolve_namespace(self, written: tuple[str, ...]) -> tuple[str, ...] | None:
        """A namespace after its catalog's name, or None if it is not in a sqlext catalog."""
        if written[0] in self.catalogs:
            return written
        return (self.current[0], *written) if self.owns((*written, "")) else None

    def owns(self, written: tuple[str, ...]) -> bool:
        """Whether the name belongs to a sqlext catalog."""
        if len(written) > 1:
            if written[0] in self.catalogs:
                return True
            if written[0] in self.other_catalogs or written[0] in (SPARK_CATALOG, _GLOBAL_VIEWS):
                return False
        return self.current[0] in self.catalogs
