"""INSERT INTO of plain literals, which are parsed here and not evaluated by Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.dml.literal_rows import literals_in_columns
from sqlext.command.dml.row_write import commit_written
from sqlext.command.dml.write_mode import WriteMode
from sqlext.command.environment import Environment
from sqlext.command.write_operation import WriteOperation
from sqlext.spark.query.store_assignment import is_ansi
from sqlext.spark.query.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.spec.row_kind import ROW_KIND
from sqlext.sql.statements.statement import Insert
from sqlext.sql.tokens.literal_query import literal_query
from sqlext.write.task import write_rows


def literal_rows(spark: SparkSession, statement: Insert, query: str, target: Target) -> pa.Table | None:
    """The rows of a statement whose `query` has a literal for each column of the target; else None
    (`literals_in_columns`)."""
    names = [field.name for field in target.table.metadata.schema().fields]
    given = names if statement.columns is None else statement.columns
    adds = not (statement.overwrite or statement.by_name or statement.static_partition or statement.conflict)
    if not adds or sorted(given) != sorted(names) or not is_ansi(spark):
        return None
    literals = literal_query(query)
    if literals is None or len(literals.names) != len(given) or ROW_KIND.name in map(str.lower, literals.names):
        return None
    return literals_in_columns(target, literals, [given.index(name) for name in names])


def append_literals(environment: Environment, spark: SparkSession, target: Target, rows: pa.Table) -> int:
    """Appends the rows in a commit; returns their number."""

    def write(operation: WriteOperation) -> WrittenFiles:
        return write_on_driver(rows, write_rows(operation.plan, task_identity=task_identity))

    return commit_written(environment, spark, target, WriteMode("append"), write)
