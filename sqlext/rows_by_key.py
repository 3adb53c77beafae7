"""`sqlext.lookup`: the rows of a table with given primary keys.

In a Python driver they are read without a query where that gives the same rows; elsewhere, as for a client of Spark
Connect, by a SELECT.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from sqlext.catalog.identifier import in_backticks, quoted
from sqlext.given_keys import KeyColumn, condition, distinct_keys
from sqlext.notebook.shown_table import ShownTable, full_name


def lookup(spark: SparkSession, table: str, keys: Iterable[Any], columns: Iterable[str] | None = None) -> list[Row]:
    """The rows of the table with these primary keys, as `SELECT columns FROM table WHERE key IN (keys)` gives them: in
    no order, each once also if its key is given twice, and none for a key that the table does not have.

    A key is a value, or for a key of several columns a tuple in their order or a mapping by their names. Values are of
    the column's type: int, Decimal, str, bytes, bool, date, `uuid.UUID` or its text, or datetime, which without a zone
    is in that of the process, as in a row of PySpark. `columns` are names of whole columns, by default all. The table
    is named as in SQL, also at a branch or tag (`lake.db.t.branch_b`), and read as a query of the session reads it: its
    newest version, in the session's transaction if one is open. A Python driver mostly reads the rows itself, in a
    fraction of a query's time, so that Spark's UI and listeners tell of none.

    Raises DataError LOOKUP_KEY_REFUSED for a key that is null or not of the column's type, such as a number out of its
    range, UnsupportedError LOOKUP_WITHOUT_KEY for a table without a primary key, and errors of the statement.

        >>> sqlext.lookup(spark, "lake.db.orders", [1, 404], columns=["purchaser"])
        [Row(purchaser='Eva')]
    """
    parts = full_name(spark, table)
    names = None if columns is None else [columns] if isinstance(columns, str) else list(columns)
    driver = _driver(spark)
    version = None if driver is None else driver.version(spark, parts)
    key = _key_by_statement(spark, parts) if version is None else [KeyColumn(*one) for one in version.key]
    given = distinct_keys(key, keys, quoted(*parts))
    found: list[Row] | None = None
    if version is not None and given:
        found = driver.rows(version, given, names)
    if found is None:
        found = spark.sql(_statement(parts, key, given, names)).collect()
    return found


def _driver(spark: SparkSession) -> Any:
    """The `RowLookup` of the session's application; None without one, as for a client of Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    # A client need not have what this module imports.
    bridge = import_module("sqlext.spark.bridge.gateway").attached_bridge(spark.sparkContext)
    return None if bridge is None else bridge.rows


def _key_by_statement(spark: SparkSession, parts: tuple[str, ...]) -> list[KeyColumn]:
    try:
        described = ShownTable(spark, parts).describe(commits=1)
    except PySparkException as refused:
        if refused.getCondition() != "PLACE_READ_ONLY":
            raise
        # A tag, a snapshot or the view ro is described by its table.
        described = ShownTable(spark, parts[:-1]).describe(commits=1)
    types = {column.name: column.type for column in described.columns}
    found = []
    for name in described.key:
        if name in types:
            found.append(KeyColumn((name,), types[name]))
        else:
            # A column in structs has a name with dots.
            found.append(KeyColumn(tuple(name.split(".")), _type_by_query(spark, parts, name)))
    return found


def _type_by_query(spark: SparkSession, parts: tuple[str, ...], name: str) -> str:
    path = in_backticks(*name.split("."))
    (field,) = spark.sql(f"SELECT {path} FROM {in_backticks(*parts)} WHERE false").schema.fields
    type: str = field.dataType.simpleString()
    return type.upper()


def _statement(
    parts: tuple[str, ...], key: Sequence[KeyColumn], keys: Sequence[tuple[Any, ...]], columns: Sequence[str] | None
) -> str:
    selected = "*" if columns is None else ", ".join(map(in_backticks, columns))
    return f"SELECT {selected} FROM {in_backticks(*parts)} WHERE {condition(key, keys)}"
