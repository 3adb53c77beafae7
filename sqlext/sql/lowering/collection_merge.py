"""Nested rows and maps in the rows of one key, merged into one array or map: a fold over the rows in their order.

Here `a` is the value merged so far, and `r` a row with its value `v` and whether it is taken back, `t`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlext.spec.merge_engine import ColumnMerge
from sqlext.spec.types import ListType, MapType, StructType, Type
from sqlext.sql.lowering.row_order import struct_of
from sqlext.sql.lowering.source_values import SourceValues
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_identifier, quote_string


def nested_rows(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """An array of structs: elements are added, or replace those with their `nested.key`."""
    return _folded(type, given, partial(_with_elements, merge, type), partial(_without_elements, merge))


def nested_parts(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """An array of structs: elements of one `nested.key` become one with the last value of each field that is not
    null."""
    return _folded(type, given, partial(_with_parts, merge, type), None)


def merged_map(merge: ColumnMerge, type: Type, given: SourceValues) -> str:
    """A map with the last value of each key."""
    return _folded(type, given, lambda a: f"map_concat({_rest(a)}, r.v)", lambda: _rest("a"), raw_first=True)


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


def _rest(a: str) -> str:
    """The entries whose keys the row does not have."""
    return f"map_filter({a}, (k, x) -> NOT map_contains_key(r.v, k))"


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
    start, rows = f"CAST({given.stored} AS {text})", given.signed(*given.in_time)
    if given.late is not None:
        # A stored value that comes first is not one that is added.
        is_late = f"count({given.value}) {given.where(given.late)} > 0"
        number = f"CASE WHEN {is_late} AND {given.stored} IS NOT NULL THEN 1 ELSE 0 END"
        stored = f"slice(array(named_struct('t', false, 'v', {start})), 1, {number})"
        rows = f"concat({given.signed(given.late)}, {stored}, {rows})"
        start = f"CASE WHEN NOT {is_late} THEN {start} END"
    branches = []
    if taken is not None and given.takes is not None:
        branches += ["WHEN r.t AND a IS NULL THEN a", f"WHEN r.t THEN {taken()}"]
    first = "r.v" if raw_first else added(empty)
    branches += [f"WHEN a IS NULL THEN {first}", f"ELSE {added('a')}"]
    return f"aggregate({rows}, {start}, (a, r) -> CAST(CASE {' '.join(branches)} END AS {text}))"


def _with_elements(merge: ColumnMerge, type: Type, a: str) -> str:
    nested = merge.nested
    if not nested.key:
        before, added = _elements(merge, a), _elements(merge, "r.v")
        if nested.limit is not None:
            added = f"slice({added}, 1, greatest({nested.limit} - size({before}), 0))"
        return f"concat({before}, {added})"
    same = f"{_fields('o', nested.key)} <=> {_fields('e', nested.key)}"
    step = f"concat(filter(b, o -> NOT {same}), array(e))"
    branches = []
    if nested.sequence:
        newer = f"{_fields('o', nested.sequence)} > {_fields('e', nested.sequence)}"
        branches.append(f"WHEN exists(b, o -> {same} AND {newer}) THEN b")
    if nested.limit is not None:
        branches.append(f"WHEN size(b) >= {nested.limit} AND NOT exists(b, o -> {same}) THEN b")
    return _by_element(merge, type, a, f"CASE {' '.join(branches)} ELSE {step} END" if branches else step)


def _with_parts(merge: ColumnMerge, type: Type, a: str) -> str:
    assert isinstance(type, ListType)
    assert isinstance(type.element, StructType)
    same = f"{_fields('o', merge.nested.key)} <=> {_fields('e', merge.nested.key)}"
    fields = [field.name for field in type.element.fields]
    later = ", ".join(
        f"{quote_string(name)}, coalesce(p.{quote_identifier(name)}, o.{quote_identifier(name)})" for name in fields
    )
    element = spark_type_text(type.element)
    one = f"aggregate(filter(b, o -> {same}), CAST(e AS {element}), (p, o) -> CAST(named_struct({later}) AS {element}))"
    return _by_element(merge, type, a, f"concat(filter(b, o -> NOT {same}), array({one}))")


def _by_element(merge: ColumnMerge, type: Type, a: str, step: str) -> str:
    """`a` after a step for each element `e` of `r.v`, where `b` is the array so far."""
    text = spark_type_text(type)
    elements = f"CAST({_elements(merge, a)} AS {text})"
    return f"aggregate({_elements(merge, 'r.v')}, {elements}, (b, e) -> CAST({step} AS {text}))"


def _without_elements(merge: ColumnMerge) -> str:
    same = "e <=> o"
    if merge.nested.key:
        same = f"{_fields('o', merge.nested.key)} <=> {_fields('e', merge.nested.key)}"
    return f"filter({_elements(merge, 'a')}, o -> NOT exists({_elements(merge, 'r.v')}, e -> {same}))"


def _elements(merge: ColumnMerge, array: str) -> str:
    """The elements that are not null, and whose key may stand."""
    nested = merge.nested
    test = "i IS NOT NULL"
    if nested.key and nested.null_keys != "merge":
        has_null = " OR ".join(f"i.{quote_identifier(name)} IS NULL" for name in nested.key)
        if nested.null_keys == "ignore":
            test += f" AND NOT ({has_null})"
        else:
            failure = quote_string(f"An element of column {merge.column} has a null in its nested-key.")
            test = f"CASE WHEN i IS NULL THEN false WHEN {has_null} THEN raise_error({failure}) ELSE true END"
    return f"filter({array}, i -> {test})"


def _fields(element: str, names: Sequence[str]) -> str:
    return struct_of(f"{element}.{quote_identifier(name)}" for name in names)
