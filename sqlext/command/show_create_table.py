"""SHOW CREATE TABLE: text that makes the same table again."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.sql.show_create_table import create_table_text
from sqlext.sql.statement import ShowCreateTable


def show_create_table(environment: Environment, spark: SparkSession, statement: ShowCreateTable) -> Outcome:
    """Runs the statement; one row with the text."""
    metadata = environment.catalogs.load(statement.name.parts).metadata
    return Outcome([[create_table_text(statement.name, metadata)]])
