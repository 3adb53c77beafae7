"""Rows that a DELETE or UPDATE names by their keys in plain literals: the driver looks them up, without a query.

`DELETE FROM t WHERE id = 5` and `UPDATE t SET v = 'x' WHERE id IN (5, 6)` spend most of their time in Spark's analysis
and planning of a query for a row or two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa

from sqlext.command.change.distribution import arrow_order, keeps_order, ordered
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, row_delta, written_plan
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.key_lookup import row_ids
from sqlext.scan.live_rows import unread_type
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.query.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.spark.scan.rows_of_keys import FoundRows, having_keys, is_looked_up, rows_of_keys
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.sql.binding import Relation, bind_assignments, target_relation
from sqlext.sql.row_rules import row_rules
from sqlext.sql.statements.statement import Delete, Slice, Update
from sqlext.sql.tokens.literal_condition import LiteralCondition, literal_condition
from sqlext.sql.tokens.plain_literal import column_value, compares_as_stored, read_literal
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.task import write_rows


@dataclass(frozen=True, slots=True)
class NamedRows:
    """`keys` are distinct, in the columns of the table's key, and `predicate` selects exactly the rows that have one.

    `plan` has the files that may have the rows; None if only a join applies their equality deletes. It is made once.
    `values` are those that an UPDATE assigns, by column, as Python's; None for a DELETE.
    """

    keys: pa.Table
    predicate: Predicate
    plan: Callable[[], ScanPlan | None]
    values: Mapping[str, Any] | None = None


def named_rows(
    environment: Environment, target: Target, statement: Delete | Update, *, case_sensitive: bool
) -> NamedRows | None:
    """The rows that the statement names, and what it assigns; None if Spark has to evaluate one of both, or a rule of
    the table for new rows."""
    schema = target.table.metadata.schema()
    condition = None if statement.where is None or statement.ctes else literal_condition(statement.where.text)
    if condition is None or not schema.identifier_field_ids:
        return None
    relation = target_relation(statement.table, statement.alias, schema, case_sensitive=case_sensitive)
    key = _key(schema)
    keys = None if key is None else _keys(relation, condition, key)
    if key is None or keys is None:
        return None
    values = None
    if isinstance(statement, Update):
        values = _values(target, relation, statement)
        if values is None or any(field.name in values for field in key):
            return None
    predicate = having_keys(key, keys)
    return NamedRows(keys, predicate, cache(lambda: _plan(environment, target, predicate)), values)


def _key(schema: Schema) -> Sequence[NestedField] | None:
    """The columns of the key; None if one is within a struct, or has a value in rows that were written before it."""
    if any(len(schema.column_path(id)) > 1 for id in schema.identifier_field_ids):
        return None
    fields = schema.identifier_fields
    return None if any(field.initial_default is not None for field in fields) else fields


def _keys(relation: Relation, condition: LiteralCondition, key: Sequence[NestedField]) -> pa.Table | None:
    """The condition's keys; None if it has other columns than the key, or a literal that Spark would convert."""
    names = [_column(relation, parts) for parts in condition.columns]
    if sorted(filter(None, names)) != sorted(field.name for field in key) or len(names) != len(key):
        return None
    places = [names.index(field.name) for field in key]
    for place, field in zip(places, key, strict=True):
        if not all(compares_as_stored(row[place], field.type) for row in condition.rows):
            return None
    try:
        rows = {
            tuple(column_value(row[n], field) for n, field in zip(places, key, strict=True)): None
            for row in condition.rows
        }
    except ValueError:
        return None
    arrow = schema_to_arrow(Schema(tuple(key)))
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(one, field.type) for one, field in zip(columns, arrow, strict=True)], schema=arrow)


def _column(relation: Relation, parts: Sequence[str]) -> str | None:
    """The column that the whole name spells."""
    found = relation.begin(parts)
    return None if found is None or found[1] < len(parts) else found[0]


