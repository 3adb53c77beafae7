"""Nested rows and maps in the rows of one key, merged into one array or map: a fold over the rows in their order.

Here `a` is the value merged so far, and `r` a row with its value `v` and whether it is taken back, `t`.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlext.spec.merge_engine import ColumnMerge
from sqlext.spec.types import ListType, MapType, StructType, Type
from sqlext.sql.lowering.source_values import SourceValues
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_identifier, quote_string

_ANY_NUMBER = 2**31 - 1


def nested_rows(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """An array of structs: elements are added, or replace those with their `nested.key`."""
    if merge.nested.key:
        return _by_key(merge, type, given, by_field=False)

    def added(a: str) -> str:
        before, new = _elements(merge, a), _elements(merge, "r.v")
        if merge.nested.limit is not None:
            new = f"slice({new}, 1, greatest({merge.nested.limit} - size({before}), 0))"
        return f"concat({before}, {new})"

    taken = f"filter({_elements(merge, 'a')}, o -> NOT exists({_elements(merge, 'r.v')}, e -> e <=> o))"
    return _folded(type, given, added, lambda: taken)


def nested_parts(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """An array of structs: elements of one `nested.key` become one with the last value of each field that is not
    null."""
    return _by_key(merge, type, given, by_field=True)


def merged_map(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """A map with the last value of each key."""
    start, rows = _in_order(type, given)
    entries = f"transform({rows}, r -> named_struct('t', r.t, 'v', map_entries(r.v)))"
    merged = f"sqlext_merged_elements(map_entries({start}), {entries}, '0', '', {_ANY_NUMBER}, false)"
    return f"map_from_entries({merged})"


def merged_timed_map(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """A map with the value of each key whose field `time` is the greatest; a null value removes its key."""
    time = quote_identifier(merge.time)

    def newer(new: str, old: str) -> str:
        return f"({new}.{time} IS NOT NULL AND coalesce({new}.{time} > {old}.{time}, true))"

    def added(a: str) -> str:
        came, was = "try_element_at(r.v, k)", f"try_element_at({a}, k)"
        kept = f"NOT map_contains_key(r.v, k) OR ({came} IS NOT NULL AND NOT {newer(came, 'x')})"
        taken = f"x IS NOT NULL AND {newer('x', was)}"
        return f"map_concat(map_filter({a}, (k, x) -> {kept}), map_filter(r.v, (k, x) -> {taken}))"

    return _folded(type, given, added, None, raw_first=True)


def _folded(
    type: Type,
    given: SourceValues,
    added: Callable[[str], str],
    taken: Callable[[], str] | None,
    *,
    raw_first: bool = False,
) -> str:
    """The fold. `added` gives the value merged so far, which is not null, with `r.v` added to it, and `taken` without
    `r.v`. With `raw_first` the first value stays as it is given."""
    text = spark_type_text(type)
    empty = f"CAST({'map()' if isinstance(type, MapType) else 'array()'} AS {text})"
    start, rows = _in_order(type, given)
    branches = []
    if taken is not None and given.takes is not None:
        branches += ["WHEN r.t AND a IS NULL THEN a", f"WHEN r.t THEN {taken()}"]
    first = "r.v" if raw_first else added(empty)
    branches += [f"WHEN a IS NULL THEN {first}", f"ELSE {added('a')}"]
    return f"aggregate({rows}, {start}, (a, r) -> CAST(CASE {' '.join(branches)} END AS {text}))"


def _in_order(type: Type, given: SourceValues) -> tuple[str, str]:
    """The value that stands before all rows, and the rows, among them the stored one behind those that are late."""
    start, rows = f"CAST({given.stored} AS {spark_type_text(type)})", given.signed(*given.in_time)
    if given.late is None:
        return start, rows
    # A stored value that comes first is not one that is added.
    is_late = f"count({given.value}) {given.where(given.late)} > 0"
    number = f"CASE WHEN {is_late} AND {given.stored} IS NOT NULL THEN 1 ELSE 0 END"
    stored = f"slice(array(named_struct('t', false, 'v', {start})), 1, {number})"
    return f"CASE WHEN NOT {is_late} THEN {start} END", f"concat({given.signed(given.late)}, {stored}, {rows})"


def _by_key(merge: ColumnMerge, type: Type, given: SourceValues, *, by_field: bool) -> str:
    assert isinstance(type, ListType)
    assert isinstance(type.element, StructType)
    nested, names = merge.nested, [field.name for field in type.element.fields]
    start, rows = _in_order(type, given)
    arguments = [
        _elements(merge, start),
        f"transform({rows}, r -> named_struct('t', r.t, 'v', {_elements(merge, 'r.v')}))",
        *(quote_string(",".join(str(names.index(name)) for name in said)) for said in (nested.key, nested.sequence)),
        str(_ANY_NUMBER if nested.limit is None else nested.limit),
        str(by_field).lower(),
    ]
    any_value = f"count({given.value}) {given.where()} > 0"
    merged = f"sqlext_merged_elements({', '.join(arguments)})"
    return f"CASE WHEN {any_value} THEN {merged} ELSE {given.stored} END"


def _elements(merge: ColumnMerge, array: str) -> str:
    """The elements that are not null, and whose key may stand."""
    nested, test = merge.nested, "i IS NOT NULL"
    if nested.key and nested.null_keys != "merge":
        has_null = " OR ".join(f"i.{quote_identifier(name)} IS NULL" for name in nested.key)
        if nested.null_keys == "ignore":
            test += f" AND NOT ({has_null})"
        else:
            failure = quote_string(f"An element of column {merge.column} has a null in its nested-key.")
            test = f"CASE WHEN i IS NULL THEN false WHEN {has_null} THEN raise_error({failure}) ELSE true END"
    return f"filter({array}, i -> {test})"
