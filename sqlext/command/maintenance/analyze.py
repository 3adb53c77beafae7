"""ANALYZE TABLE, Spark's statement for statistics of tables and columns."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.maintenance.table_statistics import compute_statistics
from sqlext.command.outcome import Outcome
from sqlext.sql.statements.maintenance_statement import AnalyzeTable


def analyze_table(environment: Environment, spark: SparkSession, statement: AnalyzeTable) -> Outcome:
    """Computes the statistics of columns. Those of the table itself, its rows and bytes, are those of its files, which
    each scan knows. Raises as `compute_statistics`."""
    table = environment.catalogs.load(statement.table.parts)
    if statement.columns is not None:
        columns = statement.columns or None
        compute_statistics(environment, spark, statement.table.catalog, table, None, columns)
    return Outcome()
