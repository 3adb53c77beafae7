"""DELETE as a SELECT of the deleted positions."""

from __future__ import annotations

from sqlext.spec.schema import Schema
from sqlext.sql.binding import target_relation
from sqlext.sql.lowering.text import filtered, hidden_column, showing_hidden, with_ctes
from sqlext.sql.statements.statement import Delete


def lower_delete(statement: Delete, schema: Schema, target: str) -> str:
    """Operation, file and position of every row that the condition selects; `target` is the relation's text."""
    relation = target_relation(statement.table, statement.alias, schema)
    file, position = (hidden_column(name, statement.alias, relation, relation) for name in ("_file", "_pos"))
    return with_ctes(
        statement.ctes,
        f"SELECT 1Y AS `__operation`, {file} AS `_file`, {position} AS `_pos`\n"
        f"FROM {showing_hidden(target, statement.alias, ('_file', '_pos'), relation)}{filtered(statement.where)}",
    )
