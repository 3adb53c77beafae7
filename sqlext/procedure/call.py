"""CALL: finds the procedure, binds its arguments, which Spark evaluates, and runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.errors import AnalysisError
from sqlext.procedure.procedure import Invocation, Procedure
from sqlext.procedure.registry import find_procedure
from sqlext.spark.query.cached_tables import renew_caches
from sqlext.spark.query.instant import milliseconds
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.sql.statements.statement import Argument, Call

# The parameter of all procedures that change an existing table.
_TABLE = "table"


def call(environment: Environment, spark: SparkSession, statement: Call) -> Outcome:
    """Runs the procedure and returns its rows. Raises NotFoundError for its name, AnalysisError for an argument."""
    procedure = find_procedure(statement.catalog, statement.procedure)
    bound = _bound(procedure, statement)
    arguments = _evaluated(spark, procedure, bound)
    invocation = Invocation(environment, spark, statement.catalog, statement.current, arguments)
    rows = procedure.run(invocation)
    if arguments.get(_TABLE) is not None:
        renew_caches(spark, invocation.table_parts(arguments[_TABLE]))
    return Outcome(rows)


def _bound(procedure: Procedure, statement: Call) -> Mapping[str, Argument]:
    """The arguments by parameter: positional ones in order, then named ones. Raises AnalysisError."""
    bound: dict[str, Argument] = {}
    names = [parameter.name for parameter in procedure.parameters]
    for position, argument in enumerate(statement.arguments):
        if argument.name is None and position >= len(names):
            raise procedure.refused(f"it has {len(statement.arguments)} arguments")
        name = names[position] if argument.name is None else argument.name
        if name not in names:
            raise procedure.refused(f"it has no parameter {name}")
        if name in bound:
            raise procedure.refused(f"{name} is given twice")
        bound[name] = argument
    missing = [one.name for one in procedure.parameters if one.required and one.name not in bound]
    if missing:
        raise procedure.refused(f"{', '.join(missing)} is missing")
    return bound


def _evaluated(spark: SparkSession, procedure: Procedure, bound: Mapping[str, Argument]) -> Mapping[str, Any]:
    """A value for each parameter. Raises AnalysisError for an argument of another type, for nulls in lists and maps,
    and for text that is no value of the type, also without ANSI mode, where Spark casts it to null."""
    types = {parameter.name: parameter.type for parameter in procedure.parameters}
    arguments: dict[str, Any] = dict.fromkeys(types)
    texts = {name: argument.value.text for name, argument in bound.items()}
    told = _told(spark, [part for text in texts.values() for part in (f"typeof({text})", f"({text}) IS NULL")])
    for name, given in zip(texts, told[::2], strict=True):
        if not _is_taken(types[name], given):
            raise _of_other_type(procedure, name, types[name], texts[name])
    values = _told(spark, [_cast(text, types[name]) for name, text in texts.items()])
    for name, value, is_null in zip(texts, values, told[1::2], strict=True):
        if value is None and not is_null:
            raise _of_other_type(procedure, name, types[name], texts[name])
        if isinstance(value, Mapping) and None in value.values():
            raise procedure.refused(f"{name} has a null")
        if isinstance(value, list) and None in value:
            raise procedure.refused(f"one of {name} is null")
        arguments[name] = value
    for parameter in procedure.parameters:
        if parameter.required and arguments[parameter.name] is None:
            raise procedure.refused(f"{parameter.name} is null")
    return arguments


def _told(spark: SparkSession, expressions: Sequence[str]) -> Sequence[Any]:
    return tuple(lowered_query(spark, f"SELECT {', '.join(expressions)}").collect()[0]) if expressions else ()


def _cast(text: str, type: str) -> str:
    return milliseconds(text) if type == "timestamp" else f"CAST({text} AS {type})"


def _of_other_type(procedure: Procedure, name: str, type: str, text: str) -> AnalysisError:
    return procedure.refused(f"{name} is {text}, and must be of type {type.upper()}")


def _is_taken(expected: str, given: str) -> bool:
    """Whether a value of the type `given` is one of the type `expected`. A number is no time, though Spark can cast it:
    as seconds, where times of snapshots are in milliseconds."""
    if given == "void":
        return True
    kind = given.split()[0]
    if expected == "timestamp":
        return kind in ("string", "date", "timestamp", "timestamp_ntz")
    if expected == "boolean":
        return kind in ("string", "boolean")
    return expected not in ("int", "integer", "bigint") or kind != "boolean"
