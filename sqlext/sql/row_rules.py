"""A table's constraints as SQL that finds the first one that a row breaks before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlext.errors import AnalysisError
from sqlext.spec.constraint import RowRule, check_constraints, varchar_lengths
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, StructType, Type
from sqlext.sql.tokens.expression_slice import column_references
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.sql.tokens.token_cursor import tokenize

_SHOWN_COLUMNS = 8


def row_rules(schema: Schema, properties: Mapping[str, str]) -> tuple[RowRule, ...]:
    """The rules for rows of the table, lengths before CHECKs, which may rely on them."""
    lengths = varchar_lengths(properties)
    limits = [
        RowRule(schema.column_name(id), test, (field.name,), lengths[id])
        for field in schema.fields
        for id, test in _length_tests(field.type, field.id, quote_identifier(field.name), lengths, 0)
    ]
    checks = [
        RowRule(check.name, check.expression, checked_columns(schema, check.expression)[:_SHOWN_COLUMNS])
        for check in check_constraints(properties)
    ]
    return (*limits, *checks)


def violated_rule(rules: Sequence[RowRule], *, operations: bool) -> str:
    """An expression for the index of the first rule that a row breaks, or null.

    With `operations` rows have an `__operation`, and those that write no row are not checked. A line break ends each
    test, which may end in a comment.
    """
    deletes = "WHEN `__operation` < 2Y THEN NULL " if operations else ""
    branches = " ".join(f"WHEN NOT ({rule.test}\n) THEN {number}" for number, rule in enumerate(rules))
    return f"CAST(CASE {deletes}{branches} END AS INT)"


def checked_columns(schema: Schema, expression: str) -> tuple[str, ...]:
    """The table's columns that a CHECK names; all columns if sqlglot cannot read it."""
    names = {field.name.lower(): field.name for field in schema.fields}
    references = column_references(expression)
    if references is None:
        return tuple(names.values())
    found = [names.get(reference.parts[0].lower()) for reference in references]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def require_plain_check(name: str, expression: str, schema: Schema) -> None:
    """Raises AnalysisError INVALID_CHECK_CONSTRAINT for a subquery or an unknown column."""
    if any(token.word == "SELECT" for token in tokenize(expression)):
        raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=name, reason="it holds a subquery")
    names = {field.name.lower() for field in schema.fields}
    for reference in column_references(expression) or ():
        if reference.parts[0].lower() not in names:
            reason = f"the table has no column {'.'.join(reference.parts)}"
            raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=name, reason=reason)


def _length_tests(type: Type, id: int, text: str, lengths: Mapping[int, int], depth: int) -> Iterator[tuple[int, str]]:
    """Field id and test of every length limit in the value of `type` of the expression `text`."""
    if id in lengths:
        yield id, f"char_length({text}) <= {lengths[id]}"
    match type:
        case StructType(fields=fields):
            for field in fields:
                inner = f"{text}.{quote_identifier(field.name)}"
                yield from _length_tests(field.type, field.id, inner, lengths, depth)
        case ListType():
            yield from _of_all(text, type.element, type.element_id, lengths, depth)
        case MapType():
            yield from _of_all(f"map_keys({text})", type.key, type.key_id, lengths, depth)
            yield from _of_all(f"map_values({text})", type.value, type.value_id, lengths, depth)


def _of_all(
    array: str, element: Type, element_id: int, lengths: Mapping[int, int], depth: int
) -> Iterator[tuple[int, str]]:
    variable = f"`__element_{depth}`"
    for id, test in _length_tests(element, element_id, variable, lengths, depth + 1):
        yield id, f"forall({array}, {variable} -> {test})"
