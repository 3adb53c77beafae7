"""Identity columns: BIGINT columns in which each new row gets a value of its own. The format has none, so they are
table properties, each by field id.

`sqlext.identity.<field id>` is the definition, such as `ALWAYS START WITH 1 INCREMENT BY 1`.
`sqlext.identity-mark.<field id>` is the furthest value that commits have added, and `sqlext.identity-floor.<field id>`
the furthest one that SYNC IDENTITY has found: a REST catalog cannot refuse a commit for a changed property, so the two
are never written by the same commits. Values behind both are given next. `sqlext.identity-reserved.<field id>` is the
commit that last reserved values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

IDENTITY_PREFIX = "sqlext.identity."
MARK_PREFIX = "sqlext.identity-mark."
FLOOR_PREFIX = "sqlext.identity-floor."
RESERVED_PREFIX = "sqlext.identity-reserved."
STATE_PREFIXES = (MARK_PREFIX, FLOOR_PREFIX, RESERVED_PREFIX)

LEAST, GREATEST = -(2**63), 2**63 - 1
_TEXT = re.compile(r"(ALWAYS|BY DEFAULT) START WITH (-?[0-9]+) INCREMENT BY (-?[0-9]+)")


@dataclass(frozen=True, slots=True)
class IdentityColumn:
    """The values `start`, `start + step`, … in which an identity column counts; `step` is not 0. With `always` no
    statement may give others."""

    always: bool
    start: int = 1
    step: int = 1

    def encode(self) -> str:
        """The value of the property."""
        return f"{'ALWAYS' if self.always else 'BY DEFAULT'} START WITH {self.start} INCREMENT BY {self.step}"

    def clause(self) -> str:
        """The clause of CREATE TABLE."""
        kind, _, options = self.encode().partition(" START ")
        return f"GENERATED {kind} AS IDENTITY (START {options})"

    @classmethod
    def decode(cls, text: str) -> IdentityColumn:
        """Raises ValueError for a text that `encode` does not give."""
        found = _TEXT.fullmatch(text)
        if found is None or not int(found[3]):
            raise ValueError(f"{text} defines no identity column")
        return cls(found[1] == "ALWAYS", int(found[2]), int(found[3]))

    def is_further(self, value: int, than: int | None) -> bool:
        """Whether `value` comes later than `than` in the direction of counting; None is before all values."""
        return than is None or (value > than if self.step > 0 else value < than)

    def furthest(self, values: Iterable[int | None]) -> int | None:
        """The last value in the direction of counting."""
        known = [value for value in values if value is not None]
        return (max if self.step > 0 else min)(known, default=None)

    def after(self, furthest: int | None) -> int:
        """The first value of the column behind `furthest`; it may be beyond those of a BIGINT."""
        if furthest is None or self.is_further(self.start, furthest):
            return self.start
        return self.start + ((furthest - self.start) // self.step + 1) * self.step

    def count(self, given_from: int | None, last: int) -> int:
        """How many values there are behind `given_from` up to `last`, which is one of them or follows on one."""
        return max((last - self.after(given_from)) // self.step + 1, 1)


@dataclass(frozen=True, slots=True)
class IdentityMark:
    """The furthest value in a column, None before the first one, as known from the column bounds of data files in
    manifests up to the sequence number `seen`, and from commits of sqlext."""

    value: int | None = None
    seen: int = 0

    def encode(self) -> str:
        """The value of the property."""
        return f"{'' if self.value is None else self.value}@{self.seen}"

    @classmethod
    def decode(cls, text: str) -> IdentityMark:
        """Raises ValueError."""
        value, _, seen = text.partition("@")
        return cls(int(value) if value else None, int(seen or 0))


@dataclass(frozen=True, slots=True)
class NextValues:
    """The values that a write gives: `first`, `first + step`, …"""

    first: int
    step: int


def identity_columns(properties: Mapping[str, str]) -> Mapping[int, IdentityColumn]:
    """The identity columns by field id, dropped ones included. Raises ValueError for a property that is none."""
    return {
        int(key.removeprefix(IDENTITY_PREFIX)): IdentityColumn.decode(text)
        for key, text in properties.items()
        if key.startswith(IDENTITY_PREFIX)
    }


def identity_mark(properties: Mapping[str, str], field_id: int, column: IdentityColumn) -> IdentityMark:
    """The state of a column by both properties. Raises ValueError."""
    mark = IdentityMark.decode(properties.get(f"{MARK_PREFIX}{field_id}", ""))
    floor = properties.get(f"{FLOOR_PREFIX}{field_id}")
    return IdentityMark(column.furthest((mark.value, None if floor is None else int(floor))), mark.seen)


def turned_marks(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """How far columns have counted that count in another direction by the properties `after` than `before`, or of
    which `before` does not tell: they pass the values that they gave, and all files are looked at once more."""
    found: dict[str, str] = {}
    known = identity_columns(before)
    for id, column in identity_columns(after).items():
        old = known.get(id)
        mark = identity_mark(before, id, column if old is None else old)
        if mark.value is not None and (old is None or (old.step > 0) != (column.step > 0)):
            furthest = column.furthest((mark.value, None if old is None else old.start))
            found[f"{MARK_PREFIX}{id}"] = IdentityMark(furthest).encode()
    return found


def is_identity_state(name: str) -> bool:
    """Whether a property says how far an identity column has counted."""
    return name.startswith(STATE_PREFIXES)


def identity_state(properties: Mapping[str, str]) -> dict[str, str]:
    """How far the columns of a table have counted, for a copy of the table, whose sequence numbers are others."""
    state = {key: text for key, text in properties.items() if is_identity_state(key)}
    marks = {key: IdentityMark.decode(text) for key, text in state.items() if key.startswith(MARK_PREFIX)}
    return {**state, **{key: IdentityMark(mark.value).encode() for key, mark in marks.items()}}


def with_values_given(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties that let a write give values to all identity columns: those that override the table's."""
    found = ((f"{IDENTITY_PREFIX}{id}", column) for id, column in identity_columns(properties).items())
    return {name: IdentityColumn(False, column.start, column.step).encode() for name, column in found}
