"""Histories: what a seed has in store for a pipeline, step by step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import pyarrow as pa

from sqlext.testing.simulator.batch import Row
from sqlext.testing.simulator.random_values import Values, random_row, random_value

Key: TypeAlias = tuple[Any, ...]
_SHARE_OF_DELETES = 0.25
_ATTEMPTS_PER_KEY = 50


@dataclass(frozen=True)
class FaultRates:
    """In which share of the steps a fault happens, from 0 to 1 each.

    `lost_commit`: another writer commits first, in half of them with changes of rows of other keys. `lost_answer`: a
    commit lands, and its answer is lost. `refused_write`: the store refuses to write a file. `killed_worker`: a Python
    worker of Spark dies while it writes. `redelivery`: the batch comes again after it was taken.
    """

    lost_commit: float = 0.2
    lost_answer: float = 0.15
    refused_write: float = 0.15
    killed_worker: float = 0.0
    redelivery: float = 0.15

    def __post_init__(self) -> None:
        for field in fields(self):
            rate = getattr(self, field.name)
            if not 0 <= rate <= 1:
                raise ValueError(f"{field.name}={rate} is no share of the steps: it is from 0 to 1")


@dataclass(frozen=True)
class KeyChange:
    """The row that is to be under a key, None for none."""

    key: Key
    row: Row | None


@dataclass(frozen=True)
class Step:
    """One batch and what befalls it: names of `FaultRates`. `after`: how many commits or files a fault lets through.

    `others` are what another writer changes while the batch is on its way.
    """

    changes: Sequence[KeyChange]
    faults: Sequence[str] = ()
    after: int = 0
    others: Sequence[KeyChange] = ()


def history_of(
    seed: int,
    schema: pa.Schema,
    key: Sequence[str],
    *,
    steps: int,
    keys: int,
    most_changes: int,
    rates: FaultRates,
    values: Values,
) -> tuple[Step, ...]:
    """The history of a seed, with `keys` different keys.

    Raises ValueError for a type that no values are drawn of, if the columns of the key have too few values, for columns
    that the table has not, and for a history in which nothing would happen."""
    for name, number in (("steps", steps), ("keys", keys), ("most_changes", most_changes)):
        if number < 1:
            raise ValueError(f"a history of {name}={number} tests nothing: it is at least 1")
    for name in (*key, *values):
        if name not in schema.names:
            raise ValueError(f"the table has no column {name}: it has {', '.join(schema.names)}")
    rng = random.Random(f"sqlext history {seed}")
    known = _keys(schema, key, rng, keys, values)
    return tuple(_step(rng, schema, key, known, most_changes, rates, values) for _ in range(steps))


def _keys(schema: pa.Schema, key: Sequence[str], rng: random.Random, count: int, values: Values) -> list[Key]:
    found: dict[str, Key] = {}
    columns = [schema.field(name).with_nullable(False) for name in key]
    for _ in range(count * _ATTEMPTS_PER_KEY):
        drawn = tuple(random_value(one, rng, values.get(one.name)) for one in columns)
        # NaN, and 0.0 beside -0.0, would be one key to some and two to others.
        if not any(isinstance(one, float) and (one != one or one == 0) for one in drawn):
            found.setdefault(repr(drawn), drawn)
        if len(found) == count:
            return list(found.values())
    raise ValueError(f"of the key {', '.join(key)} there are {len(found)} different values, fewer than keys={count}")


def _step(
    rng: random.Random,
    schema: pa.Schema,
    key: Sequence[str],
    known: Sequence[Key],
    most_changes: int,
    rates: FaultRates,
    values: Values,
) -> Step:
    drawn = rng.sample(known, rng.randint(1, min(most_changes, len(known))))
    changes = [_change(rng, schema, key, one, values) for one in drawn]
    faults = [field.name for field in fields(rates) if rng.random() < getattr(rates, field.name)]
    after, others = rng.choice((0, 0, 0, 1)), []
    free = [one for one in known if one not in drawn]
    if "lost_commit" in faults and free and rng.random() < 0.5:
        others = [
            KeyChange(one, {**random_row(schema, rng, values), **dict(zip(key, one, strict=True))})
            for one in rng.sample(free, min(len(free), rng.randint(1, 2)))
        ]
    return Step(tuple(changes), tuple(faults), after, tuple(others))


def _change(rng: random.Random, schema: pa.Schema, key: Sequence[str], of: Key, values: Values) -> KeyChange:
    row = {**random_row(schema, rng, values), **dict(zip(key, of, strict=True))}
    return KeyChange(of, None if rng.random() < _SHARE_OF_DELETES else row)
