"""Random columns of all types in stretches of nulls alone, of NaN alone, of one value, of rising, falling and any
values: pages of them differ in what their statistics can tell."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)

NAN = float("nan")
_EPOCH = datetime(1970, 1, 1)
# Longer than what other writers keep of a bound, and with characters that do not order by UTF-16 as by UTF-8.
_PREFIXES = ("", "a", "ü" * 40, "x" * 70, "\U0001f600" * 20, "\uffee", "y" * 300)


def text(rng: random.Random) -> str:
    return rng.choice(_PREFIXES) + str(rng.randrange(10_000))


def _float(rng: random.Random) -> float:
    return rng.choice([0.0, -0.0, math.inf, -math.inf, rng.uniform(-9, 9)])


def _single(rng: random.Random) -> float:
    (value,) = struct.unpack("<f", struct.pack("<f", _float(rng)))
    return float(value)


def _decimal(digits: int, scale: int) -> Callable[[random.Random], Decimal]:
    return lambda rng: Decimal(rng.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale)


MAKERS: Mapping[str, tuple[Type, Callable[[random.Random], Any]]] = {
    "i": (IntegerType(), lambda rng: rng.randrange(-(2**31), 2**31)),
    "l": (LongType(), lambda rng: rng.randrange(-(2**63), 2**63)),
    "f": (FloatType(), _single),
    "d": (DoubleType(), _float),
    "small": (DecimalType(9, 2), _decimal(9, 2)),
    "middle": (DecimalType(18, 3), _decimal(17, 3)),
    "large": (DecimalType(30, 1), _decimal(26, 1)),
    "day": (DateType(), lambda rng: date(1970, 1, 1) + timedelta(rng.randrange(-40_000, 40_000))),
    "ts": (TimestampType(), lambda rng: _EPOCH + timedelta(microseconds=rng.randrange(-(10**15), 10**15))),
    "tz": (
        TimestamptzType(),
        lambda rng: (_EPOCH + timedelta(microseconds=rng.randrange(10**15))).replace(tzinfo=timezone.utc),
    ),
    "s": (StringType(), text),
    "b": (BinaryType(), lambda rng: rng.randbytes(rng.choice([0, 1, 3, 100]))),
    "fixed": (FixedType(5), lambda rng: rng.randbytes(5)),
    "uuid": (UuidType(), lambda rng: rng.randbytes(16)),
    "flag": (BooleanType(), lambda rng: rng.random() < 0.5),
}
"""A type and a random value of each column; a uuid is 16 bytes."""


def stretched(rng: random.Random, count: int, make: Callable[[random.Random], Any]) -> list[Any]:
    """So many values of `make`, None and, among floats, NaN."""
    values: list[Any] = []
    while len(values) < count:
        stretch = rng.choice([40, 100, 250])
        some = [make(rng) for _ in range(stretch)]
        is_float = isinstance(some[0], float)
        kind = rng.choice(["nulls", "alike", "rising", "falling", "some", "any"])
        if kind == "nulls":
            some = [None] * stretch
        elif kind == "alike":
            some = [NAN if is_float and rng.random() < 0.5 else some[0]] * stretch
        elif kind in ("rising", "falling") and not isinstance(some[0], dict | list):
            some.sort(reverse=kind == "falling")
        elif kind == "some":
            some = [rng.choice([None, NAN if is_float else one, one]) for one in some]
        values += some
    return values[:count]
