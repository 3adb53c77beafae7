"""UPDATE: the positions of the rows that match the condition are deleted, and their new versions written."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from pyspark.sql import SparkSession

from sqlext.command.change.carry_out import PlannedChange
from sqlext.command.change.change_facts import facts_of
from sqlext.command.change.named_rows import are_found, named_rows
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, has_row_ids, load_target
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.outcome import Outcome
from sqlext.command.plan.planner import plan_change
from sqlext.properties import UPDATE_ISOLATION_LEVEL, UPDATE_MODE
from sqlext.scan.filter.row_estimate import expected_rows
from sqlext.spark.query.lowered_sql import lowered_change
from sqlext.spark.query.store_assignment import is_ansi, require_strict_policy
from sqlext.spark.scan.exact_filter import exact_filter
from sqlext.spark.scan.rows_of_keys import keys_sought
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.sql.lowering.update import keeps_keys, kept_columns, lower_update
from sqlext.sql.row_rules import generated_names, identity_names, require_kept
from sqlext.sql.statements.statement import Update
from sqlext.sql.tokens.expression_slice import has_subquery


def update(environment: Environment, spark: SparkSession, statement: Update, branch: str | None = None) -> Outcome:
    """Runs the statement, on this branch if one is given; one row of counts."""
    target, planned = planned_update(environment, spark, statement, branch)
    counts = planned.carry_out(environment, spark, target)
    care_after_commit(environment, spark, target)
    return Outcome([counts.row()])


def planned_update(
    environment: Environment, spark: SparkSession, statement: Update, branch: str | None = None
) -> tuple[Target, PlannedChange]:
    """The target, and the change with its plan."""
    require_strict_policy(spark)
    target = load_target(environment, spark, statement.table, branch)
    schema = target.table.metadata.schema()
    exact = is_case_sensitive(spark)
    generated = generated_names(schema, target.table.metadata.properties)
    kept = kept_columns(statement, schema, case_sensitive=exact)
    identities = identity_names(schema, target.table.metadata.properties)
    require_kept(identities, (field.name for field in schema.fields if field.name not in kept), "UPDATE")
    lowered = lower_update(
        statement,
        schema,
        target.relation,
        generated=generated,
        row_ids=has_row_ids(target),
        case_sensitive=exact,
    )
    named = named_rows(environment, target, statement, case_sensitive=exact) if is_ansi(spark) else None
    query = None if statement.where is None or named is not None else lowered_change(spark, lowered)
    row_filter = None if query is None else exact_filter(spark, query, schema)
    if named is not None:
        row_filter = named.predicate
    guessed, by_key = None, False
    if row_filter is not None:
        files = [task.file for task in environment.scans.plan(target.version, row_filter).tasks]
        guessed = expected_rows(row_filter, files, schema)
        by_key = keys_sought(row_filter, schema.identifier_fields) is not None
    change = RowChange(
        lowered,
        UPDATE_ISOLATION_LEVEL.of(target.table.metadata.properties),
        keeps_keys=keeps_keys(statement, schema, case_sensitive=exact),
        kept_columns=tuple(name for name in kept if name not in generated),
        named=named,
        query=query,
    )
    facts = replace(
        facts_of(target, UPDATE_MODE, change.kept_columns),
        expected_rows=guessed,
        keeps_columns=bool(change.kept_columns) and not by_key,
        in_scan_order=lambda: not (by_key or _has_subquery(statement)),
        finds_keys=cache(lambda: named is not None and are_found(environment, target, named)),
    )
    return target, PlannedChange(plan_change(facts, environment.planning), change, facts.expected_rows)


def _has_subquery(statement: Update) -> bool:
    """Whether Spark may join the table's rows, and give them in another order."""
    expressions = [*(one.value for one in statement.assignments), *filter(None, [statement.where])]
    return statement.ctes is not None or any(has_subquery(one.text) for one in expressions)
