"""Arrays and maps in the rows of one key, merged as `sql.lowering.collection_merge` has Spark merge them.

Maps are lists of their entries, structs are dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from sqlext.errors import DataError
from sqlext.local.values_of_key import ValuesOfKey, identity, rank
from sqlext.spec.merge_engine import ColumnMerge, NestedRows
from sqlext.spec.types import Type

_Step: TypeAlias = Callable[[list[Any], list[Any]], list[Any]]


def collected(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """The elements of all arrays; each element of one that is taken back takes away one that equals it."""
    if of_key.stored is None and not of_key.has_value:
        return None
    whole = [one for value, takes in of_key.signed() if not takes for one in value]
    for taken in (one for part in of_key.values(lambda row: row.takes) for one in part):
        at = next((at for at, one in enumerate(whole) if taken is not None and identity(one) == identity(taken)), None)
        if at is not None:
            del whole[at]
    if not merge.distinct:
        return whole
    kept: dict[Any, Any] = {}
    for one in whole:
        kept.setdefault(identity(one), one)
    return list(kept.values())


def nested_rows(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """An array of structs: elements are added, or replace those with their `nested.key`."""
    nested = merge.nested

    def added(so_far: list[Any], value: list[Any]) -> list[Any]:
        before, new = _elements(merge, type, so_far), _elements(merge, type, value)
        if not nested.key:
            return before + (new if nested.limit is None else new[: max(nested.limit - len(before), 0)])
        rows = _Elements(before, nested.key)
        for element in new:
            same = rows.like(element)
            if not same and nested.limit is not None and len(rows) >= nested.limit:
                continue
            if nested.sequence and any(_place(one, nested) > _place(element, nested) for one in same):
                continue
            rows.replace(element)
        return rows.elements()

    def taken(so_far: list[Any], value: list[Any]) -> list[Any]:
        gone = {_fields(element, nested.key) for element in _elements(merge, type, value)}
        return [element for element in _elements(merge, type, so_far) if _fields(element, nested.key) not in gone]

    return _folded(of_key, added, taken)


def nested_parts(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """An array of structs: elements of one `nested.key` become one with the last value of each field that is not
    null."""

    def added(so_far: list[Any], value: list[Any]) -> list[Any]:
        rows = _Elements(_elements(merge, type, so_far), merge.nested.key)
        for element in _elements(merge, type, value):
            merged = element
            for one in rows.like(element):
                merged = {name: one[name] if part is None else part for name, part in merged.items()}
            rows.replace(merged)
        return rows.elements()

    return _folded(of_key, added, None)


def merged_map(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """A map with the last value of each key."""

    def rest(so_far: list[Any], value: list[Any]) -> list[Any]:
        gone = {identity(key) for key, _ in value}
        return [(key, one) for key, one in so_far if identity(key) not in gone]

    return _folded(of_key, lambda so_far, value: rest(so_far, value) + list(value), rest, raw_first=True)


def merged_timed_map(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """A map with the value of each key whose field `time` is the greatest; a null value removes its key."""

    def newer(new: Any, old: Any) -> bool:
        time, before = new[merge.time], None if old is None else old[merge.time]
        return time is not None and (before is None or rank(time) > rank(before))

    def added(so_far: list[Any], value: list[Any]) -> list[Any]:
        was = {identity(key): one for key, one in so_far}
        came = {identity(key): one for key, one in value}

        def stays(key: Any, one: Any) -> bool:
            return key not in came or (came[key] is not None and not newer(came[key], one))

        kept = [(key, one) for key, one in so_far if stays(identity(key), one)]
        taken = [(key, one) for key, one in value if one is not None and newer(one, was.get(identity(key)))]
        return kept + taken

    return _folded(of_key, added, None, raw_first=True)


def _folded(of_key: ValuesOfKey, added: _Step, taken: _Step | None, *, raw_first: bool = False) -> Any:
    """The values, each `added` to those before it or `taken` from them. With `raw_first` the first value stays as it is
    given. A stored value that comes first is not one that is added."""
    so_far, values = None, of_key.signed()
    if of_key.stored is not None and not any(row.is_late for row in of_key.rows if row.value is not None):
        so_far, values = of_key.stored, values[1:]
    for value, takes in values:
        if takes:
            assert taken is not None
            so_far = None if so_far is None else taken(so_far, value)
        elif so_far is not None:
            so_far = added(so_far, value)
        else:
            so_far = value if raw_first else added([], value)
    return so_far


class _Elements:
    """Elements by `key`, of which another engine may have stored several."""

    def __init__(self, elements: Iterable[Any], key: Sequence[str]) -> None:
        self._key = key
        self._by_key: dict[Any, list[Any]] = {}
        for element in elements:
            self._by_key.setdefault(_fields(element, key), []).append(element)

    def __len__(self) -> int:
        return len(self._by_key)

    def like(self, element: Any) -> list[Any]:
        """The elements with its key."""
        return self._by_key.get(_fields(element, self._key), [])

    def replace(self, element: Any) -> None:
        """Puts the element behind all others, instead of those with its key."""
        key = _fields(element, self._key)
        self._by_key.pop(key, None)
        self._by_key[key] = [element]

    def elements(self) -> list[Any]:
        return [element for same in self._by_key.values() for element in same]


def _elements(merge: ColumnMerge, type: Type, array: Iterable[Any]) -> list[Any]:
    """The elements that are not null, and whose key may stand."""
    elements = [element for element in array if element is not None]
    if not merge.nested.key or merge.nested.null_keys == "merge":
        return elements
    whole = [one for one in elements if all(one[name] is not None for name in merge.nested.key)]
    if merge.nested.null_keys == "error" and len(whole) < len(elements):
        reason = "an element has a null in its nested-key"
        raise DataError("INVALID_COLUMN_VALUE", column=merge.column, table="the table", type=type, reason=reason)
    return whole


def _fields(element: Any, names: Sequence[str]) -> Any:
    """The fields of an element, or all of them without names."""
    return identity([element[name] for name in names] if names else element)


def _place(element: Any, nested: NestedRows) -> list[Any]:
    values = [element[name] for name in nested.sequence]
    return [(value is not None, 0 if value is None else rank(value)) for value in values]
