"""Literals of the scalar types of random tables (null, ordinary, and at the edges), promotions and transforms."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

Literal = Callable[[random.Random], str]


def _one_of(*literals: str) -> Literal:
    return lambda rng: rng.choice(literals)


def _whole(bits: int) -> Literal:
    edges = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1, -1, 0)
    return lambda rng: str(rng.choice(edges) if rng.random() < 0.2 else rng.randrange(-50, 50))


def _decimal(precision: int, scale: int) -> Literal:
    def literal(rng: random.Random) -> str:
        most = 10**precision - 1
        unscaled = rng.choice([most, -most, 0, rng.randrange(-9999, 9999), rng.randrange(-9999, 9999)])
        digits = f"{abs(unscaled):0{scale + 1}d}"
        return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"

    return literal


def _date(rng: random.Random) -> str:
    days = ("0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", f"2024-0{rng.randrange(1, 7)}-15")
    return f"'{rng.choice(days)}'"


def _timestamp(rng: random.Random) -> str:
    # ORC stores the last second before 1970 as that after it
    times = ("1969-12-31 23:59:58.999999", "1970-01-01 00:00:00", f"2024-03-0{rng.randrange(1, 6)} 12:34:56.789012")
    return f"'{rng.choice(times)}'"


_TEXTS = (
    "''",
    "'a'",
    "'b/c d'",
    "'žluť 🐎'",
    "'aaaaaaaaaaaaaaaaaaaaaaaa'",
    "'~~~~~~~~~~~~~~~~~~~~~~~~'",
    "'🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎🐎'",
    "'A'",
    "'10'",
    "'null'",
    "'a=b&c'",
)
_FLOATS = ("'NaN'", "'-Infinity'", "'Infinity'", "'-0.0'", "0.0", "1.5", "-2.25", "3.0")

SCALARS: Mapping[str, Literal] = {
    "BOOLEAN": _one_of("true", "false"),
    "INT": _whole(32),
    "BIGINT": _whole(64),
    "FLOAT": _one_of(*_FLOATS),
    "DOUBLE": _one_of(*_FLOATS, "1e300"),
    "DECIMAL(9,2)": _decimal(9, 2),
    "DECIMAL(18,4)": _decimal(18, 4),
    "DECIMAL(30,6)": _decimal(30, 6),
    "DATE": _date,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_NTZ": _timestamp,
    "STRING": _one_of(*_TEXTS),
    "BINARY": _one_of("X''", "X'00'", "X'FFFF'", "X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'", f"X'{'0102' * 10}'"),
}
RARE: Mapping[str, Literal] = {
    "UUID": _one_of(
        "'00000000-0000-0000-0000-000000000000'",
        "'7fffffff-ffff-4fff-8fff-ffffffffffff'",
        "'80000000-0000-4000-8000-000000000001'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    ),
    "FIXED(4)": _one_of("X'00000000'", "X'7FFFFFFF'", "X'80000000'", "X'FFFFFFFF'"),
}
"""Types of every format version that few engines declare."""

RARE_IN_VERSION_3: Mapping[str, Literal] = {
    "VARIANT": _one_of("'null'", "'1'", "'-2.5'", "'\"ž\"'", '\'{"a": [1, null, {"b": true}]}\'', "'[]'"),
    "VOID": _one_of("NULL"),
}
VALUE_TYPES: Mapping[str, str] = {"UUID": "STRING", "FIXED(4)": "BINARY"}
"""What Spark has for the types that it does not know."""

COMPARED = frozenset(SCALARS) - {"BINARY"} | {"UUID", "DECIMAL(18,2)"}
"""Types whose values are compared with literals."""

WIDENED: Mapping[str, str] = {
    "INT": "BIGINT",
    "FLOAT": "DOUBLE",
    "DECIMAL(9,2)": "DECIMAL(18,2)",
    "VOID": "STRING",
}
"""Promotions that the format allows (spec: Schema Evolution)."""

TRANSFORMS: Mapping[str, tuple[str, ...]] = {
    "BOOLEAN": ("{c}",),
    "INT": ("{c}", "bucket(3, {c})", "truncate(10, {c})"),
    "BIGINT": ("{c}", "bucket(4, {c})", "truncate(7, {c})"),
    # the least value of a decimal is truncated to one that its type does not hold
    "DECIMAL(9,2)": ("{c}", "bucket(2, {c})"),
    "DECIMAL(30,6)": ("{c}", "bucket(2, {c})"),
    "DATE": ("{c}", "years({c})", "months({c})", "days({c})", "bucket(2, {c})"),
    "TIMESTAMP": ("{c}", "years({c})", "months({c})", "days({c})", "hours({c})"),
    "TIMESTAMP_NTZ": ("{c}", "days({c})", "hours({c})", "bucket(2, {c})"),
    "STRING": ("{c}", "bucket(3, {c})", "truncate(1, {c})"),
    "BINARY": ("{c}", "bucket(3, {c})", "truncate(2, {c})"),
    "UUID": ("{c}", "bucket(3, {c})"),
    # as it is, it makes Iceberg write manifests that are no Avro
    "FIXED(4)": ("bucket(2, {c})",),
}
"""Partition transforms of a column, where `{c}` is its name."""

_LITERALS = {**SCALARS, **RARE, **RARE_IN_VERSION_3, "DECIMAL(18,2)": _decimal(18, 2)}


def scalar_literal(type_: str, rng: random.Random) -> str:
    """A value of the type that is not null, cast to it, but for VOID."""
    constant = scalar_constant(type_, rng)
    return f"parse_json({constant})" if type_ == "VARIANT" else f"CAST({constant} AS {VALUE_TYPES.get(type_, type_)})"


def scalar_constant(type_: str, rng: random.Random) -> str:
    """The same as a constant of SQL's, which has another type where SQL has none of this one."""
    return _LITERALS[type_](rng)
