"""Values that Spark does not compare, as expressions that it does.

Spark neither compares nor groups values of the types MAP, VARIANT and VOID, nor of types that contain them. Two values
are equal where their expressions are: a map by its entries in the order of their keys, a variant by its JSON together
with its schema, as a string and a date may have the same JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, StructType, Type, VariantType, has_equality
from sqlext.sql.tokens.quoting import quote_identifier


def can_compare(schema: Schema) -> bool:
    """Whether Spark compares rows of the schema for equality as they are."""
    return all(has_equality(field.type) for field in schema.fields)


def compared_columns(columns: Sequence[str], schema: Schema) -> list[str]:
    """Expressions that are equal where two rows are in the `columns`, quoted names; those that the schema lacks have
    types that Spark compares."""
    types = {quote_identifier(field.name): field.type for field in schema.fields}
    return [compared_value(name, types[name]) if name in types else name for name in columns]


def compared_row(columns: Sequence[str], schema: Schema) -> str:
    """`compared_columns`, as one struct."""
    return _struct(compared_columns(columns, schema))


def compared_value(text: str, type: Type, depth: int = 0) -> str:
    """An expression of a type that Spark compares and orders, equal where two values of the expression `text` are."""
    if has_equality(type):
        return text
    # Lambdas may be nested, and the inner one must not hide a variable that it needs.
    variable = f"`__sqlext_v{depth}`"
    match type:
        case StructType(fields=fields):
            values = (compared_value(f"{text}.{quote_identifier(field.name)}", field.type, depth) for field in fields)
            return f"CASE WHEN {text} IS NOT NULL THEN {_struct(values)} END"
        case ListType(element=element):
            return f"transform({text}, {variable} -> {compared_value(variable, element, depth + 1)})"
        case MapType(key=key, value=value):
            parts = ((f"{variable}.`key`", key), (f"{variable}.`value`", value))
            entry = _struct(compared_value(part, of, depth + 1) for part, of in parts)
            return f"sort_array(transform(map_entries({text}), {variable} -> {entry}))"
        case VariantType():
            return _struct((f"schema_of_variant({text})", f"to_json({text})"))
    return "CAST(NULL AS BOOLEAN)"


def _struct(values: Iterable[str]) -> str:
    # Each has a name of its own: Spark takes the names of columns, of which two may differ in case alone.
    parts = (f"'c{number}', {value}" for number, value in enumerate(values))
    return f"named_struct({', '.join(parts)})"
