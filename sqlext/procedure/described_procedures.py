"""SHOW PROCEDURES and DESCRIBE PROCEDURE."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import quoted
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.errors import NotFoundError
from sqlext.procedure.registry import PROCEDURES, find_procedure
from sqlext.sql.statements.routine_statement import DescribeProcedure, ShowProcedures
from sqlext.sql.syntax.call_syntax import SYSTEM

_TEXTS: Any = {"type": "array", "elementType": "string", "containsNull": False}
SHOW_PROCEDURES_COLUMNS: tuple[tuple[str, Any], ...] = (
    ("catalog", "string"),
    ("namespace", _TEXTS),
    ("schema", "string"),
    ("procedure_name", "string"),
)
DESCRIBE_PROCEDURE_COLUMNS = (("procedure_desc", "string"),)


def show_procedures(environment: Environment, spark: SparkSession, statement: ShowProcedures) -> Outcome:
    """Rows of `SHOW_PROCEDURES_COLUMNS`, by name; none for a namespace other than `system`. Raises NotFoundError for
    one that the catalog does not have."""
    namespace = statement.namespace
    if namespace and tuple(level.lower() for level in namespace) != (SYSTEM,):
        if not environment.catalogs.catalog(statement.catalog).namespace_exists(namespace):
            raise NotFoundError("SCHEMA_NOT_FOUND", name=quoted(*namespace))
        return Outcome()
    return Outcome([[statement.catalog, [SYSTEM], SYSTEM, name] for name in sorted(PROCEDURES)])


def describe_procedure(environment: Environment, spark: SparkSession, statement: DescribeProcedure) -> Outcome:
    """One row per line. Raises NotFoundError PROCEDURE_NOT_FOUND."""
    procedure = find_procedure(statement.catalog, statement.name)
    lines = [f"Procedure:   {statement.catalog}.{SYSTEM}.{procedure.name}", "Parameters:"]
    lines += [f"  {one.name} {one.type}{'' if one.required else ' (optional)'}" for one in procedure.parameters]
    lines += ["Result columns:", *(f"  {name} {kind}" for name, kind in procedure.columns)]
    return Outcome([[line] for line in lines])
