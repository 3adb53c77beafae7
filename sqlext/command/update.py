"""UPDATE: the old positions and the new rows of what the condition selects."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.row_level import change_rows, has_row_ids, load_target, require_delete_files
from sqlext.properties import UPDATE_ISOLATION_LEVEL
from sqlext.sql.lowering.update import lower_update
from sqlext.sql.statement import Update


def update(environment: Environment, spark: SparkSession, statement: Update) -> Outcome:
    """Runs the statement; one row of counts."""
    target = load_target(environment, spark, statement.table)
    require_delete_files(target, "UPDATE")
    schema = target.table.metadata.schema()
    lowered = lower_update(statement, schema, target.relation, row_ids=has_row_ids(target))
    assigned = {assignment.column[-1].lower() for assignment in statement.assignments}
    counts = change_rows(
        environment,
        spark,
        target,
        lowered,
        isolation=UPDATE_ISOLATION_LEVEL.of(target.table.metadata.properties),
        keeps_keys=not any(field.name.lower() in assigned for field in schema.identifier_fields),
    )
    return Outcome([counts.row()])
