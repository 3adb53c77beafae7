"""Random rows for merge engines: a column for each aggregate function, whose names the model's tests share."""

from __future__ import annotations

import random
from typing import Any

from judges.merge_model import Event

COLUMNS = (
    "k INT, at INT, s INT, p INT, c BIGINT, lo INT, hi INT, ba BOOLEAN, bo BOOLEAN, lv STRING, ln STRING, fv STRING,"
    " fn STRING, la STRING, co ARRAY<STRING>, PRIMARY KEY (k)"
)
FUNCTIONS = {
    "at": "last_value",
    "s": "sum",
    "p": "product",
    "c": "count",
    "lo": "min",
    "hi": "max",
    "ba": "bool_and",
    "bo": "bool_or",
    "lv": "last_value",
    "ln": "last_non_null_value",
    "fv": "first_value",
    "fn": "first_non_null_value",
    "la": "listagg",
    "co": "collect",
}
RETRACTING = ("at", "s", "c", "lv", "ln", "co")
"""The columns whose functions take values back."""


def random_batch(rng: random.Random, columns: list[str], kinds: list[str], size: int) -> list[Event]:
    """Rows of four keys, each of one of the `kinds`."""
    return [
        {"k": rng.randrange(4), **{name: _value(rng, name) for name in columns}, "_row_kind": rng.choice(kinds)}
        for _ in range(size)
    ]


def _value(rng: random.Random, column: str) -> Any:
    if column != "at" and rng.random() < 0.3:
        return None
    match column:
        case "at" | "g":
            return rng.randrange(30)
        case "s" | "lo" | "hi" | "c" | "a" | "b":
            return rng.randrange(-50, 50)
        case "p":
            return rng.choice([1, 2, -1, 3])
        case "ba" | "bo":
            return rng.random() < 0.5
        case "co":
            return [rng.choice("xyz") for _ in range(rng.randrange(3))]
    return rng.choice("abcdef")
