"""MERGE as one SELECT: target and source joined, each row with the clause that applies to it.

The join is as narrow as the clauses allow. The clause of a row is computed once, as a lateral column alias, so that
each of the user's conditions is in the query once, and its columns can be referred to by any of their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.types import NestedField
from sqlext.sql.bound_merge import BoundClause, BoundMerge, bind_clause
from sqlext.sql.lowering.merge_source import marked_source_text, source_text
from sqlext.sql.lowering.text import fresh_name, hidden_column, selected, showing_hidden, with_ctes
from sqlext.sql.statements.statement import ClauseAction, ClauseKind, Merge
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.expression_slice import column_references, has_subquery
from sqlext.sql.tokens.quoting import quote_identifier

_OPERATIONS: Mapping[ClauseAction, str] = {"delete": "1Y", "update": "2Y", "insert": "3Y"}
# A target row that a source row matches and no clause changes.
_MATCH = "0Y"


class LoweredMerge(NamedTuple):
    """`rows` selects operation, file, position and columns of every change; no columns if all clauses are deletes.

    `row_names` are the columns, each as the parts of its name, by which an error identifies a target row that several
    source rows match; None if that is no error, as only an unconditional DELETE applies to matched rows, or none does.
    With `shows_matches` matched target rows that no clause changes are among `rows`, once per source row that matches.
    `kept_columns` are those that updated rows keep; none if a clause inserts.
    """

    rows: str
    row_names: tuple[tuple[str, ...], ...] | None
    shows_matches: bool
    kept_columns: tuple[str, ...]


def source_select(merge: Merge) -> str:
    """A query of the source's columns, under their names in the statement."""
    return with_ctes(merge.ctes, f"SELECT * FROM {source_text(merge)}")


def lower_merge(
    bound: BoundMerge,
    target: str,
    *,
    row_ids: bool = False,
    narrows: bool = False,
    counts_matches: bool = True,
    coerces_structs: bool = False,
) -> LoweredMerge:
    """The changes of any MERGE; `target` is the target relation's text.

    With `row_ids` the row id of the changed row follows the columns, null in an inserted one. With `narrows` a join
    that keeps all source rows, and would shuffle and sort the whole target, reads it through a semi join with the
    source, which Spark broadcasts. With `counts_matches` no two source rows may match a target row, even if no clause
    applies to one of them; else no two may change it. `coerces_structs` and errors are as in `bind_clause`.
    """
    clauses = [bind_clause(bound, clause, coerces_structs=coerces_structs) for clause in bound.merge.clauses]
    lowering = _MergeLowering(bound, target, clauses, row_ids, narrows)
    names = lowering.row_names()
    if counts_matches and names is not None and lowering.leaves_matches():
        return LoweredMerge(lowering.rows(shows_matches=True), names, True, lowering.kept_columns())
    return LoweredMerge(lowering.rows(), names, False, lowering.kept_columns())


@dataclass(frozen=True, slots=True)
class _Join:
    """The FROM text, and by kind of clause the test that a row is of that kind; empty if all rows are."""

    text: str
    tests: Mapping[ClauseKind, str]
    has_target: bool = True


