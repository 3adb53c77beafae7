"""A MERGE with its names bound to the columns of target and source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.sql.binding import (
    Assigned,
    Relation,
    assigned_value,
    bind_assignments,
    checked_condition,
    new_value,
    qualify,
    target_relation,
    unresolved,
)
from sqlext.sql.literal import write_default_text
from sqlext.sql.row_rules import require_kept
from sqlext.sql.statements.statement import Merge, MergeClause, Slice
from sqlext.sql.tokens.expression_slice import equated_columns, required_equalities

# The alias of a MERGE source that is a query without alias.
UNNAMED_SOURCE = "__source_rows"


@dataclass(frozen=True)
class BoundMerge:
    """The statement, the target's schema, and the relations that its names may refer to.

    Columns of `generated` get null where a clause does not assign them, to be computed. Those of `identities` get null
    in inserted rows, and keep their values in others.
    """

    merge: Merge
    schema: Schema
    target: Relation
    source: Relation
    generated: frozenset[str] = frozenset()
    identities: frozenset[str] = frozenset()

    @cached_property
    def key_columns(self) -> Mapping[str, str] | None:
        """The qualified source column that the condition compares with each column of the target's key, by its name.

        None unless the condition is one equality for each column of the key.
        """
        pairs = equated_columns(self.merge.condition.text)
        if pairs is None:
            return None
        keys: dict[str, str] = {}
        for left, right in pairs:
            found = self._sides(left, right)
            if found is None or found[0] in keys:
                return None
            keys[found[0]] = found[1]
        identifiers = {self.schema.column_path(id) for id in self.schema.identifier_field_ids}
        return keys if keys and {(name,) for name in keys} == identifiers else None

    @cached_property
    def equal_columns(self) -> frozenset[tuple[str, str]]:
        """Columns of the target, by name, each with a qualified column of the source that equals it in matched rows."""
        pairs = (self._sides(left, right) for left, right in required_equalities(self.merge.condition.text))
        return frozenset(pair for pair in pairs if pair is not None)

    def _sides(self, left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, str] | None:
        """The column of the target and the qualified one of the source, if there is one of each."""
        target, source = self.target, self.source
        for one, other in ((left, right), (right, left)):
            key, value = _whole_column(one, target, source), _whole_column(other, source, target)
            if key is not None and value is not None:
                return key, source.column(value)
        return None

    def star_values(self, clause: MergeClause) -> dict[str, str]:
        """The source's column of the same name for each column of the target, for a clause with `*`.

        Raises AnalysisError for a column that the source lacks; with schema evolution it is left out.
        """
        values: dict[str, str] = {}
        for name in self.target.columns:
            column = self.source.find(name)
            if name in self.identities and clause.action == "update":
                if column is not None and (name, self.source.column(column)) not in self.equal_columns:
                    raise AnalysisError("IDENTITY_UPDATE_REFUSED", column=name, clause=f"{clause_name(clause)} SET *")
                continue
            if column is None and name in self.generated | self.identities:
                values[name] = "NULL"
                continue
            if column is None and self.merge.evolving:
                continue
            if column is None:
                raise unresolved(name, f"the source of {clause_name(clause)} *", self.source.columns)
            values[name] = self.source.column(column)
        return values

    def assignments(self, clause: MergeClause) -> Mapping[str, Assigned]:
        """What a clause without `*` assigns, by column of the target. Raises what `bind_assignments` raises."""
        return bind_assignments(clause.assignments, self.target, self.schema, clause_name(clause))


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A WHEN clause whose texts can be used over a join of target and source.

    `values` has texts of the column's type, by column name. A column without one keeps its value in an update, and is
    null in an insert, as it has no default.
    """

    clause: MergeClause
    condition: str | None
    values: Mapping[str, str]


def bind_merge(
    merge: Merge,
    schema: Schema,
    source_columns: Sequence[str],
    *,
    generated: frozenset[str] = frozenset(),
    identities: frozenset[str] = frozenset(),
    case_sensitive: bool = False,
) -> BoundMerge:
    """The statement over a target of `schema`; Spark finds `source_columns` in `source_select(merge)`."""
    name = (merge.source_alias,) if merge.source_alias is not None else merge.source_name or (UNNAMED_SOURCE,)
    target = target_relation(merge.table, merge.alias, schema, case_sensitive=case_sensitive)
    source = Relation(name, tuple(source_columns), case_sensitive)
    return BoundMerge(merge, schema, target, source, generated, identities)


def bind_clause(bound: BoundMerge, clause: MergeClause, *, coerces_structs: bool = False) -> BoundClause:
    """The clause with its star expanded and its names qualified.

    With `coerces_structs`, Spark's `spark.sql.mergeNestedTypeCoercion.enabled`, structs of the source may lack fields:
    `UPDATE SET *` keeps the target's, and with schema evolution they are null in every other clause.

    An INSERT sees the source only, and a clause BY SOURCE the target only, but their texts are used over a join of
    both, so bare names are qualified. Raises AnalysisError for names of the hidden side, and what `bind_assignments`
    raises.
    """
    merge, schema, target, source = bound.merge, bound.schema, bound.target, bound.source
    where = clause_name(clause)
    fields = {field.name: field for field in schema.fields}
    sides = {"matched": (target, source), "not matched": (source,), "not matched by source": (target,)}[clause.kind]

    def seen(text: str) -> str:
        if clause.kind == "matched":
            return text
        visible, hidden = (target, source) if clause.kind == "not matched by source" else (source, target)
        return qualify(text, visible, hidden, where)

    fills = coerces_structs and merge.evolving
    values: dict[str, str] = {}
    if clause.action == "update":
        values = {name: assigned_value("NULL", fields[name], merge.table) for name in bound.generated}
    if clause.action == "insert":
        absent = [field for field in schema.fields if field.write_default is not None]
        values = {field.name: assigned_value(write_default_text(field), field, merge.table) for field in absent}
    if clause.star:
        keeps = coerces_structs and clause.action == "update"
        for name, text in bound.star_values(clause).items():
            kept = target.column(name) if keeps else None
            values[name] = assigned_value(text, fields[name], merge.table, kept=kept, fills=fills)
    else:
        assigned = bound.assignments(clause)
        if clause.action == "insert":
            _require_whole_columns(assigned, where)
        else:
            require_kept(bound.identities, assigned, where)
        for name, value in assigned.items():
            kept = target.column(name)
            values[name] = new_value(value, fields[name], kept, merge.table, visible=sides, seen=seen, fills=fills)
    condition = None if clause.condition is None else checked_condition(seen(clause.condition.text), where)
    return BoundClause(clause, condition, values)


def clause_name(clause: MergeClause) -> str:
    """The clause's name in messages."""
    return f"WHEN {clause.kind.upper()} THEN {clause.action.upper()}"


def _require_whole_columns(assigned: Mapping[str, Assigned], where: str) -> None:
    """Raises UnsupportedError for a value of a field inside a column: an inserted row has no struct to change."""
    for name, value in assigned.items():
        if not isinstance(value, Slice):
            raise UnsupportedError(
                "UNSUPPORTED_NESTED_ASSIGNMENT",
                field=f"{name}.{next(iter(value))}",
                reason=f"{where} makes new rows, which have no struct to change",
                column=name,
            )


def _whole_column(parts: tuple[str, ...], side: Relation, other: Relation) -> str | None:
    """The column of `side` that the parts name unambiguously, qualified or bare; else None."""
    located = side.locate(parts)
    if located is not None:
        return located[0] if located[1] == len(parts) and other.locate(parts) is None else None
    return side.find(parts[0]) if len(parts) == 1 and other.find(parts[0]) is None else None
