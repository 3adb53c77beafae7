"""`sqlext sql`: one statement in a session of Spark, which it starts."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timezone
from typing import Any, TextIO

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from sqlext.any_session import catalog_class
from sqlext.spark.session.shown_progress import ShownProgress, display_for, running_tasks
from sqlext.spark.session.work_progress import Step
from sqlext.spark_session import configure
from sqlext.terminal.named_catalog import NamedCatalog
from sqlext.terminal.output import print_error_lines, print_json, print_line, print_lines, print_rows, shown
from sqlext.terminal.table_rows import cell

# What is shown of a statement in its bar.
_TITLE = 60


def print_statement(named: NamedCatalog, text: str, most: int | None, *, as_json: bool) -> bool:
    """Runs a statement and prints at most so many rows of its result; whether it succeeded.

    A terminal on standard error shows that Spark starts, and what the statement's jobs do.
    """
    with warnings.catch_warnings(), _session(named) as spark:
        if not sys.warnoptions:
            # PySpark speaks to programmers, such as of pandas 3; who runs a statement has nothing to change.
            warnings.simplefilter("ignore")
        try:
            with _shown(shown(" ".join(text.split()))[:_TITLE], sys.stderr, lambda: running_tasks(spark)):
                result, found = _run(spark, text, most)
        except PySparkException as error:
            print_error_lines(_told(error))
            return False
    _print(result, found, most, as_json)
    return True


def _run(spark: SparkSession, text: str, most: int | None) -> tuple[DataFrame, list[Row]]:
    """The statement's result, and its rows: all, or one more than `most`."""
    result = spark.sql(text)
    if not result.columns:
        return result, []
    return result, result.collect() if most is None else result.take(most + 1)


def _shown(title: str, stream: TextIO, tasks: Callable[[], Step | None]) -> AbstractContextManager[object]:
    """Shows the title and the tasks while the block takes longer, if `stream` is a terminal."""
    return ShownProgress({}).watched(title, display_for({}, stream, os.environ), tasks)


def _print(result: DataFrame, found: list[Row], most: int | None, as_json: bool) -> None:
    names = result.columns
    if not names:
        if as_json:
            print_json({"columns": [], "rows": [], "is_all": True})
        return
    is_all = most is None or len(found) <= most
    types = [field.dataType for field in result.schema.fields]
    rows = [[_value(one, type) for one, type in zip(row, types, strict=True)] for row in found[:most]]
    if as_json:
        print_json({"columns": names, "rows": rows, "is_all": is_all})
        return
    if len(rows) == len(names) == 1 and isinstance(text := rows[0][0], str) and "\n" in text:
        # A plan, or the statement that makes a table.
        print_lines(text)
        return
    print_rows(names, [[cell(one) for one in row] for row in rows])
    if not is_all:
        print_line("more rows are left out; --limit 0 shows all", "dim")


def _value(value: Any, type: DataType) -> Any:
    """A value of a result with structs as mappings, and instants in UTC as `cat` shows them: PySpark gives them in the
    zone of this machine, without telling it."""
    if value is None:
        return None
    if isinstance(type, TimestampType):
        return value.astimezone(timezone.utc)
    if isinstance(type, StructType):
        return {field.name: _value(one, field.dataType) for field, one in zip(type.fields, value, strict=True)}
    if isinstance(type, ArrayType):
        return [_value(one, type.elementType) for one in value]
    if isinstance(type, MapType):
        return {cell(_value(key, type.keyType)): _value(one, type.valueType) for key, one in value.items()}
    return value


@contextmanager
def _session(named: NamedCatalog) -> Iterator[SparkSession]:
    prefix = f"spark.sql.catalog.{named.name}"
    builder = (
        SparkSession.builder.master("local[*]")
        .appName("sqlext")
        .config("spark.ui.enabled", "false")
        # The JVM's own bar would go where its start has left standard error, see `_quiet_start`.
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.defaultCatalog", named.name)
        .config(prefix, catalog_class(named.name))
    )
    for key, value in named.options.items():
        builder = builder.config(f"{prefix}.{key}", value)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with _quiet_start():
        spark = configure(builder).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """The JVM that starts meanwhile writes what it has to say of itself to a file, which is shown if it fails."""
    errors = sys.stderr.fileno()
    with tempfile.TemporaryFile("w+") as said, os.fdopen(os.dup(errors), "w") as terminal:
        os.dup2(said.fileno(), errors)
        try:
            with _shown("starting Spark", terminal, lambda: None):
                yield
        except BaseException:
            said.seek(0)
            terminal.write(said.read())
            raise
        finally:
            os.dup2(terminal.fileno(), errors)


def _told(error: PySparkException) -> str:
    """The message without the plan and the stack of the JVM behind it, whose condition stands in the first line."""
    return str(error).partition("\n\nJVM stacktrace")[0].partition(";\n'")[0].strip()
