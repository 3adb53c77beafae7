"""Random rows for merge engines: a column for each aggregate function, whose names the model's tests share."""

from __future__ import annotations

import random
from typing import Any

from judges.merge_model import Event

NESTED = {
    "nu": "ARRAY<STRUCT<id: INT, at: INT, v: STRING>>",
    "nl": "ARRAY<STRUCT<id: INT, v: STRING>>",
    "np": "ARRAY<STRUCT<id: INT, a: INT, b: STRING>>",
    "mm": "MAP<STRING, INT>",
    "mt": "MAP<STRING, STRUCT<v: INT, ts: STRING>>",
}
"""The types of arrays of structs, which are lists of dicts here, and of maps, which are lists of pairs."""
COLUMNS = (
    "k INT, at INT, s INT, p INT, c BIGINT, lo INT, hi INT, ba BOOLEAN, bo BOOLEAN, lb BINARY, hb BOOLEAN, lv STRING,"
    " ln STRING, fv STRING, fn STRING, la STRING, ld STRING, co ARRAY<STRING>, "
    + ", ".join(f"{name} {type}" for name, type in NESTED.items())
    + ", PRIMARY KEY (k)"
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
    "lb": "min",
    "hb": "max",
    "lv": "last_value",
    "ln": "last_non_null_value",
    "fv": "first_value",
    "fn": "first_non_null_value",
    "la": "listagg",
    "ld": "listagg",
    "co": "collect",
    "nu": "nested_update",
    "nl": "nested_update",
    "np": "nested_partial_update",
    "mm": "merge_map",
    "mt": "merge_map_with_keytime",
}
OPTIONS = {
    "fields.ld.distinct": "true",
    "fields.nu.nested-key": "id",
    "fields.nu.nested-sequence-field": "at",
    "fields.nu.count-limit": "3",
    "fields.nl.count-limit": "5",
    "fields.np.nested-key": "id, ID",
    "fields.np.nested-key-null-strategy": "ignore",
}
"""Of the columns with the `FUNCTIONS`; the model reads them too."""
RETRACTING = ("at", "s", "c", "lv", "ln", "co", "nu", "nl", "mm")
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
        case "lb":
            return bytes(rng.randrange(256) for _ in range(rng.randrange(3)))
        case "ba" | "bo" | "hb":
            return rng.random() < 0.5
        case "co":
            return [rng.choice("xyz") for _ in range(rng.randrange(3))]
        case "la" | "ld":
            return rng.choice(["a", "b", "c", " ", "", "a,b", "b,,d"])
        case "nu" | "nl" | "np" | "mm" | "mt":
            return _nested(rng, column)
    return rng.choice("abcdef")


def _nested(rng: random.Random, column: str) -> Any:
    def number() -> int | None:
        return rng.choice([None, 1, 2, 3])

    match column:
        case "mm":
            return [(key, number()) for key in rng.sample("xyz", rng.randrange(3))]
        case "mt":
            timed = [{"v": rng.randrange(9), "ts": rng.choice([None, "1", "2", "20"])} for _ in range(3)]
            return [(key, rng.choice([None, *timed])) for key in rng.sample("xyz", rng.randrange(3))]
    fields = {"nu": ("at", "v"), "nl": ("v",), "np": ("a", "b")}[column]
    return [
        None
        if rng.random() < 0.1
        else {
            "id": number(),
            **{name: number() if name in ("at", "a") else rng.choice([None, *"pq"]) for name in fields},
        }
        for _ in range(rng.randrange(3))
    ]
