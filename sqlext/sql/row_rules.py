"""A table's constraints as SQL that finds the first one that a row breaks before it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlext.errors import AnalysisError
from sqlext.spec.constraint import RowRule, check_constraints, generated_columns, varchar_lengths
from sqlext.spec.identity_column import NextValues, identity_columns, identity_mark
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import (
    AddColumn,
    DropColumn,
    MoveColumn,
    RenameColumn,
    ReplaceColumns,
    SchemaChange,
    SetDefault,
    WidenColumn,
)
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.expression_slice import column_references
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.sql.tokens.token_cursor import tokenize

_SHOWN_COLUMNS = 8


def row_rules(schema: Schema, properties: Mapping[str, str]) -> tuple[RowRule, ...]:
    """The rules for rows of the table: identity and generated columns, then lengths, then CHECKs, which may rely on the
    latter."""
    lengths, generated = varchar_lengths(properties), generated_columns(properties)
    computed = [_generated_rule(schema, field, generated[field.id]) for field in schema.fields if field.id in generated]
    limits = [
        RowRule(schema.column_name(id), test, (field.name,), lengths[id])
        for field in schema.fields
        for id, test in _length_tests(field.type, field.id, quote_identifier(field.name), lengths, 0)
    ]
    checks = [
        RowRule(check.name, check.expression, checked_columns(schema, check.expression)[:_SHOWN_COLUMNS])
        for check in check_constraints(properties)
    ]
    return (*_identity_rules(schema, properties), *computed, *limits, *checks)


def identity_names(schema: Schema, properties: Mapping[str, str]) -> frozenset[str]:
    """The names of the identity columns."""
    ids = identity_columns(properties).keys()
    return frozenset(field.name for field in schema.fields if field.id in ids)


def require_kept(identities: frozenset[str], assigned: Iterable[str], clause: str) -> None:
    """Raises AnalysisError IDENTITY_UPDATE_REFUSED if an update assigns one of the identity columns."""
    for name in assigned:
        if name in identities:
            raise AnalysisError("IDENTITY_UPDATE_REFUSED", column=name, clause=clause)


def require_no_identity_in_checks(schema: Schema, properties: Mapping[str, str]) -> None:
    """Raises AnalysisError INVALID_CHECK_CONSTRAINT for a CHECK that names an identity column."""
    names = identity_names(schema, properties)
    for check in check_constraints(properties) if names else ():
        for column in checked_columns(schema, check.expression):
            if column in names:
                reason = f"{column} is an identity column, whose values are given after rows are checked"
                raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=check.name, reason=reason)


def generated_names(schema: Schema, properties: Mapping[str, str]) -> frozenset[str]:
    """The names of the columns that are GENERATED ALWAYS AS an expression."""
    ids = generated_columns(properties).keys()
    return frozenset(field.name for field in schema.fields if field.id in ids)


def require_generated_kept(change: SchemaChange, schema: Schema, properties: Mapping[str, str]) -> None:
    """Raises AnalysisError COLUMN_IN_USE for a drop, rename or other type of a column from which another is generated,
    for another field or order of fields in it if the expression takes it whole, and for another type or a default of a
    generated column: stored values would not be the expression's."""
    generated, identities = generated_columns(properties), identity_columns(properties)
    for field in schema.fields:
        if field.id in identities:
            _require_identity_kept(change, field.name)
        if field.id not in generated:
            continue
        columns = [one.lower() for one in checked_columns(schema, generated[field.id])]
        use, way_out = f"the generated column {field.name}", f"ALTER TABLE … DROP COLUMN {field.name} first"
        if isinstance(change, ReplaceColumns):
            raise AnalysisError("COLUMN_IN_USE", name=field.name, use=use, way_out=way_out)
        if isinstance(change, DropColumn | RenameColumn | WidenColumn) and change.path[0].lower() in columns:
            raise AnalysisError("COLUMN_IN_USE", name=change.path[0], use=use, way_out=way_out)
        if isinstance(change, AddColumn | MoveColumn) and _takes_whole(generated[field.id], change.path[:-1]):
            raise AnalysisError("COLUMN_IN_USE", name=change.path[0], use=use, way_out=way_out)
        if isinstance(change, WidenColumn | SetDefault) and change.path[0].lower() == field.name.lower():
            raise AnalysisError("COLUMN_IN_USE", name=field.name, use="its expression", way_out="a new table")


