"""The rows of its target that a MERGE depends on, as far as its text shows."""

from __future__ import annotations

from sqlext.sql.binding import Relation
from sqlext.sql.bound_merge import BoundMerge
from sqlext.sql.statements.statement import ClauseKind, Merge, MergeClause, Slice
from sqlext.sql.tokens.expression_slice import plain_column


def compares_keys(bound: BoundMerge) -> bool:
    """Whether the condition equates the primary keys of source and target, and inserted rows have the source's key.
    Raises AnalysisError for unknown names."""
    inserts = (clause for clause in bound.merge.clauses if clause.kind == "not matched")
    return bound.key_columns is not None and all(_inserts_keys(bound, clause) for clause in inserts)


def keeps_keys(bound: BoundMerge) -> bool:
    """Whether updated rows keep their keys: no clause assigns one, but from a column of the source that equals it.
    Raises AnalysisError for unknown names."""
    updates = [clause for clause in bound.merge.clauses if clause.action == "update"]
    return all(_keeps_key(bound, clause, path) for clause in updates for path in _key_paths(bound))


def _key_paths(bound: BoundMerge) -> list[tuple[str, ...]]:
    return [bound.schema.column_path(id) for id in bound.schema.identifier_field_ids]


def _keeps_key(bound: BoundMerge, clause: MergeClause, path: tuple[str, ...]) -> bool:
    equal = [column for name, column in bound.equal_columns if (name,) == path and clause.kind == "matched"]
    if clause.star:
        values = bound.star_values(clause)
        return path[0] not in values or values[path[0]] in equal
    assigned = bound.assignments(clause)
    if path[0] not in assigned:
        return True
    return any(_is_column(assigned[path[0]], bound.source, column) for column in equal)


def has_unconditional_clause(merge: Merge, kind: ClauseKind) -> bool:
    """Whether a clause of that kind has no condition."""
    return any(clause.kind == kind and clause.condition is None for clause in merge.clauses)


def _inserts_keys(bound: BoundMerge, clause: MergeClause) -> bool:
    keys = bound.key_columns or {}
    if clause.star:
        values = bound.star_values(clause)
        return all(values.get(name) == key for name, key in keys.items())
    assigned = bound.assignments(clause)
    return all(_is_column(assigned.get(name), bound.source, key) for name, key in keys.items())


def _is_column(value: object, source: Relation, column: str) -> bool:
    parts = plain_column(value.text) if isinstance(value, Slice) else None
    if parts is None:
        return False
    found = source.find(parts[0]) if len(parts) == 1 else None
    located = source.locate(parts)
    name = found if found is not None else located[0] if located is not None and located[1] == len(parts) else None
    return name is not None and source.column(name) == column
