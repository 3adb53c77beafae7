"""Errors for plans that the shim refuses; each function always raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.errors import AlreadyExistsError, AnalysisError, UnsupportedError
from sqlext.spec.field_path import path_text


def refuse_continuous_stream(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises UnsupportedError STREAM_CONTINUOUS, for a continuous trigger of a stream from or to a table."""
    raise UnsupportedError("STREAM_CONTINUOUS", kind=arguments["kind"], name=arguments["name"])


def refuse_temporary_view(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises AnalysisError EXPECT_TABLE_NOT_TEMPORARY_VIEW, for the target of a change that Spark has planned."""
    raise AnalysisError("EXPECT_TABLE_NOT_TEMPORARY_VIEW", name=arguments["name"], statement=arguments["statement"])


def refuse_session(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises UnsupportedError SESSION_NOT_ATTACHED, for a session that was begun without the shim's rules."""
    raise UnsupportedError("SESSION_NOT_ATTACHED")


def refuse_catalog_class(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises AnalysisError CATALOG_CLASS_WRONG, for Spark's session catalog of a class for others, or the reverse."""
    name, given, wanted = arguments["catalog"], arguments["given"], arguments["wanted"]
    raise AnalysisError("CATALOG_CLASS_WRONG", name=name, given=given, wanted=wanted)


def refuse_catalog_option(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises AnalysisError CATALOG_IS_OPEN, for an option that a session sets of a catalog which is open."""
    raise AnalysisError("CATALOG_IS_OPEN", name=arguments["catalog"], option=arguments["option"])


def refuse_taken_name(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises AlreadyExistsError, for a table or view of Spark with the name of one of sqlext's."""
    raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=path_text(arguments["name"]))


def refuse_nested_column(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises UnsupportedError NOT_READ_BY_SPARK_4_0 for what the Parquet reader of Spark 4.0 does not read rightly."""
    what = (
        "has a column of type VARIANT, which the Parquet reader of Spark 4.0 takes for a damaged file"
        if arguments["kind"] == "variant"
        else f"has column {arguments['column']} with a struct whose first fields are all gone, which Spark 4.0 would"
        " read as null from older files"
    )
    raise UnsupportedError("NOT_READ_BY_SPARK_4_0", name=arguments["name"], what=what)


def refuse_expression(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises AnalysisError, by the key in `arguments`.

    CONDITION_NOT_BOOLEAN for an expression that `is` of another type, AGGREGATE_IN_CHANGE for one that `sums up` rows,
    EXPRESSION_IN_CHANGE for one that `makes` several rows or `sees` several, NON_DETERMINISTIC_CONDITION for a
    condition that `differs` at each evaluation.
    """
    place, expression = arguments["place"], arguments["expression"]
    if "is" in arguments:
        raise AnalysisError("CONDITION_NOT_BOOLEAN", clause=place, expression=expression, type=arguments["is"])
    if "sums up" in arguments:
        raise AnalysisError("AGGREGATE_IN_CHANGE")
    if "differs" in arguments:
        raise AnalysisError("NON_DETERMINISTIC_CONDITION", clause=place, expression=expression)
    what = "makes several rows" if "makes" in arguments else "is a window function"
    raise AnalysisError("EXPRESSION_IN_CHANGE", place=place, expression=expression, what=what)
