"""ALTER TABLE … CREATE, REPLACE and DROP BRANCH and TAG."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.reference_change import CreateReference as CreateReferenceAction
from sqlext.commit.actions.reference_change import DropReference as DropReferenceAction
from sqlext.commit.actions.reference_change import Retention
from sqlext.sql.statements.statement import CreateReference, DropReference


def create_reference(environment: Environment, spark: SparkSession, statement: CreateReference) -> Outcome:
    """Runs the statement; no rows. A branch of a table without snapshots gets an empty first snapshot."""
    table = environment.catalogs.load(statement.table.parts)
    makes_first = statement.type == "branch" and statement.snapshot_id is None and not statement.must_exist
    if makes_first and table.metadata.current_snapshot_id is None and statement.ref not in table.metadata.refs:
        table = environment.commit(statement.table.catalog, table, AppendFiles(()), Destination(statement.ref)).table
        statement = replace(statement, snapshot_id=table.metadata.refs[statement.ref].snapshot_id, or_replace=True)
    action = CreateReferenceAction(
        statement.ref,
        statement.type,
        statement.snapshot_id,
        or_replace=statement.or_replace,
        must_exist=statement.must_exist,
        if_not_exists=statement.if_not_exists and not statement.or_replace,
        retention=Retention(statement.max_ref_age_ms, statement.min_snapshots_to_keep, statement.max_snapshot_age_ms),
    )
    environment.commit(statement.table.catalog, table, action)
    return Outcome()


def drop_reference(environment: Environment, spark: SparkSession, statement: DropReference) -> Outcome:
    """Runs the statement; no rows."""
    table = environment.catalogs.load(statement.table.parts)
    action = DropReferenceAction(statement.ref, statement.type, statement.if_exists)
    environment.commit(statement.table.catalog, table, action)
    return Outcome()
