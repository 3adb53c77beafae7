"""The calls of the shim: what a text is, and the statements and writes that run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_table
from sqlext.command.dml.preview import preview_columns
from sqlext.command.dml.returning import returned_columns
from sqlext.command.environment import Environment
from sqlext.command.outcome import struct
from sqlext.dispatch.statement_answer import answer_schema, catalog_of, has_rows_of_table
from sqlext.dispatch.statement_run import StatementRun
from sqlext.errors import SqlextError
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.session.shown_progress import ShownProgress
from sqlext.sql.parser import AnyStatement, may_be_ours, parse
from sqlext.sql.statement_title import statement_title
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.row_level_plan import planned_statement
from sqlext.sql.statements.statement import Preview
from sqlext.sql.statements.table_resolution import SPARK_CATALOG
from sqlext.sql.syntax.options_hint import with_versions


class _ParserSettings(NamedTuple):
    """Spark's settings for its parser, as in `parse`."""

    escaped_string_literals: bool
    double_quoted_identifiers: bool
    case_sensitive: bool
    by_path: bool


class ShimCalls:
    """Answers to the shim's parser, and runs of what it hands over."""

    def __init__(self, environment: Environment, shown: ShownProgress) -> None:
        self._environment = environment
        self._shown = shown

    def parse(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{} if Spark runs the statement, else its catalog, the schema of its result, and its title.

        The schema is null if only "result schema" tells it, once the catalog is open. Text that is refused becomes a
        statement without catalog, which raises the error when it runs.
        """
        try:
            statement = self._parsed(arguments)
            if statement is None:
                return {}
            schema = None if has_rows_of_table(statement) else answer_schema(statement)
            return {"catalog": catalog_of(statement), "schema": schema, "title": statement_title(statement)}
        except SqlextError:
            return {"catalog": None, "schema": struct([]), "title": ""}

    def _parsed(self, arguments: Mapping[str, Any]) -> AnyStatement | None:
        catalogs, current = tuple(arguments["catalogs"]), tuple(arguments["current"])
        settings = _ParserSettings(*(bool(arguments[name]) for name in _ParserSettings._fields))
        if SPARK_CATALOG not in catalogs:
            return _parse_once(arguments["text"], catalogs, current, settings)
        # What the text is depends on the tables that there are.
        holds = self._environment.within(arguments["session"]).catalogs.holds
        return _parse(arguments["text"], catalogs, current, settings, holds)

    def result_schema(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema of a statement whose result has the columns of its table, or a query that has the schema.

        Raises as `Catalogs.locate`.
        """
        statement = self._parsed(arguments)
        environment = self._environment.within(arguments["session"])
        if isinstance(statement, Returning):
            return {"query": returned_columns(environment, statement)}
        assert isinstance(statement, Preview)
        return {"schema": struct(preview_columns(environment, statement.table))}

    def first_look(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Whether "parse" is to be asked about a text, and the `text` that Spark parses otherwise.

        That is the text with versions of tables for the hints of its reads; null if it stays as it is. "parse" reports
        a hint that is refused, as Spark knows no hint there.
        """
        given = arguments["text"]
        try:
            text = with_versions(
                given,
                escaped_string_literals=arguments["escaped_string_literals"],
                double_quoted_identifiers=arguments["double_quoted_identifiers"],
            )
        except SqlextError:
            return {"may_be_ours": True, "text": None}
        return {"may_be_ours": may_be_ours(given), "text": None if text == given else text}

    def statement(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Runs the statement of `arguments`; the answer has its rows, or the name of rows that the JVM holds."""
        parsed = self._parsed(arguments)
        with self._run(spark, arguments, statement_title(parsed)) as run:
            return run.statement(parsed)

    def row_change(
        self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None
    ) -> Mapping[str, Any]:
        """Runs a MERGE, UPDATE or DELETE that the shim describes as a plan; the answer has its counts."""
        statement = planned_statement(arguments, written_table(TableHandle.decode(arguments["table"])))
        with self._run(spark, arguments, statement_title(statement)) as run:
            return run.row_change(statement)

    def create(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Creates or replaces a table with a DataFrame's rows."""
        assert rows is not None
        table = (arguments["catalog"], *arguments["namespace"], arguments["name"])
        with self._run(spark, arguments, f"CREATE TABLE {'.'.join(table)}") as run:
            return run.create(table, rows)

    def write(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Writes a DataFrame whose columns are the table's; the answer has its counts."""
        assert rows is not None
        table = written_table(TableHandle.decode(arguments["table"]))
        verb = "INSERT INTO" if arguments["mode"] == "append" else "INSERT OVERWRITE"
        with self._run(spark, arguments, f"{verb} {table}") as run:
            return run.write(table.parts, rows)

    @contextmanager
    def _run(self, spark: SparkSession, arguments: Mapping[str, Any], title: str) -> Iterator[StatementRun]:
        """A run whose progress is shown, if somebody looks."""
        with self._shown.of(spark, title) as work:
            yield StatementRun(replace(self._environment, progress=work), spark, arguments)


def _parse(
    text: str,
    catalogs: tuple[str, ...],
    current: tuple[str, ...],
    settings: _ParserSettings,
    holds: Callable[[tuple[str, ...]], bool] = lambda parts: True,
) -> AnyStatement | None:
    return parse(text, catalogs=catalogs, current=current, holds=holds, **settings._asdict())


_parse_once = lru_cache(maxsize=64)(_parse)
