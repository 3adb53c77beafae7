"""Change logs by seed, in the shape that a database's log has, and the model: the rows of a keyed table after them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
Key = tuple[Any, ...]

COLUMNS = ("id", "region", "v", "amount", "at", "day")
REGIONS = ("north", "south")
KEYS = 6
EVENTS_A_STEP = 12
# Ids that no other change has.
_LAST = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """A row that came, went or was changed."""

    before: Row | None
    after: Row | None

    def debezium(self) -> str:
        """One line of Debezium's JSON."""
        kind = "c" if self.before is None else "d" if self.after is None else "u"
        sides = {
            name: None if row is None else dict(zip(COLUMNS, row, strict=True))
            for name, row in (("before", self.before), ("after", self.after))
        }
        return json.dumps({**sides, "op": kind})

    def row_kinds(self) -> list[Mapping[str, Any]]:
        """Rows with their kinds, in order."""
        update = self.before is not None and self.after is not None
        kinds = (("-U", self.before), ("+U", self.after)) if update else (("-D", self.before), ("+I", self.after))
        return [{**dict(zip(COLUMNS, row, strict=True)), "_row_kind": kind} for kind, row in kinds if row is not None]


@dataclass(frozen=True, slots=True)
class Step:
    """What goes in at once, and the table's rows by key once it is in."""

    changes: tuple[Change, ...]
    rows: Mapping[Key, Row]


def cdc_log(seed: int, steps: int, key: Sequence[str], *, exact: bool) -> list[Step]:
    """Steps in which keys are used again and again. The last change of each brings a row.

    `exact`: rows come where there are none of their key, and go as they were, as in a database's own log. Else they
    may also replace one, or go where there is none, as an upsert takes them.
    """
    rng = random.Random(seed)
    rows: dict[Key, Row] = {}
    log = []
    for step in range(steps):
        changes = [_change(rng, rows, key, exact) for _ in range(rng.randint(1, EVENTS_A_STEP))]
        changes.append(_apply(rows, key, Change(None, _row(rng, _LAST + step, "north"))))
        log.append(Step(tuple(changes), dict(rows)))
    return log


def key_of(row: Row, key: Sequence[str]) -> Key:
    return tuple(row[COLUMNS.index(name)] for name in key)


def net_changes(before: Mapping[Key, Row], after: Mapping[Key, Row]) -> list[tuple[str, Row]]:
    """What tells two states of a table apart, in the words of `table_changes`."""
    changes = []
    for one in {**before, **after}:
        old, new = before.get(one), after.get(one)
        if old == new:
            continue
        updated = old is not None and new is not None
        if old is not None:
            changes.append(("UPDATE_BEFORE" if updated else "DELETE", old))
        if new is not None:
            changes.append(("UPDATE_AFTER" if updated else "INSERT", new))
    return in_order(changes)


def in_order(rows: Iterable[Any]) -> list[Any]:
    return sorted(rows, key=repr)


def _change(rng: random.Random, rows: dict[Key, Row], key: Sequence[str], exact: bool) -> Change:
    new = _row(rng, rng.randrange(KEYS), rng.choice(REGIONS))
    old = rows.get(key_of(new, key))
    goes = rng.random() < 0.4
    if exact:
        return _apply(rows, key, Change(old, None if goes and old is not None else new))
    if goes:
        return _apply(rows, key, Change(new if old is None else old, None))
    return _apply(rows, key, Change(rng.choice([None, old]), new))


def _apply(rows: dict[Key, Row], key: Sequence[str], change: Change) -> Change:
    if change.before is not None:
        rows.pop(key_of(change.before, key), None)
    if change.after is not None:
        rows[key_of(change.after, key)] = change.after
    return change


def _row(rng: random.Random, id: int, region: str) -> Row:
    return (
        id,
        region,
        rng.choice([None, f"v{rng.randrange(1000)}", "ü \"'"]),
        f"{rng.randrange(-99999, 99999) / 100:.2f}",
        f"2024-0{rng.randint(1, 9)}-11 0{rng.randint(0, 9)}:00:00.{rng.randrange(1000):03}",
        f"2024-0{rng.randint(1, 9)}-2{rng.randint(0, 9)}",
    )
