"""The rows of its target that a MERGE depends on, as far as its text shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlext.spec.schema import Schema
from sqlext.sql.binding import Relation, bind_assignments, clause_name, source_relation, star_values, target_relation
from sqlext.sql.lowering.key_upsert import compared_keys
from sqlext.sql.statements.statement import ClauseKind, Merge, MergeClause, Slice
from sqlext.sql.tokens.expression_slice import plain_column


def compares_keys(merge: Merge, schema: Schema, source_columns: Sequence[str], *, case_sensitive: bool = False) -> bool:
    """Whether the condition equates the primary keys of source and target, and inserted rows have the source's key.
    Raises AnalysisError for unknown names."""
    target = target_relation(merge.table, merge.alias, schema, case_sensitive=case_sensitive)
    source = source_relation(merge, source_columns, case_sensitive=case_sensitive)
    keys = compared_keys(merge, schema, target, source)
    inserts = [clause for clause in merge.clauses if clause.kind == "not matched"]
    return keys is not None and all(_inserts_keys(clause, merge, schema, target, source, keys) for clause in inserts)


def ends_unconditionally(merge: Merge, kind: ClauseKind) -> bool:
    """Whether a clause of that kind has no condition."""
    return any(clause.kind == kind and clause.condition is None for clause in merge.clauses)


def _inserts_keys(
    clause: MergeClause, merge: Merge, schema: Schema, target: Relation, source: Relation, keys: Mapping[str, str]
) -> bool:
    where = clause_name(clause)
    if clause.star:
        values = star_values(source, target, where, partial=merge.evolving)
        return all(values.get(name) == key for name, key in keys.items())
    assigned = bind_assignments(clause.assignments, target, schema, where)
    return all(_is_column(assigned.get(name), source, key) for name, key in keys.items())


def _is_column(value: object, source: Relation, column: str) -> bool:
    parts = plain_column(value.text) if isinstance(value, Slice) else None
    if parts is None:
        return False
    found = source.find(parts[0]) if len(parts) == 1 else None
    located = source.locate(parts)
    name = found if found is not None else located[0] if located is not None and located[1] == len(parts) else None
    return name is not None and source.column(name) == column
