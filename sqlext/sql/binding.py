"""Binding of a statement's names to columns: assignments, stars, and the columns visible to a clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TypeAlias, Union

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spec.field_path import FieldPath, path_text
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, StructType, is_primitive
from sqlext.sql.default_keyword import default_word
from sqlext.sql.literal import write_default_text
from sqlext.sql.statements.statement import Assignment, Slice, TableName
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.expression_slice import column_references
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string, unquote_identifier
from sqlext.sql.tokens.token_cursor import tokenize

# The most characters of an expression in a message.
_LONGEST_SHOWN = 200

Assigned: TypeAlias = Union[Slice, "Mapping[str, Assigned]"]
"""The value that a SET assigns to a column, or values by name for some fields of a struct column."""


@dataclass(frozen=True)
class Relation:
    """A relation of a statement: its name in expressions, and its columns.

    A table without alias is known by its full name and every suffix of it: `lake.db.t`, `db.t` and `t`.
    """

    name: tuple[str, ...]
    columns: tuple[str, ...]
    case_sensitive: bool = False

    def column(self, name: str) -> str:
        """The column, qualified and quoted."""
        return quote_name((*self.name, name))

    def find(self, name: str) -> str | None:
        """The column of that bare name, in the relation's spelling; None if there is none."""
        return self._columns_by_key.get(self._key(name))

    def locate(self, parts: Sequence[str]) -> tuple[str, int] | None:
        """The column that a qualified name begins with, and the number of parts that spell it: `t.a.b` is (`a`, 2)."""
        for length in range(min(len(self.name), len(parts) - 1), 0, -1):
            if self.is_named(parts[:length]) and (column := self.find(parts[length])) is not None:
                return column, length + 1
        return None

    def begin(self, parts: Sequence[str]) -> tuple[str, int] | None:
        """As `locate`, for a name that may also be bare: `a.b` is (`a`, 1)."""
        located = self.locate(parts)
        if located is None and (bare := self.find(parts[0])) is not None:
            return bare, 1
        return located

    def is_named(self, parts: Sequence[str]) -> bool:
        """Whether the parts are a suffix of the relation's name."""
        return list(map(self._key, self.name[-len(parts) :])) == list(map(self._key, parts))

    def _key(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()

    @cached_property
    def _columns_by_key(self) -> Mapping[str, str]:
        return {self._key(column): column for column in reversed(self.columns)}


def target_relation(table: TableName, alias: str | None, schema: Schema, *, case_sensitive: bool = False) -> Relation:
    """The target of a row-level statement."""
    name = table.parts if alias is None else (alias,)
    return Relation(name, tuple(field.name for field in schema.fields), case_sensitive)


def resolve_column(schema: Schema, name: str, where: str = "the table", *, case_sensitive: bool = False) -> NestedField:
    """The column `name`, a single part. Raises AnalysisError UNRESOLVED_COLUMN.WITH_SUGGESTION."""
    return resolve_field(schema, (name,), where, case_sensitive=case_sensitive)


def resolve_field(
    schema: Schema, path: FieldPath, where: str = "the table", *, case_sensitive: bool = False
) -> NestedField:
    """The column or nested field of a path. Raises AnalysisError UNRESOLVED_COLUMN.WITH_SUGGESTION."""
    field = schema.field_at(path, case_sensitive)
    if field is None:
        raise unresolved(path_text(path), where, [field.name for field in schema.fields])
    return field


def unresolved(name: str, where: str, candidates: Iterable[str]) -> AnalysisError:
    """The error for an unknown column, with the nearest of the candidates."""
    by_lower_name = {candidate.lower(): candidate for candidate in candidates}
    near = get_close_matches(name.lower().rpartition(".")[2], by_lower_name, n=5, cutoff=0.0)
    suggestions = ", ".join(quote_identifier(by_lower_name[match]) for match in near)
    return AnalysisError("UNRESOLVED_COLUMN.WITH_SUGGESTION", name=name, where=where, suggestions=suggestions)


# Assignments


def bind_assignments(
    assignments: Sequence[Assignment], target: Relation, schema: Schema, where: str
) -> Mapping[str, Assigned]:
    """The value that each column is assigned, by the column's name in the table.

    Raises AnalysisError for a column or field that is unknown, or assigned twice, whole or in part; UnsupportedError
    for a field of anything but a struct.
    """
    fields = {field.name: field for field in schema.fields}
    bound: dict[str, Assigned] = {}
    for assignment in assignments:
        column, rest = _assigned_column(assignment.column, target, where)
        _assign(bound, _assigned_path(fields[column], rest, target), assignment.value, where)
    return bound


def _assigned_column(parts: tuple[str, ...], target: Relation, where: str) -> tuple[str, tuple[str, ...]]:
    located = target.begin(parts)
    if located is None:
        raise unresolved(path_text(parts), where, target.columns)
    return located[0], parts[located[1] :]


def _assigned_path(column: NestedField, parts: tuple[str, ...], target: Relation) -> tuple[str, ...]:
    """The path, in the schema's names, of the field that `parts` name below the column."""
    path: tuple[str, ...] = (column.name,)
    field = column
    for part in parts:
        if not isinstance(field.type, StructType):
            reason = f"{'.'.join(path)} is no struct but {spark_type_text(field.type)}"
            raise UnsupportedError(
                "UNSUPPORTED_NESTED_ASSIGNMENT", field=path_text((*path, part)), reason=reason, column=column.name
            )
        names = [inner.name for inner in field.type.fields]
        name = Relation((), tuple(names), target.case_sensitive).find(part)
        if name is None:
            listed = ", ".join(map(quote_identifier, names))
            raise AnalysisError("FIELD_NOT_FOUND", field=part, struct=path_text(path), fields=listed)
        field = field.type.fields[names.index(name)]
        path = (*path, name)
    return path


def _assign(bound: dict[str, Assigned], path: tuple[str, ...], value: Slice, where: str) -> None:
    *above, last = path
    level = bound
    for depth, name in enumerate(above, start=1):
        inner = level.setdefault(name, {})
        if not isinstance(inner, dict):
            raise AnalysisError(
                "CONFLICTING_ASSIGNMENTS", field=quote_name(path), above=quote_name(path[:depth]), clause=where
            )
        level = inner
    if isinstance(level.get(last), dict):
        inside = f"a field of {quote_name(path)}"
        raise AnalysisError("CONFLICTING_ASSIGNMENTS", field=inside, above=quote_name(path), clause=where)
    if last in level:
        raise AnalysisError("DUPLICATE_ASSIGNMENTS", names=quote_name(path), clause=where)
    level[last] = value


def assigned_value(
    value: str,
    field: NestedField,
    table: TableName,
    above: tuple[str, ...] = (),
    *,
    kept: str | None = None,
    fills: bool = False,
) -> str:
    """The value converted to the field's type by Spark's store assignment; `above` names the structs around the field.

    Fields that a struct of the value lacks are an error, unless the struct `kept` has them; with `fills` the others are
    null, in lists and maps too.
    """
    first, *rest = (*above, field.name)
    about = (first, spark_type_text(field.type), quote_name(table.parts), *rest)
    if is_primitive(field.type) or (kept is None and not fills):
        return f"sqlext_assign({value}, {', '.join(map(quote_string, about))})"
    given = (value, kept or "NULL", "true" if fills else "false", *map(quote_string, about))
    return f"sqlext_assign_part({', '.join(given)})"


def new_value(
    assigned: Assigned,
    field: NestedField,
    kept: str,
    table: TableName,
    *,
    visible: Sequence[Relation],
    seen: Callable[[str], str] = str,
    above: tuple[str, ...] = (),
    fills: bool = False,
) -> str:
    """An expression of the field's type: the assigned value, or the struct `kept` with the assigned fields replaced.

    `kept` is the field's stored value; if it is null, fields that are not assigned are null. `seen` qualifies names in
    the user's texts, which may name columns of the `visible` relations. `fills` is as in `assigned_value`.
    """
    if isinstance(assigned, Slice):
        return assigned_value(seen(value_text(assigned, field, visible)), field, table, above, fills=fills)
    assert isinstance(field.type, StructType)
    pieces: list[str] = []
    for inner in field.type.fields:
        text = f"{kept}.{quote_identifier(inner.name)}"
        if inner.name in assigned:
            path = (*above, field.name)
            text = new_value(
                assigned[inner.name], inner, text, table, visible=visible, seen=seen, above=path, fills=fills
            )
        pieces += quote_string(inner.name), text
    return f"named_struct({', '.join(pieces)})"


def value_text(value: Slice, field: NestedField, visible: Sequence[Relation]) -> str:
    """The value's text; for DEFAULT the column's write default or NULL, unless a visible relation has such a column."""
    word = default_word(value.text)
    is_name = word is not None and any(relation.find(word) is not None for relation in visible)
    return value.text if word is None or is_name else write_default_text(field)


# Conditions and names


def checked_condition(condition: str, clause: str) -> str:
    """The condition within the shim's check that it is one, whose error names the clause."""
    return f"sqlext_condition({condition}, {quote_string(clause)})"


def qualify(text: str, visible: Relation, hidden: Relation, where: str) -> str:
    """The expression with the bare column names of `visible` qualified, by insertion at their offsets.

    Names inside subqueries stay as they are: the subquery's columns take precedence there, and a name that both sides
    have is ambiguous to Spark. Raises AnalysisError for a column of `hidden`, UnsupportedError if it may be one.
    """
    references = column_references(text)
    if references is None:
        _refuse_hidden_words(text, hidden, where)
        return text
    pieces: list[str] = []
    done = 0
    for reference in references:
        if reference.in_subquery or visible.locate(reference.parts) is not None:
            continue
        if visible.find(reference.parts[0]) is not None:
            pieces += text[done : reference.start], quote_name(visible.name), "."
            done = reference.start
        elif hidden.locate(reference.parts) is not None or hidden.find(reference.parts[0]) is not None:
            raise unresolved(path_text(reference.parts), where, visible.columns)
    return "".join((*pieces, text[done:]))


def _refuse_hidden_words(text: str, hidden: Relation, where: str) -> None:
    """Raises UnsupportedError if a bare word of the expression may be a column of the hidden side."""
    tokens = tokenize(text)
    for before, token in zip((None, *tokens), tokens, strict=False):
        is_bare = token.kind in ("word", "quoted") and (before is None or before.text != ".")
        if is_bare and hidden.find(unquote_identifier(token.text)) is not None:
            shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
            raise UnsupportedError("UNREADABLE_EXPRESSION", expression=shown, where=where, name=token.text)
