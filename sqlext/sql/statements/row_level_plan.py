"""MERGE, UPDATE and DELETE that Spark has as plans and not as text, such as `DataFrame.mergeInto`.

The shim (`jvm-shim/rules/RowLevelPlan.scala`) describes them with texts in place of slices: columns are
`__target`.`c` and `__source`.`c`, anything else is a call of a function of the shim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlext.sql.statements.statement import Assignment, Delete, Merge, MergeClause, Slice, TableName, Update

_TARGET, _SOURCE = "__target", "__source"


def planned_statement(description: Mapping[str, Any], table: TableName) -> Merge | Update | Delete:
    """The statement of the description, with the target `table`."""
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
    """The shim expands stars, except with schema evolution, where a star has no assignments."""
    assignments = _assignments(description["assignments"])
    star = evolving and description["action"] != "delete" and not assignments
    return MergeClause(description["kind"], description["action"], _slice(description["condition"]), star, assignments)


def _assignments(described: Sequence[Any]) -> tuple[Assignment, ...]:
    return tuple(Assignment((_TARGET, *path), _text(value)) for path, value in described)


def _slice(text: str | None) -> Slice | None:
    return None if text is None else _text(text)


def _text(text: str) -> Slice:
    return Slice(text, 0, len(text))
