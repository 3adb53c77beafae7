"""INSERT INTO … VALUES of plain literals: their text says what goes into the table, and Spark is not asked."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.command.data_frame_write import WriteMode, commit_written
from sqlext.command.distribution import keeps_order
from sqlext.command.environment import Environment
from sqlext.command.row_level import Target
from sqlext.command.write_operation import WriteOperation
from sqlext.spark.store_assignment import is_ansi
from sqlext.spark.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.sql.row_rules import row_rules
from sqlext.sql.statement import Insert
from sqlext.sql.values_clause import literal_columns
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.task import write_rows


def literal_rows(spark: SparkSession, statement: Insert, query: str, target: Target) -> pa.Table | None:
    """The rows of a statement that appends `query` to all columns of its target; None where Spark has a part in it.

    That is its own part of an INSERT, the evaluation of values, of the table's rules for rows, and of its order.
    """
    metadata = target.table.metadata
    schema = metadata.schema()
    names = [field.name for field in schema.fields]
    given = names if statement.columns is None else statement.columns
    appends = not (statement.overwrite or statement.by_name or statement.static_partition or statement.conflict)
    if not appends or sorted(given) != sorted(names) or not is_ansi(spark):
        return None
    columns = literal_columns(query, [schema.fields[names.index(name)] for name in given])
    if columns is None or row_rules(schema, metadata.properties) or (len(columns[0]) > 1 and keeps_order(metadata)):
        return None
    arrow = schema_to_arrow(schema)
    return pa.table([pa.array(columns[given.index(f.name)], f.type) for f in arrow], schema=arrow)


def write_literals(environment: Environment, spark: SparkSession, target: Target, rows: pa.Table) -> int:
    """Writes and commits them; the number of rows written."""

    def write(operation: WriteOperation) -> WrittenFiles:
        return write_on_driver(rows, write_rows(operation.plan, task_identity=task_identity))

    return commit_written(environment, spark, target, WriteMode("append"), write)
