"""The values of a column in the rows of one key, merged into one: an aggregate over the rows and the stored value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlext.spec.merge_engine import SKETCH_FUNCTIONS, ColumnMerge
from sqlext.spec.types import DecimalType, DoubleType, FloatType, Type
from sqlext.sql.lowering.collection_merge import merged_map, merged_timed_map, nested_parts, nested_rows
from sqlext.sql.lowering.source_values import SourceValues
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_string

# The literal of `spec.merge_engine.BLANKS`.
_BLANKS = r"' \t\n\u000B\u000C\r'"


def merged_value(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """The column's new value, of a type that store assignment can convert to the column's."""
    return _FUNCTIONS[merge.function](merge, type, given)


def _last(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    value = given.value
    if given.takes is not None and merge.column not in merge.order.columns:
        value = f"CASE WHEN NOT {given.takes} THEN {value} END"
    in_time = f"max_by({value}, {given.place}) {given.where(*given.in_time)}"
    if given.late is None:
        return f"CASE WHEN count_if({given.counts}) > 0 THEN {in_time} ELSE {given.stored} END"
    came = f"count_if({given.counts} AND NOT {given.late}) > 0"
    late = f"max_by({value}, {given.place}) {given.where()}"
    return f"CASE WHEN {came} THEN {in_time} WHEN {given.is_stored} THEN {given.stored} ELSE {late} END"


def _last_non_null(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    if given.takes is None:
        newest = f"max_by({given.value}, {given.place}) {given.where(given.is_value, *given.in_time)}"
        late = ""
        if given.late is not None:
            late = f", max_by({given.value}, {given.place}) {given.where(given.is_value, given.late)}"
        return f"coalesce({newest}, {given.stored}{late})"
    # A retracted value leaves a null, which no earlier value replaces.
    value = f"named_struct('v', CASE WHEN NOT {given.takes} THEN {given.value} END)"
    newest = f"max_by({value}, {given.place}) {given.where(given.is_value, *given.in_time)}"
    branches = [f"WHEN {newest} IS NOT NULL THEN {newest}.v"]
    if given.late is not None:
        late = f"max_by({value}, {given.place}) {given.where(given.is_value, given.late)}"
        branches.append(f"WHEN {given.stored} IS NULL THEN {late}.v")
    return f"CASE {' '.join(branches)} ELSE {given.stored} END"


def _first(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    first = f"min_by({given.value}, {given.place}) {given.where()}"
    branches = [f"WHEN {given.is_stored} THEN {given.stored}"]
    if given.late is not None:
        late = f"min_by({given.value}, {given.place}) {given.where(given.late)}"
        branches.insert(0, f"WHEN count_if({given.counts} AND {given.late}) > 0 THEN {late}")
    return f"CASE {' '.join(branches)} ELSE {first} END"


def _first_non_null(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    values = [given.stored, f"min_by({given.value}, {given.place}) {given.where(given.is_value)}"]
    if given.late is not None:
        values.insert(0, f"min_by({given.value}, {given.place}) {given.where(given.is_value, given.late)}")
    return f"coalesce({', '.join(values)})"


def _sum(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    wide = _wide(type)
    value = f"CAST({given.value} AS {wide})"
    signed = value if given.takes is None else f"CASE WHEN {given.takes} THEN -{value} ELSE {value} END"
    added, stored = f"sum({signed}) {given.where()}", f"CAST({given.stored} AS {wide})"
    return _within_range(merge, type, given, f"CASE WHEN {stored} IS NULL THEN {added} ELSE {stored} + {added} END")


def _product(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    wide = _wide(type)

    def product(*conditions: str) -> str:
        values = f"collect_list(CAST({given.value} AS {wide})) {given.where(given.is_value, *conditions)}"
        return f"aggregate({values}, CAST(1 AS {wide}), (a, x) -> CAST(a * x AS {wide}))"

    total = f"coalesce(CAST({given.stored} AS {wide}), CAST(1 AS {wide})) * {product(*given.brings)}"
    if given.takes is not None:
        total = f"{total} / {product(given.takes)}"
    return _within_range(merge, type, given, total)


def _within_range(merge: ColumnMerge, type: Type, given: SourceValues, total: str) -> str:
    """The total, or an error for one out of range: outside of ANSI mode Spark makes such a decimal null."""
    any_value = f"count({given.value}) {given.where()} > 0"
    failure = quote_string(f"The {merge.function} of column {merge.column} is out of the range of {type}.")
    return f"CASE WHEN {any_value} THEN coalesce({total}, raise_error({failure})) ELSE {given.stored} END"


def _wide(type: Type) -> str:
    """A type in which sums and products of `type` are exact, for the decimals that `merge_rules` admits."""
    match type:
        case FloatType() | DoubleType():
            return "DOUBLE"
        case DecimalType(scale=scale):
            return f"DECIMAL(38, {scale})"
    return "DECIMAL(38, 0)"


def _count(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    one = "1L" if given.takes is None else f"CASE WHEN {given.takes} THEN -1L ELSE 1L END"
    counted = f"sum({one}) {given.where(given.is_value)}"
    return f"CAST(coalesce({given.stored}, 0) AS BIGINT) + coalesce({counted}, 0L)"


def _least(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    return f"least({given.stored}, min({given.value}) {given.where()})"


def _greatest(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    return f"greatest({given.stored}, max({given.value}) {given.where()})"


def _all(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    found = f"bool_and({given.value}) {given.where()}"
    return f"coalesce({given.stored} AND {found}, {given.stored}, {found})"


def _any(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    found = f"bool_or({given.value}) {given.where()}"
    return f"coalesce({given.stored} OR {found}, {given.stored}, {found})"


def _list_of_text(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    parts = [f"filter(array({given.stored}), x -> x IS NOT NULL)", given.in_order(*given.in_time)]
    if given.late is not None:
        parts.insert(0, given.in_order(given.late))
    delimiter, is_text = quote_string(merge.delimiter), f"btrim(x, {_BLANKS}) <> ''"
    joined = f"concat_ws({delimiter}, w)"
    if merge.distinct:
        # Of the first text all parts stay, also equal ones.
        cut = quote_string(re.escape(merge.delimiter))
        others = f"flatten(transform(slice(w, 2, size(w)), x -> split(x, {cut})))"
        added = f"filter(array_except({others}, split(element_at(w, 1), {cut})), x -> {is_text})"
        joined = f"concat_ws({delimiter}, element_at(w, 1), {added})"
    texts = f"filter(concat({', '.join(parts)}), x -> {is_text})"
    merged = f"CASE WHEN size(w) > 0 THEN {joined} END"
    return f"coalesce(element_at(transform(array({texts}), w -> {merged}), 1), {given.stored})"


def _collection(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    text = spark_type_text(type)
    nothing = f"CAST(array() AS {text})"
    parts = [f"coalesce({given.stored}, {nothing})", f"flatten({given.in_order(*given.in_time, *given.brings)})"]
    if given.late is not None:
        parts.insert(0, f"flatten({given.in_order(given.late, *given.brings)})")
    whole = f"CAST(concat({', '.join(parts)}) AS {text})"
    if given.takes is not None:
        taken = f"flatten({given.in_order(given.takes)})"
        at = "CAST(coalesce(array_position(a, x), 0) AS INT)"
        rest = f"concat(slice(a, 1, {at} - 1), slice(a, {at} + 1, size(a)))"
        whole = f"aggregate({taken}, {whole}, (a, x) -> CAST(CASE WHEN {at} > 0 THEN {rest} ELSE a END AS {text}))"
    if merge.distinct:
        whole = f"array_distinct({whole})"
    return f"CASE WHEN {given.stored} IS NOT NULL OR count({given.value}) {given.where()} > 0 THEN {whole} END"


def _united(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    values = f"concat(array({given.stored}), collect_list({given.value}) {given.where()})"
    union = f"sqlext_united({quote_string(merge.function)}, filter({values}, x -> x IS NOT NULL))"
    failure = quote_string(f"A value of column {merge.column} is no {merge.function}.")
    any_value = f"count({given.value}) {given.where()} > 0"
    return f"CASE WHEN {any_value} THEN coalesce({union}, raise_error({failure})) ELSE {given.stored} END"


_FUNCTIONS: Mapping[str, Callable[[ColumnMerge, Type, SourceValues], str]] = {
    "sum": _sum,
    "product": _product,
    "count": _count,
    "min": _least,
    "max": _greatest,
    "bool_and": _all,
    "bool_or": _any,
    "last_value": _last,
    "last_non_null_value": _last_non_null,
    "first_value": _first,
    "first_non_null_value": _first_non_null,
    "listagg": _list_of_text,
    "collect": _collection,
    "merge_map": merged_map,
    "merge_map_with_keytime": merged_timed_map,
    "nested_update": nested_rows,
    "nested_partial_update": nested_parts,
    **dict.fromkeys(SKETCH_FUNCTIONS, _united),
}