def _takes_whole(expression: str, path: Sequence[str]) -> bool:
    """Whether an expression has the value of the column at `path`, or of one around it."""
    if not path:
        return False
    references = column_references(expression)
    changed = [part.lower() for part in path]
    return references is None or any(
        [part.lower() for part in reference.parts] == changed[: len(reference.parts)] for reference in references
    )


def _require_identity_kept(change: SchemaChange, name: str) -> None:
    if isinstance(change, ReplaceColumns):
        way_out = f"ALTER TABLE … DROP COLUMN {name} first"
        raise AnalysisError("COLUMN_IN_USE", name=name, use="its identity", way_out=way_out)
    if isinstance(change, WidenColumn | SetDefault) and change.path[0].lower() == name.lower():
        raise AnalysisError("COLUMN_IN_USE", name=name, use="its identity", way_out="a new table")


def _identity_rules(schema: Schema, properties: Mapping[str, str]) -> Iterator[RowRule]:
    columns = identity_columns(properties)
    for field in schema.fields:
        column = columns.get(field.id)
        if column is not None:
            values = NextValues(column.after(identity_mark(properties, field.id, column).value), column.step)
            test = f"{quote_identifier(field.name)} IS NULL" if column.always else "true"
            yield RowRule(
                field.name, test, (field.name,), identity=values, is_key=field.id in schema.identifier_field_ids
            )


def _generated_rule(schema: Schema, field: NestedField, expression: str) -> RowRule:
    value = f"CAST(({expression}\n) AS {spark_type_text(field.type)})"
    shown = (field.name, *checked_columns(schema, expression))[:_SHOWN_COLUMNS]
    return RowRule(field.name, f"{quote_identifier(field.name)} <=> {value}", shown, generated=value)


def computed_column(rule: RowRule, *, operations: bool) -> str:
    """An expression for the value of a generated column: where the row has none, that of its expression.

    `operations`: as in `violated_rule`.
    """
    column = quote_identifier(rule.name)
    is_left_out = f"{column} IS NULL" + (" AND `__operation` >= 2Y" if operations else "")
    return f"CASE WHEN {is_left_out} THEN {rule.generated} ELSE {column} END"


def violated_rule(rules: Sequence[RowRule], *, operations: bool, keeps_identities: bool = False) -> str:
    """An expression for the index of the first rule that a row breaks, or null.

    With `operations` rows have an `__operation`, and those that write no row are not checked. They are upserts, or with
    `keeps_identities` changes of stored rows, which have their own values in identity columns. A line break ends each
    test, which may end in a comment.
    """
    deletes = "WHEN `__operation` < 2Y THEN NULL " if operations else ""
    tests = (_violates(rule, operations=operations, keeps_identities=keeps_identities) for rule in rules)
    branches = " ".join(f"WHEN {test} THEN {number}" for number, test in enumerate(tests))
    return f"CAST(CASE {deletes}{branches} END AS INT)"


def _violates(rule: RowRule, *, operations: bool, keeps_identities: bool) -> str:
    test = f"NOT ({rule.test}\n)"
    if rule.identity is None or not operations:
        return test
    if keeps_identities:
        return f"`__operation` = 3Y AND {test}"
    return f"{test} OR {quote_identifier(rule.name)} IS NULL" if rule.is_key else test


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
    reason = foreign_column(expression, schema)
    if reason is not None:
        raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=name, reason=reason)


def foreign_column(expression: str, schema: Schema) -> str | None:
    """Why an expression is not one over the table's columns: a subquery or an unknown column; else None."""
    if any(token.word == "SELECT" for token in tokenize(expression)):
        return "it holds a subquery"
    names = {field.name.lower() for field in schema.fields}
    for reference in column_references(expression) or ():
        if reference.parts[0].lower() not in names:
            return f"the table has no column {'.'.join(reference.parts)}"
    return None


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
