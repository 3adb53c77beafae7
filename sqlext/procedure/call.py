"""CALL: finds the procedure, binds its arguments, which Spark evaluates, and runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.procedure.procedure import Invocation, Procedure
from sqlext.procedure.registry import find_procedure
from sqlext.spark.query.cached_tables import renew_caches
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
    types = {parameter.name: parameter.type for parameter in procedure.parameters}
    arguments: dict[str, Any] = dict.fromkeys(types)
    if bound:
        values = ", ".join(f"CAST({one.value.text} AS {types[name]}) AS `{name}`" for name, one in bound.items())
        arguments.update(lowered_query(spark, f"SELECT {values}").collect()[0].asDict())
    for parameter in procedure.parameters:
        if parameter.required and arguments[parameter.name] is None:
            raise procedure.refused(f"{parameter.name} is null")
    return arguments
