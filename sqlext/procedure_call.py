"""A CALL as a statement with parameters: the catalog whose procedure it is, and the text of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from sqlext.any_session import current_catalog, is_catalog
from sqlext.errors import NotFoundError

Scalar = str | bool | int | datetime
Argument = Scalar | timedelta | Sequence[Scalar | None] | Mapping[str, str] | None

# The first part of a dotted name: in backticks, in which two are one, or up to the first dot.
_FIRST_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.\s]+))\s*(?:\.|$)")
_MILLISECOND = timedelta(milliseconds=1)


def call(spark: SparkSession, procedure: str, catalog: str | None, /, **arguments: Argument) -> DataFrame:
    """The rows of a procedure, which has run. An argument that is None is not given.

    The catalog is `catalog`, else the one that the name of the table or namespace begins with, if it is one of sqlext,
    else the current one. Raises NotFoundError CATALOG_NOT_FOUND if that is none of sqlext.
    """
    name = arguments.get("table") or arguments.get("namespace")
    if catalog is None:
        catalog = _catalog_of(spark, name) if isinstance(name, str) else current_catalog(spark)
    elif not is_catalog(spark, catalog):
        raise NotFoundError("CATALOG_NOT_FOUND", name=catalog)
    text, values = call_statement(catalog, procedure, arguments)
    return spark.sql(text, args=values) if values else spark.sql(text)


def call_statement(catalog: str, procedure: str, arguments: Mapping[str, Argument]) -> tuple[str, Mapping[str, Scalar]]:
    """The statement and the values of its parameters, which are scalars: Spark 4.0 takes no others in every session."""
    values: dict[str, Scalar] = {}
    given = (f"{name} => {_marked(value, values)}" for name, value in arguments.items() if value is not None)
    return f"CALL `{catalog.replace('`', '``')}`.system.{procedure}({', '.join(given)})", values


def _marked(value: Argument, values: dict[str, Scalar]) -> str:
    """SQL of a value, with markers for the scalars in it, which are added to `values`."""
    if value is None:
        return "NULL"
    if isinstance(value, timedelta):
        return _marked(f"{value // _MILLISECOND} ms", values)
    if isinstance(value, Mapping):
        entries = (part for entry in value.items() for part in entry)
        return f"map({', '.join(_marked(part, values) for part in entries)})"
    if isinstance(value, str | bool | int | datetime):
        name = f"p{len(values)}"
        values[name] = value
        return f":{name}"
    return f"array({', '.join(_marked(part, values) for part in value)})"


def _catalog_of(spark: SparkSession, name: str) -> str:
    """The catalog of sqlext that a dotted name begins with, else the current one. Text that is no name is left to the
    procedure to refuse."""
    found = _FIRST_PART.match(name)
    first = "" if found is None else found[2] or found[1].replace("``", "`")
    return first if is_catalog(spark, first) else current_catalog(spark, first if name.count(".") > 1 else None)
