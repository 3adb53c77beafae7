"""Upserts of plain literals by equality deletes: neither the source nor the target needs Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.change.strategy import RowChange, Strategy
from sqlext.command.dml.literal_rows import literals_in_columns
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.upsert.change_batch import has_order_or_kinds
from sqlext.command.upsert.given_changes import stores_given
from sqlext.command.upsert.upsert import goes_by_equality, upsert_held
from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.spark.session import journal
from sqlext.spec.types import DateType, IntegerType, LongType, StringType, Type
from sqlext.sql.lowering.key_upsert import KeyUpsert
from sqlext.sql.statements.statement import Merge
from sqlext.sql.tokens.literal_query import LiteralQuery, literal_query
from sqlext.sql.tokens.plain_literal import LiteralKind

# A condition compares the source's key before it has the column's type: keys that are equal then are equal before.
_COMPARED_ALIKE: dict[LiteralKind, tuple[type[Type], ...]] = {
    "whole": (IntegerType, LongType),
    "text": (StringType,),
    "date": (DateType,),
}


def upserts_literals(environment: Environment, target: Target) -> bool:
    """Whether new rows take the place of those of their keys, with nothing to be known of either."""
    properties = target.table.metadata.properties
    looked_at = has_merge_engine(properties) or stores_given(target) or has_order_or_kinds(target, ())
    return not looked_at and goes_by_equality(environment, target)


def literal_source(merge: Merge) -> LiteralQuery | None:
    """The source under the names that the statement knows, where it is plain literals."""
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
    """The source's rows in the table's columns; None where Spark is needed, as in `literals_in_columns`."""
    schema = target.table.metadata.schema()
    columns = {upsert.source.column(name): number for number, name in enumerate(literals.names)}
    if any(upsert.values[field.name] not in columns for field in schema.fields):
        return None
    places = {field.id: columns[upsert.values[field.name]] for field in schema.fields}
    for key in schema.identifier_fields:
        kinds = {row[places[key.id]].kind for row in literals.rows}
        if not all(isinstance(key.type, _COMPARED_ALIKE.get(kind, ())) for kind in kinds):
            return None
    return literals_in_columns(target, literals, list(places.values()))


def literal_upsert(rows: pa.Table) -> Strategy:
    """Equality deletes of the keys of these rows; see `Strategy`."""

    def run(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
        journal.record(change.lowered)
        return upsert_held(environment, target, rows, distinct_keys=True)

    return run
