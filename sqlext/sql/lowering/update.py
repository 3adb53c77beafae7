"""UPDATE as a SELECT of the positions that go and the rows that come in their place."""

from __future__ import annotations

from sqlext.spec.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.sql.binding import assigned_value, bind_assignments, target_relation, value_text
from sqlext.sql.lowering.text import aliased, filtered, selected, with_ctes
from sqlext.sql.statement import Update


def lower_update(
    statement: Update, schema: Schema, target: str, *, row_ids: bool = False, case_sensitive: bool = False
) -> str:
    """Operation, file, position and all columns, assigned or kept, of every row that the condition selects; with
    `row_ids` its row id behind them.

    Raises AnalysisError for a column that is unknown or assigned twice, UnsupportedError for a nested field.
    """
    relation = target_relation(statement.table, statement.alias, schema, case_sensitive=case_sensitive)
    assigned = bind_assignments(statement.assignments, relation, "UPDATE")
    columns = [("2Y", "__operation"), (relation.column("_file"), "_file"), (relation.column("_pos"), "_pos")]
    for field in schema.fields:
        value = assigned.get(field.name)
        kept = relation.column(field.name)
        text = kept if value is None else assigned_value(value_text(value, field), field, statement.table)
        columns.append((text, field.name))
    if row_ids:
        columns.append((relation.column(ROW_ID.name), ROW_ID.name))
    relation_text = aliased(target, statement.alias) + filtered(statement.where)
    return with_ctes(statement.ctes, f"SELECT {selected(columns)}\nFROM {relation_text}")