def _values(target: Target, relation: Relation, statement: Update) -> Mapping[str, Any] | None:
    """The literals that the statement assigns; None if it assigns anything else, or the table has rules for new rows.
    Raises as `bind_assignments`."""
    metadata = target.table.metadata
    schema = metadata.schema()
    if row_rules(schema, metadata.properties) or (keeps_order(metadata) and arrow_order(metadata) is None):
        return None
    values: dict[str, Any] = {}
    for name, assigned in bind_assignments(statement.assignments, relation, schema, "UPDATE").items():
        text = assigned.text.strip() if isinstance(assigned, Slice) else ""
        literal = read_literal(text, 0)
        field = schema.column(name)
        if literal is None or literal[1] < len(text) or field is None:
            return None
        try:
            values[name] = column_value(literal[0], field)
        except ValueError:
            return None
    return values


def are_found(environment: Environment, target: Target, named: NamedRows) -> bool:
    """Whether the driver finds the rows, and reads the columns that they keep, in less time than a query."""
    plan, others = named.plan(), _kept(target, named)
    if plan is None or unread_type(Schema(tuple(others))) is not None:
        return False
    key = target.table.metadata.schema().identifier_fields
    return is_looked_up(target.version, plan, key, others, environment.planning.thresholds)


def change_named_rows(environment: Environment, target: Target, named: NamedRows, isolation: str) -> Counts:
    """Deletes the rows by position, of an UPDATE after their new versions are written, and commits.

    Raises as `rows_of_keys` and `commit_change`.
    """
    plan, key = named.plan(), target.table.metadata.schema().identifier_fields
    assert plan is not None
    require_allowed(target.version.io, [task.file for task in plan.tasks])
    found = list(rows_of_keys(target.version, plan, key, named.keys, _kept(target, named)))
    positions = {one.path: one.positions for one in found}
    if not positions:
        return Counts()
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        new = WrittenFiles() if named.values is None else _write(target, operation, plan, named, found)
        written = replace(new, positions=positions)
        read = ReadSet(added=named.predicate)
        delta = row_delta(environment, target, operation, written, read_set=read, isolation=isolation)
    if delta is not None:
        commit_change(environment, target, delta)
    count = sum(map(len, positions.values()))
    return Counts(deleted=count) if named.values is None else Counts(updated=count)


def _plan(environment: Environment, target: Target, predicate: Predicate) -> ScanPlan | None:
    return environment.scans.with_positions(target.version, environment.scans.plan(target.version, predicate))


def _kept(target: Target, named: NamedRows) -> Sequence[NestedField]:
    """The columns that new rows have from the old ones, but for the key."""
    if named.values is None:
        return ()
    schema = target.table.metadata.schema()
    key = set(schema.identifier_field_ids)
    return [field for field in schema.fields if field.id not in key and field.name not in named.values]


def _write(
    target: Target, operation: WriteOperation, plan: ScanPlan, named: NamedRows, found: Sequence[FoundRows]
) -> WrittenFiles:
    """The files of the new rows."""
    metadata = target.table.metadata
    rows = pa.concat_tables([_new_rows(metadata.schema(), named.values or {}, one) for one in found])
    if has_row_ids(target):
        ids = row_ids(target.version.io, plan, {one.path: one.positions for one in found})
        rows = rows.append_column(pa.field(ROW_ID.name, pa.int64()), ids)
    sorted_rows = ordered(rows, metadata)
    assert sorted_rows is not None
    return write_on_driver(sorted_rows, write_rows(written_plan(target, operation), task_identity=task_identity))


def _new_rows(schema: Schema, values: Mapping[str, Any], found: FoundRows) -> pa.Table:
    """The rows of one file with these values in the place of theirs, in the table's columns."""
    arrow, count = schema_to_arrow(schema), len(found.positions)
    columns = [
        pa.repeat(pa.scalar(values[field.name], to.type), count) if field.name in values else found.columns[field.id]
        for field, to in zip(schema.fields, arrow, strict=True)
    ]
    return pa.table(columns, schema=arrow)
