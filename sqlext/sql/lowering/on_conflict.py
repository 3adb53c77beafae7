"""INSERT … ON CONFLICT as one SELECT: the proposed rows, outer joined with the stored rows of their keys.

Expressions see both: the proposed row as `excluded`, the stored one under the table's name or alias. A bare name is a
column of the stored row, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlext.errors import AnalysisError
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.name_case import name_key
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.schema import Schema
from sqlext.sql.binding import (
    Assigned,
    Relation,
    bind_assignments,
    checked_condition,
    new_value,
    qualify,
    target_relation,
)
from sqlext.sql.lowering.text import hidden_column, null_of, selected, showing_hidden, with_ctes
from sqlext.sql.row_rules import require_kept
from sqlext.sql.statements.statement import Insert, OnConflict, Slice
from sqlext.sql.tokens.expression_slice import plain_column
from sqlext.sql.tokens.quoting import quote_identifier

EXCLUDED = "excluded"
_WHERE = "ON CONFLICT DO UPDATE"
_NOBODY = Relation((), ())


def replaces_whole_rows(insert: Insert, conflict: OnConflict, schema: Schema, *, case_sensitive: bool = False) -> bool:
    """Whether DO UPDATE replaces the stored row by the whole proposed row, so that the statement is an upsert."""
    if not conflict.assignments or conflict.where is not None:
        return False
    assigned = _assigned(insert, conflict, schema, case_sensitive)
    others = [field.name for field in schema.fields if field.id not in schema.identifier_field_ids]
    return all(_is_proposed(assigned.get(name), name, case_sensitive) for name in others)


def lower_on_conflict(
    insert: Insert,
    conflict: OnConflict,
    rows: str,
    target: str,
    schema: Schema,
    *,
    generated: frozenset[str] = frozenset(),
    identities: frozenset[str] = frozenset(),
    row_ids: bool = False,
    kinds: bool = False,
    case_sensitive: bool = False,
) -> str:
    """Operation, file, position and columns of every change; with `row_ids` the row id of the changed row, with `kinds`
    the column `GIVEN_KIND` of `rows`. Columns of `generated` that are not assigned are null, to be computed; those of
    `identities` may not be assigned.

    `rows` is a relation of `__operation` and the table's columns, one row per key. Raises AnalysisError
    ON_CONFLICT_SETS_KEY, IDENTITY_UPDATE_REFUSED, and as `bind_assignments`.
    """
    relation = target_relation(insert.table, insert.alias, schema, case_sensitive=case_sensitive)
    proposed_first = tuple(one for one in relation.columns if name_key(one, case_sensitive) != EXCLUDED)
    visible = Relation(relation.name, proposed_first, case_sensitive)
    assigned = _assigned(insert, conflict, schema, case_sensitive)
    keys = frozenset(field.name for field in schema.identifier_fields)
    require_kept(identities - keys, assigned, _WHERE)
    hidden = ["_file", "_pos", *([ROW_ID.name] if row_ids else [])]
    file, position, *row_id = ((hidden_column(name, insert.alias, relation, relation), name) for name in hidden)
    is_there = f"{file[0]} IS NOT NULL"

    def seen(text: str) -> str:
        return qualify(text, visible, _NOBODY, _WHERE)

    columns = [
        (_operation(conflict, is_there, _condition(conflict, seen)), "__operation"),
        file,
        position,
    ]
    for field in schema.fields:
        kept, proposed = relation.column(field.name), f"{EXCLUDED}.{quote_identifier(field.name)}"
        value = assigned.get(field.name)
        text = null_of(field) if field.name in generated else kept
        if value is not None:
            text = new_value(value, field, kept, insert.table, visible=(visible,), seen=seen)
        if field.id in schema.identifier_field_ids:
            text = kept
        columns.append((f"CASE WHEN {is_there} THEN {text} ELSE {proposed} END", field.name))
    columns += row_id
    if kinds:
        columns.append((f"{EXCLUDED}.{quote_identifier(GIVEN_KIND)}", GIVEN_KIND))
    pairs = ((relation.column(one.name), quote_identifier(one.name)) for one in schema.identifier_fields)
    compared = " AND ".join(f"{key} = {EXCLUDED}.{name}" for key, name in pairs)
    joined = (
        f"SELECT {selected(columns)}\nFROM {rows} AS {EXCLUDED}\n"
        f"LEFT OUTER JOIN {showing_hidden(target, insert.alias, hidden, relation)}\nON {compared}"
    )
    return with_ctes(insert.ctes, f"SELECT * FROM (\n{joined}\n)\nWHERE `__operation` IS NOT NULL")


def _condition(conflict: OnConflict, seen: Callable[[str], str]) -> str:
    return "" if conflict.where is None else checked_condition(seen(conflict.where.text), _WHERE)


def _operation(conflict: OnConflict, is_there: str, condition: str) -> str:
    """The operation. With DO NOTHING a duplicate of a stored key is no error, as nothing is done with it."""
    given = f"{EXCLUDED}.`__operation`"
    deletes = f"WHEN {given} = 1Y THEN CASE WHEN {is_there} THEN 1Y END"
    if not conflict.assignments:
        return f"CASE {deletes} WHEN {is_there} AND {given} < 6Y THEN NULL WHEN {given} > 3Y THEN {given} ELSE 3Y END"
    update = f"CASE WHEN {condition} THEN 2Y END" if condition else "2Y"
    return f"CASE {deletes} WHEN {given} > 3Y THEN {given} WHEN {is_there} THEN {update} ELSE 3Y END"


def _assigned(insert: Insert, conflict: OnConflict, schema: Schema, case_sensitive: bool) -> Mapping[str, Assigned]:
    """The assigned values. Raises AnalysisError for a key column that is not assigned the proposed row's."""
    relation = target_relation(insert.table, insert.alias, schema, case_sensitive=case_sensitive)
    assigned = bind_assignments(conflict.assignments, relation, schema, _WHERE)
    for field in schema.identifier_fields:
        if field.name in assigned and not _is_proposed(assigned[field.name], field.name, case_sensitive):
            raise AnalysisError("ON_CONFLICT_SETS_KEY", name=insert.table, column=field.name)
    return assigned


def _is_proposed(value: Assigned | None, column: str, case_sensitive: bool) -> bool:
    if not isinstance(value, Slice):
        return False
    parts = plain_column(value.text)
    keys = None if parts is None else [name_key(part, case_sensitive) for part in parts]
    return keys == [EXCLUDED, name_key(column, case_sensitive)]
