"""UPDATE as a SELECT of the old rows' positions and the new rows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.sql.binding import Assigned, bind_assignments, new_value, target_relation
from sqlext.sql.lowering.text import filtered, hidden_column, null_of, selected, showing_hidden, with_ctes
from sqlext.sql.statements.statement import Slice, Update


def lower_update(
    statement: Update,
    schema: Schema,
    target: str,
    *,
    generated: frozenset[str] = frozenset(),
    row_ids: bool = False,
    case_sensitive: bool = False,
) -> str:
    """Operation, file, position and all columns, assigned or kept, of every row that the condition selects; with
    `row_ids` its row id after them. Columns of `generated` that are not assigned are null, to be computed.

    Raises AnalysisError and UnsupportedError for assignments as `bind_assignments` does.
    """
    relation = target_relation(statement.table, statement.alias, schema, case_sensitive=case_sensitive)
    assigned = bind_assignments(statement.assignments, relation, schema, "UPDATE")
    hidden = ["_file", "_pos", *([ROW_ID.name] if row_ids else [])]
    file, position, *row_id = ((hidden_column(name, statement.alias, relation, relation), name) for name in hidden)
    columns = [("2Y", "__operation"), file, position]
    for field in schema.fields:
        value = assigned.get(field.name)
        kept = relation.column(field.name)
        if value is not None:
            text = new_value(value, field, kept, statement.table, visible=(relation,))
        else:
            text = null_of(field) if field.name in generated else kept
        columns.append((text, field.name))
    columns += row_id
    relation_text = showing_hidden(target, statement.alias, hidden, relation) + filtered(statement.where)
    return with_ctes(statement.ctes, f"SELECT {selected(columns)}\nFROM {relation_text}")


def kept_columns(statement: Update, schema: Schema, *, case_sensitive: bool = False) -> tuple[str, ...]:
    """The columns without any assignment. Raises as `lower_update`."""
    assigned = _assigned(statement, schema, case_sensitive)
    return tuple(field.name for field in schema.fields if field.name not in assigned)


def keeps_keys(statement: Update, schema: Schema, *, case_sensitive: bool = False) -> bool:
    """Whether no identifier field is assigned, by itself or with a struct around it. Raises as `lower_update`."""
    assigned = _assigned(statement, schema, case_sensitive)
    return not any(_is_assigned(assigned, schema.column_path(id)) for id in schema.identifier_field_ids)


def _assigned(statement: Update, schema: Schema, case_sensitive: bool) -> Mapping[str, Assigned]:
    relation = target_relation(statement.table, statement.alias, schema, case_sensitive=case_sensitive)
    return bind_assignments(statement.assignments, relation, schema, "UPDATE")


def _is_assigned(assigned: Mapping[str, Assigned], path: tuple[str, ...]) -> bool:
    inner = assigned.get(path[0])
    return isinstance(inner, Slice) or (inner is not None and _is_assigned(inner, path[1:]))
