"""A procedure as a value: its name, parameters, result columns, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.tokens.token_cursor import TokenCursor


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter; arguments are cast to `type`, a DDL text of Spark. A timestamp's value is in milliseconds since
    1970."""

    name: str
    type: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Invocation:
    """One CALL, in the catalog and under the current catalog and namespace; `arguments` has a Python value for each
    parameter, None without an argument."""

    environment: Environment
    spark: SparkSession
    catalog: str
    current: tuple[str, ...]
    arguments: Mapping[str, Any]

    def table_parts(self, text: str) -> tuple[str, ...]:
        """The full name of the table of the procedure's catalog that an argument names.

        Raises AnalysisError TABLE_OF_OTHER_CATALOG, and ParseError for text that is no name.
        """
        written = TokenCursor(text).dotted_name("a table name")
        tables = TableResolution(frozenset({self.catalog}), frozenset(), self.current)
        resolved = tables.resolve(written if len(written) == 1 else self._with_catalog(written))
        if resolved is None:
            raise AnalysisError("TABLE_OF_OTHER_CATALOG", name=text, catalog=self.catalog)
        return resolved.parts

    def load(self, text: str) -> LoadedTable:
        """The table that an argument names, at its newest version."""
        return self.environment.catalogs.load(self.table_parts(text))

    def _with_catalog(self, written: tuple[str, ...]) -> tuple[str, ...]:
        return written if written[0] == self.catalog else (self.catalog, *written)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure; `columns` are the names and types (string, long, integer, boolean) of the rows of `run`."""

    name: str
    parameters: tuple[Parameter, ...]
    columns: tuple[tuple[str, str], ...]
    run: Callable[[Invocation], Sequence[Sequence[Any]]]

    @property
    def signature(self) -> str:
        """The parameters with their types, optional ones in brackets."""
        texts = (f"{one.name} {one.type}" if one.required else f"[{one.name} {one.type}]" for one in self.parameters)
        return f"({', '.join(texts)})"

    def refused(self, reason: str) -> AnalysisError:
        """The error for arguments that the procedure does not take."""
        return AnalysisError("PROCEDURE_ARGUMENT", procedure=self.name, reason=reason, parameters=self.signature)

    def at_least_one(self, arguments: Mapping[str, Any], name: str) -> int | None:
        """A number among `arguments`. Raises AnalysisError if it is less than 1."""
        value: int | None = arguments[name]
        if value is not None and value < 1:
            raise self.refused(f"{name} is {value}, and must be at least 1")
        return value
