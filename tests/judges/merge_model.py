"""Merge engines as a fold over plain Python rows: what a table must hold after each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Event = Mapping[str, Any]
"""A row by column, with its `_row_kind`."""

Step = Callable[[Any, Any, bool], Any]


def _adding(add: Callable[[Any, Any], Any], taking: Callable[[Any, Any], Any] | None = None) -> Step:
    def step(so_far: Any, value: Any, taken: bool) -> Any:
        if value is None:
            return so_far
        if taken:
            assert taking is not None
            return taking(so_far, value)
        return value if so_far is None else add(so_far, value)

    return step


def _without(values: Any, gone: Any) -> Any:
    left = list(values or [])
    for one in gone:
        if one in left:
            left.remove(one)
    return left


def _listed(parts: bool) -> Step:
    def step(so_far: Any, value: Any, taken: bool) -> Any:
        if value is None or not value.strip():
            return so_far
        if so_far is None or not so_far.strip():
            return value
        if not parts:
            return f"{so_far},{value}"
        for part in value.split(","):
            if part.strip() and part not in so_far.split(","):
                so_far = f"{so_far},{part}"
        return so_far

    return step


def _merged_map(so_far: Any, value: Any, taken: bool) -> Any:
    if value is None or (taken and so_far is None):
        return so_far
    if taken:
        return [(key, one) for key, one in so_far if key not in dict(value)]
    return list({**dict(so_far or []), **dict(value)}.items())


def _merged_timed_map(so_far: Any, value: Any, taken: bool) -> Any:
    if so_far is None or value is None:
        return value if so_far is None else so_far
    merged = dict(so_far)
    for key, one in value:
        if one is None:
            merged.pop(key, None)
        elif one["ts"] is not None:
            before = merged.get(key)
            if before is None or before["ts"] is None or one["ts"] > before["ts"]:
                merged[key] = one
    return list(merged.items())


def _nested(options: Mapping[str, str]) -> Step:
    key, sequence = options.get("nested-key"), options.get("nested-sequence-field")
    limit = int(options.get("count-limit", 2**31))

    def step(so_far: Any, value: Any, taken: bool) -> Any:
        if value is None or (taken and so_far is None):
            return so_far
        rows = [one for one in so_far or [] if one is not None]
        for one in value:
            if one is None:
                continue
            same = [other for other in rows if (other == one if key is None else other[key] == one[key])]
            if taken:
                rows = [other for other in rows if other not in same]
            elif key is None or not same:
                rows += [one] if len(rows) < limit else []
            elif sequence is None or all(place(one[sequence]) >= place(other[sequence]) for other in same):
                rows = [*(other for other in rows if other not in same), one]
        return rows

    return step


def _nested_parts(so_far: Any, value: Any, taken: bool) -> Any:
    """By `id`, elements without which are ignored."""
    if value is None:
        return so_far
    rows = list(so_far or [])
    for one in value:
        if one is None or one["id"] is None:
            continue
        for other in [other for other in rows if other["id"] == one["id"]]:
            rows.remove(other)
            one = {name: other[name] if part is None else part for name, part in one.items()}
        rows.append(one)
    return rows


def _step(column: str, function: str, options: Mapping[str, str]) -> Step:
    said = {
        name.removeprefix(f"fields.{column}."): value
        for name, value in options.items()
        if name.startswith(f"fields.{column}.")
    }
    match function:
        case "listagg":
            return _listed(said.get("distinct") == "true")
        case "nested_update":
            return _nested(said)
    return STEPS[function]


STEPS: Mapping[str, Step] = {
    "sum": _adding(lambda a, b: a + b, lambda a, b: (a or 0) - b),
    "product": _adding(lambda a, b: a * b, lambda a, b: (1 if a is None else a) / b),
    "min": _adding(min),
    "max": _adding(max),
    "bool_and": _adding(lambda a, b: a and b),
    "bool_or": _adding(lambda a, b: a or b),
    "collect": _adding(lambda a, b: a + b, _without),
    "merge_map": _merged_map,
    "merge_map_with_keytime": _merged_timed_map,
    "nested_partial_update": _nested_parts,
    "last_value": lambda so_far, value, taken: None if taken else value,
    "last_non_null_value": lambda so_far, value, taken: so_far if value is None else None if taken else value,
}


@dataclass
class MergedTable:
    """Rows by key. `functions` has each column's, by name; `orders` the column that tells its order (None: arrival).

    `options` are properties of columns. An array has no nulls that the model must keep, and a map is a list of pairs.
    """

    functions: Mapping[str, str]
    orders: Mapping[str, str | None]
    grouped: frozenset[str] = frozenset()
    ignoring: frozenset[str] = frozenset()
    removes: str | None = None
    descending: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)

    def write(self, batch: Sequence[Event]) -> None:
        for key in {event["k"] for event in batch}:
            self._write(key, [event for event in batch if event["k"] == key])

    def _write(self, key: int, events: list[Event]) -> None:
        stored = self.rows.get(key)
        if self.removes is not None:
            events, stored = self._behind_last_delete(events, stored, self.removes)
            if not events:
                if stored is None:
                    self.rows.pop(key, None)
                return
        self.rows[key] = {name: self._column(name, events, stored) for name in self.functions}

    def _behind_last_delete(
        self, events: list[Event], stored: dict[str, Any] | None, order: str
    ) -> tuple[list[Event], dict[str, Any] | None]:
        placed = sorted(events, key=lambda event: self._place(event[order]))
        at = [number for number, event in enumerate(placed) if event["_row_kind"] == "-D"]
        if not at:
            return events, stored
        in_time = stored is None or any(self._place(placed[n][order]) >= self._place(stored[order]) for n in at)
        kept = placed[at[-1] + 1 :]
        return kept, None if in_time else stored

    def _column(self, name: str, events: Sequence[Event], stored: Mapping[str, Any] | None) -> Any:
        order, function = self.orders[name], self.functions[name]
        if name in self.ignoring:
            events = [event for event in events if event["_row_kind"] in ("+I", "+U")]
        if name in self.grouped and order is not None:
            events = [event for event in events if event[order] is not None]
        early: list[Event] = []
        if order is not None:
            events = sorted(events, key=lambda event: self._place(event[order]))
            if stored is not None:
                early = [event for event in events if self._place(event[order]) < self._place(stored[order])]
        late = events[len(early) :]
        if function == "count":
            before = stored[name] if stored is not None and stored[name] is not None else 0
            signs = [_sign(event) for event in events if event[name] is not None]
            return before + sum(signs)
        values = [(event[name], _sign(event) < 0) for event in early]
        values += [(stored[name], False)] if stored is not None else []
        values += [(event[name], _sign(event) < 0) for event in late]
        if function.startswith("first"):
            given = [value for value, _ in values if value is not None or function == "first_value"]
            return given[0] if given else None
        if name == order:
            return values[-1][0] if values else None
        if function in ("sum", "collect", "product", "count"):
            # Taking back commutes with adding.
            values.sort(key=lambda one: one[1])
        result = None
        for number, (value, taken) in enumerate(values):
            if function == "last_non_null_value" and stored is not None and number == len(early):
                result = result if value is None else value
                continue
            result = _step(name, function, self.options)(result, value, taken)
        return result

    def _place(self, value: Any) -> tuple[bool, Any]:
        return place(value, descending=self.descending)


@dataclass
class DeduplicatedTable:
    """Rows by key, of which the last one by `order` stays whole; without it a key comes once, or as `-U` and `+U`.

    With `keeps_later` a row that comes before the stored one does nothing.
    """

    order: str | None
    descending: bool = False
    keeps_later: bool = True
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)

    def write(self, batch: Sequence[Event]) -> None:
        for key in {event["k"] for event in batch}:
            events = sorted((event for event in batch if event["k"] == key), key=self._place)
            last, stored = events[-1], self.rows.get(key)
            kept = self.keeps_later and self.order is not None
            if stored is not None and kept and self._place(stored) > self._place(last):
                continue
            if last["_row_kind"] in ("+I", "+U"):
                self.rows[key] = {name: value for name, value in last.items() if name not in ("k", "_row_kind")}
            else:
                self.rows.pop(key, None)

    def _place(self, row: Mapping[str, Any]) -> tuple[bool, Any, bool]:
        at = None if self.order is None else row[self.order]
        return (*place(at, descending=self.descending), self.order is None and row.get("_row_kind") != "-U")


def place(value: Any, *, descending: bool = False) -> tuple[bool, Any]:
    """A number's place in an order; a null comes first in either direction."""
    return (value is not None, 0 if value is None else -value if descending else value)


def _sign(event: Event) -> int:
    return 1 if event["_row_kind"] in ("+I", "+U") else -1
