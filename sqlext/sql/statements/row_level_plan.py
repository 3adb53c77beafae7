"""MERGE, UPDATE and DELETE that the shim describes, because they come as plans and not as text.

The shim gives texts where a statement has slices of its own: columns as `__target`.`c` and `__source`.`c`, and calls of
its functions for anything else (`jvm-shim/rules/RowLevelPlan.scala`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlext.sql.statements.statement import Assignment, Delete, Merge, MergeClause, Slice, TableName, Update

_TARGET, _SOURCE = "__target", "__source"


def planned_statement(description: Mapping[str, Any], table: TableName) -> Merge | Update | Delete:
    """The statement that changes `table` as described."""
    condition = _slice(description["condition"])
    if description["verb"] == "delete":
        return Delete(table, _TARGET, condition)
    if description["verb"] == "update":
        return Update(table, _assignments(description["assignments"]), _TARGET, condition)
    assert condition is not None
    source = _text(description["source"])
    evolving = description["evolving"]
    clauses = tuple(_clause(clause, evolving) for clause in description["clauses"])
    return Merge(table, source, condition, clauses, _TARGET, _SOURCE, evolving=evolving)


def _clause(description: Mapping[str, Any], evolving: bool) -> MergeClause:
    """Stars come written out, but for a MERGE that brings columns: there they have no assignments."""
    assignments = _assignments(description["assignments"])
    star = evolving and description["action"] != "delete" and not assignments
    return MergeClause(description["kind"], description["action"], _slice(description["condition"]), star, assignments)


def _assignments(described: Sequence[Any]) -> tuple[Assignment, ...]:
    return tuple(Assignment((_TARGET, *path), _text(value)) for path, value in described)


def _slice(text: str | None) -> Slice | None:
    return None if text is None else _text(text)


def _text(text: str) -> Slice:
    return Slice(text, 0, len(text))
