"""The deletion of rows by a condition as a planned change: whole files by metadata, other rows by position."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from pyspark.sql import SparkSession

from sqlext.command.change.carry_out import PlannedChange
from sqlext.command.change.change_facts import facts_of
from sqlext.command.change.metadata_delete import covered_files
from sqlext.command.change.named_rows import are_found, named_rows
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.environment import Environment
from sqlext.command.plan.facts import ChangeFacts, CoveredFiles
from sqlext.command.plan.planner import plan_change
from sqlext.properties import DELETE_ISOLATION_LEVEL, DELETE_MODE
from sqlext.scan.filter.row_estimate import expected_rows
from sqlext.spark.query.lowered_sql import lowered_change
from sqlext.spark.scan.exact_filter import exact_filter
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.expression import Predicate
from sqlext.sql.lowering.delete import lower_delete
from sqlext.sql.statements.statement import Delete


def planned_delete(environment: Environment, spark: SparkSession, statement: Delete) -> tuple[Target, PlannedChange]:
    """The target, and the change with its plan."""
    target = load_target(environment, spark, statement.table)
    schema = target.table.metadata.schema()
    lowered = lower_delete(statement, schema, target.relation)
    named = named_rows(environment, target, statement, case_sensitive=is_case_sensitive(spark))
    query = None if statement.where is None or named is not None else lowered_change(spark, lowered)
    row_filter = None if query is None else exact_filter(spark, query, schema)
    isolation = DELETE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    facts = replace(facts_of(target, DELETE_MODE, None), only_deletes=True, deletes_all=statement.where is None)
    if named is not None:
        row_filter = named.predicate
        facts = replace(facts, finds_keys=cache(lambda: are_found(environment, target, named)))
    change = RowChange(lowered, isolation, row_filter=row_filter, named=named, query=query)
    if row_filter is not None:
        facts = _with_covered(environment, target, row_filter, facts)
    return target, PlannedChange(plan_change(facts, environment.planning), change, facts.expected_rows)


def _with_covered(environment: Environment, target: Target, row_filter: Predicate, facts: ChangeFacts) -> ChangeFacts:
    covered = covered_files(environment, target, row_filter)
    undecided = [task.file for task in covered.undecided]
    return replace(
        facts,
        covered=CoveredFiles(len(covered.whole), len(undecided)),
        expected_rows=expected_rows(row_filter, undecided, target.table.metadata.schema()),
    )