@dataclass(frozen=True, slots=True)
class _MergeLowering:
    bound: BoundMerge
    target_text: str
    clauses: Sequence[BoundClause]
    row_ids: bool
    narrows: bool

    def rows(self, *, shows_matches: bool = False) -> str:
        join = self._join()
        clause = self._fresh("__clause")
        applies = self._case(join, shows_matches=shows_matches)
        columns = [(applies, clause), (self._operation(clause, shows_matches=shows_matches), "__operation")]
        columns += self._position(join)
        if any(bound.clause.action != "delete" for bound in self.clauses):
            columns += [(self._value(clause, field), field.name) for field in self.bound.schema.fields]
            if self.row_ids:
                columns.append((self._row_id(join), ROW_ID.name))
        names = ", ".join(quote_identifier(name) for _, name in columns[1:])
        return with_ctes(
            self.bound.merge.ctes,
            f"SELECT {names}\nFROM (\n  SELECT {selected(columns)}\n  FROM {join.text}\n)\n"
            f"WHERE {quote_identifier(clause)} IS NOT NULL",
        )

    def leaves_matches(self) -> bool:
        """Whether there may be a matched row to which no clause applies."""
        return all(bound.condition is not None for bound in self.clauses if bound.clause.kind == "matched")

    def row_names(self) -> tuple[tuple[str, ...], ...] | None:
        matched = [clause for clause in self.clauses if clause.clause.kind == "matched"]
        if not matched or (matched[0].clause.action == "delete" and matched[0].condition is None):
            return None
        if self.bound.schema.identifier_field_ids:
            return tuple(self.bound.schema.column_path(id) for id in self.bound.schema.identifier_field_ids)
        return tuple((name,) for name in self._compared_columns())

    def kept_columns(self) -> tuple[str, ...]:
        if any(clause.clause.action == "insert" for clause in self.clauses):
            return ()
        names = (field.name for field in self.bound.schema.fields)
        return tuple(name for name in names if not any(name in clause.values for clause in self.clauses))

    # The join

    def _join(self) -> _Join:
        kinds = {clause.clause.kind for clause in self.clauses}
        if kinds == {"matched"}:
            only = self.clauses[0]
            if only.clause.action == "delete" and only.condition is None:
                return self._of_one_side("LEFT SEMI", target_first=True)
            return self._inner_join()
        if len(kinds) == 1:
            return self._of_one_side("LEFT ANTI", target_first=kinds == {"not matched by source"})
        return self._outer_join(kinds)

    def _inner_join(self) -> _Join:
        return _Join(self._joined(self._target_text(), "INNER", source_text(self.bound.merge)), {"matched": ""})

    def _of_one_side(self, kind: str, *, target_first: bool) -> _Join:
        if target_first:
            left, right = self._target_text(), source_text(self.bound.merge)
        else:
            left, right = source_text(self.bound.merge), self._target_with_matches()
        tests: dict[ClauseKind, str] = {"matched": "", "not matched": "", "not matched by source": ""}
        return _Join(self._joined(left, kind, right), tests, has_target=target_first)

    def _outer_join(self, kinds: set[ClauseKind]) -> _Join:
        if "not matched by source" not in kinds:
            text = self._joined(source_text(self.bound.merge), "LEFT OUTER", self._target_with_matches())
            file = self._hidden("_file")
            return _Join(text, {"matched": f"{file} IS NOT NULL", "not matched": f"{file} IS NULL"})
        marker = self._fresh("__source")
        source = marked_source_text(self.bound.merge, marker)
        mark = quote_identifier(marker)
        by_source = f"{mark} IS NULL"
        if "not matched" not in kinds:
            text = self._joined(self._target_text(), "LEFT OUTER", source)
            return _Join(text, {"matched": f"{mark} IS NOT NULL", "not matched by source": by_source})
        file = self._hidden("_file")
        tests: dict[ClauseKind, str] = {
            "matched": f"{file} IS NOT NULL AND {mark} IS NOT NULL",
            "not matched": f"{file} IS NULL",
            "not matched by source": by_source,
        }
        return _Join(self._joined(self._target_text(), "FULL OUTER", source), tests)

    def _joined(self, left: str, kind: str, right: str) -> str:
        return f"{left}\n  {kind} JOIN {right}\n  ON ({self.bound.merge.condition.text})"

    def _target_with_matches(self) -> str:
        """The target, or with `narrows` its rows that a source row matches."""
        if not self.narrows or has_subquery(self.bound.merge.condition.text):
            return self._target_text()
        return f"({self._joined(self._target_text(), 'LEFT SEMI', source_text(self.bound.merge))})"

    def _target_text(self) -> str:
        hidden = ("_file", "_pos", *((ROW_ID.name,) if self.row_ids else ()))
        return showing_hidden(self.target_text, self.bound.merge.alias, hidden, self.bound.target, self.bound.source)

    def _hidden(self, name: str) -> str:
        return hidden_column(name, self.bound.merge.alias, self.bound.target, self.bound.target, self.bound.source)

    # The select list

    def _case(self, join: _Join, *, shows_matches: bool) -> str:
        """The index of the first clause that applies, or null; with `shows_matches` a further one for other matches."""
        branches = []
        for number, clause in enumerate(self.clauses):
            test = join.tests[clause.clause.kind]
            condition = "" if clause.condition is None else f"({clause.condition})"
            when = " AND ".join(filter(None, (test, condition))) or "true"
            branches.append(f"WHEN {when} THEN {number}")
        if shows_matches:
            branches.append(f"WHEN {join.tests['matched'] or 'true'} THEN {len(self.clauses)}")
        return f"CASE {' '.join(branches)} END"

    def _operation(self, clause: str, *, shows_matches: bool) -> str:
        by_operation: dict[str, list[int]] = {}
        for number, bound in enumerate(self.clauses):
            by_operation.setdefault(_OPERATIONS[bound.clause.action], []).append(number)
        if shows_matches:
            by_operation[_MATCH] = [len(self.clauses)]
        return _chosen(clause, by_operation)

    def _position(self, join: _Join) -> list[tuple[str, str]]:
        if join.has_target:
            return [(self._hidden(name), name) for name in ("_file", "_pos")]
        return [("CAST(NULL AS STRING)", "_file"), ("CAST(NULL AS BIGINT)", "_pos")]

    def _row_id(self, join: _Join) -> str:
        return self._hidden(ROW_ID.name) if join.has_target else "CAST(NULL AS BIGINT)"

    def _value(self, clause: str, field: NestedField) -> str:
        """The column's new value by clause; each distinct text once, since it may be long and costly."""
        by_text: dict[str, list[int]] = {}
        own: str | None = None
        for number, bound in enumerate(self.clauses):
            if field.name in bound.values:
                by_text.setdefault(bound.values[field.name], []).append(number)
            elif bound.clause.action == "update":
                own = self.bound.target.column(field.name)  # null without target row, as an insert needs it
        if by_text:
            return _chosen(clause, by_text, own)
        return own or f"CAST(NULL AS {spark_type_text(field.type)})"

    def _compared_columns(self) -> list[str]:
        compared: list[str] = []
        for reference in column_references(self.bound.merge.condition.text) or ():
            located = self.bound.target.locate(reference.parts)
            bare = self.bound.target.find(reference.parts[0]) if len(reference.parts) == 1 else None
            name = located[0] if located is not None else bare
            if name is not None and name not in compared and not reference.in_subquery:
                compared.append(name)
        return compared

    def _fresh(self, name: str) -> str:
        return fresh_name(name, (*self.bound.target.columns, *self.bound.source.columns))


def _chosen(clause: str, numbers_by_text: Mapping[str, Sequence[int]], otherwise: str | None = None) -> str:
    name = quote_identifier(clause)
    branches = [f"WHEN {name} IN ({', '.join(map(str, ns))}) THEN {text}" for text, ns in numbers_by_text.items()]
    rest = "" if otherwise is None else f" ELSE {otherwise}"
    return f"CASE {' '.join(branches)}{rest} END"
