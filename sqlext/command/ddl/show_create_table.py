"""SHOW CREATE TABLE: the statement that creates a table or view again."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.spark.catalog.view_description import COMMENT, shown_properties, spark_sql
from sqlext.sql.show_create_table import create_table_text
from sqlext.sql.show_create_view import create_view_text
from sqlext.sql.statements.statement import ShowCreateTable


def show_create_table(environment: Environment, spark: SparkSession, statement: ShowCreateTable) -> Outcome:
    """Runs the statement; one row with the text."""
    name = statement.name
    views = environment.catalogs.catalog(name.catalog).views
    identifier = TableIdentifier(name.parts[1:-1], name.table)
    if views.view_exists(identifier):
        view = views.load_view(identifier).metadata
        sql, comment = spark_sql(str(name), view), view.properties.get(COMMENT)
        return Outcome([[create_view_text(name, view.schema(), sql, comment, shown_properties(view))]])
    return Outcome([[create_table_text(name, environment.catalogs.load(name.parts).metadata)]])
