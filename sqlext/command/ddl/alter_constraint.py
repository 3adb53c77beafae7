"""ALTER TABLE … ADD CONSTRAINT and DROP CONSTRAINT; stored rows must satisfy a new CHECK."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target, load_whole_target
from sqlext.command.check_definition import check_properties
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.constraint_change import ChangeConstraints
from sqlext.errors import AnalysisError, DataError, NotFoundError
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.constraint import CHECK_PREFIX, CheckConstraint, check_constraints
from sqlext.sql.row_rules import checked_columns, require_no_identity_in_checks
from sqlext.sql.statements.statement import AddConstraint, DropConstraint
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.violated_rows import shown_row

_SHOWN_COLUMNS = 8


def add_constraint(environment: Environment, spark: SparkSession, statement: AddConstraint) -> Outcome:
    """Runs the statement; no rows. Raises DataError CHECK_CONSTRAINT_VIOLATION if a stored row violates it."""
    target = load_whole_target(environment, spark, statement.table)
    metadata = target.table.metadata
    known = check_constraints(metadata.properties)
    properties = check_properties(spark, (statement.check,), metadata.schema(), known)
    for name, expression in properties.items():
        check = CheckConstraint(name.removeprefix(CHECK_PREFIX), expression)
        if any(one.name.lower() == check.name.lower() for one in known):
            raise AnalysisError("CONSTRAINT_ALREADY_EXISTS", name=check.name, table=target.name)
        require_no_identity_in_checks(metadata.schema(), {**metadata.properties, name: expression})
        _require_rows(spark, target, check)
    snapshot = target.version.snapshot
    change = ChangeConstraints(properties, checked_snapshot_id=None if snapshot is None else snapshot.snapshot_id)
    environment.commit(target.name.catalog, target.table, change)
    return Outcome()


def drop_constraint(environment: Environment, spark: SparkSession, statement: DropConstraint) -> Outcome:
    """Runs the statement; no rows. Raises NotFoundError CONSTRAINT_DOES_NOT_EXIST, unless IF EXISTS."""
    target = load_whole_target(environment, spark, statement.table)
    wanted = statement.constraint.lower()
    found = [one for one in check_constraints(target.table.metadata.properties) if one.name.lower() == wanted]
    if found:
        change = ChangeConstraints(removed=frozenset(CHECK_PREFIX + one.name for one in found))
        environment.commit(target.name.catalog, target.table, change)
    elif not statement.if_exists:
        raise NotFoundError("CONSTRAINT_DOES_NOT_EXIST", name=statement.constraint, table=target.name)
    return Outcome()


def _require_rows(spark: SparkSession, target: Target, check: CheckConstraint) -> None:
    columns = checked_columns(target.table.metadata.schema(), check.expression)[:_SHOWN_COLUMNS]
    shown = ", ".join(map(quote_identifier, columns)) or "1"
    query = f"SELECT {shown} FROM {target.relation}\nWHERE true AND NOT ({check.expression}\n) LIMIT 1"
    for row in lowered_query(spark, query).collect():
        values = shown_row(row.asDict())
        raise DataError(
            "CHECK_CONSTRAINT_VIOLATION", name=check.name, expression=check.expression, table=target.name, values=values
        )
