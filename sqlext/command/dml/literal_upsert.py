"""Upserts of literals, whose rows are read from the statement without Spark."""

from __future__ import annotations

import pyarrow as pa

from sqlext.command.change.row_level import Target
from sqlext.command.dml.literal_rows import literals_in_columns
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import ChangePlan, Way
from sqlext.command.plan.facts import SourceSize
from sqlext.command.plan.planner import plan_change
from sqlext.command.upsert.change_batch import has_order_or_kinds
from sqlext.command.upsert.equality import upsert_given
from sqlext.command.upsert.input_changelog import stores_input
from sqlext.command.upsert.key_facts import key_facts_of
from sqlext.command.upsert.look_up import replace_given
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.sql.lowering.key_upsert import KeyUpsert
from sqlext.sql.statements.statement import Merge
from sqlext.sql.tokens.literal_query import LiteralQuery, literal_query
from sqlext.sql.tokens.plain_literal import compares_as_stored
from sqlext.write.distinct_keys import require_distinct


def takes_whole_rows(target: Target) -> bool:
    """Whether an upsert replaces rows as a whole, by key alone: the table has no merge engine, no row kinds, no
    sequence field, and does not store its input as changelog, and no key column may be null."""
    properties = target.table.metadata.properties
    if has_merge_engine(properties) or stores_input(target) or has_order_or_kinds(target, ()):
        return False
    return all(field.required for field in target.table.metadata.schema().identifier_fields)


def plan_of_given(environment: Environment, target: Target) -> ChangePlan | None:
    """The plan of an upsert of rows on the driver, for which Spark reads neither source nor target.

    None if the chosen plan needs Spark.
    """
    facts = key_facts_of(environment, target, lambda: SourceSize(0, is_small=True), is_given=True)
    plan = plan_change(facts, environment.planning)
    return plan if plan.writer.given else None


def upsert_literals(
    environment: Environment, target: Target, plan: ChangePlan, rows: pa.Table, isolation: str = SNAPSHOT
) -> Counts:
    """Writes and commits the rows, by a plan of `plan_of_given`. Raises DataError DUPLICATE_KEY."""
    if plan.way is Way.EQUALITY:
        return upsert_given(environment, target, rows, distinct_keys=True)
    keys = rows.select([field.name for field in target.table.metadata.schema().identifier_fields])
    require_distinct(keys, str(target.name))
    return replace_given(environment, target, rows, None, isolation)


def literal_source(merge: Merge) -> LiteralQuery | None:
    """The source with its column names in the statement; None if it is not a query of literals or its names are not
    unique."""
    text = merge.source.text
    if merge.ctes is not None or not text.startswith("("):
        return None
    literals = literal_query(text[1:-1])
    if literals is None:
        return None
    names = merge.source_columns or literals.names
    unlike = len({name.lower() for name in names}) == len(literals.names)
    return LiteralQuery(names, literals.rows) if unlike and len(names) == len(literals.names) else None


def merged_literals(target: Target, upsert: KeyUpsert, literals: LiteralQuery) -> pa.Table | None:
    """The source's rows in the table's columns; None if Spark is needed to compute or cast them."""
    schema = target.table.metadata.schema()
    columns = {upsert.bound.source.column(name): number for number, name in enumerate(literals.names)}
    if any(upsert.values[field.name] not in columns for field in schema.fields):
        return None
    places = {field.id: columns[upsert.values[field.name]] for field in schema.fields}
    for key in schema.identifier_fields:
        if not all(compares_as_stored(row[places[key.id]], key.type) for row in literals.rows):
            return None
    return literals_in_columns(target, literals, list(places.values()))
