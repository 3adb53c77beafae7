"""UNDROP TABLE: a table that was dropped without PURGE is restored with its history."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.sql.statements.statement import Undrop


def undrop(environment: Environment, spark: SparkSession, statement: Undrop) -> Outcome:
    """Runs the statement; no rows. Raises as `Catalog.undrop_table`."""
    name = statement.name
    environment.catalogs.catalog(name.catalog).undrop_table(TableIdentifier(name.parts[1:-1], name.table))
    return Outcome()
