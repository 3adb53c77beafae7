"""Random values of Arrow's types: few different ones, so that they meet, and those that break things."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

Values: TypeAlias = Mapping[str, Callable[[random.Random], Any]]
"""How to draw the values of some columns, by name."""

_TEXTS = ("", "a", "Ada", "O'Brien", 'says "no"', "ä ß 東京 🙂", "a,b;c\td", "null", "x" * 40)
_FLOATS = (0.0, -0.0, 1.5, -2.25, 1e300, float("nan"), float("inf"))
_EPOCH = datetime(1970, 1, 1)
_SHARE_OF_NULLS = 0.15
_MOST_ELEMENTS = 3


def random_row(schema: pa.Schema, rng: random.Random, values: Values) -> dict[str, Any]:
    """A row of the schema's columns. Raises ValueError for a column of a type that nothing is drawn of."""
    return {field.name: random_value(field, rng, values.get(field.name)) for field in schema}


def random_value(field: pa.Field, rng: random.Random, draw: Callable[[random.Random], Any] | None = None) -> Any:
    """A value, or null where the field takes it; as Arrow gives it back. Raises as `random_row`."""
    if draw is not None:
        return pa.array([draw(rng)], field.type).to_pylist()[0]
    if field.nullable and rng.random() < _SHARE_OF_NULLS:
        return None
    return pa.array([_drawn(field, rng)], field.type).to_pylist()[0]


def _drawn(field: pa.Field, rng: random.Random) -> Any:
    of = field.type
    if pa.types.is_boolean(of):
        return rng.random() < 0.5
    if pa.types.is_integer(of):
        most = 2 ** (of.bit_width - 1) - 1
        return rng.choice((rng.randrange(-5, 100), rng.randrange(-5, 100), rng.randint(-most, most)))
    if pa.types.is_floating(of):
        return rng.choice(
            (*_FLOATS[:4], round(rng.uniform(-100, 100), 3), *(_FLOATS[4:] if of.bit_width == 64 else ()))
        )
    if pa.types.is_decimal(of):
        return Decimal(rng.randrange(-(10 ** min(of.precision, 6)) + 1, 10 ** min(of.precision, 6))).scaleb(-of.scale)
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return rng.choice((*_TEXTS, f"text {rng.randrange(1000)}"))
    if pa.types.is_binary(of) or pa.types.is_large_binary(of):
        return rng.choice((b"", b"\x00\xff", rng.randbytes(4)))
    if pa.types.is_date(of):
        return date(1999, 12, 31) + timedelta(days=rng.randrange(12_000))
    if pa.types.is_timestamp(of):
        moment = _EPOCH + timedelta(seconds=rng.randrange(2_000_000_000), microseconds=rng.choice((0, 1, 999_999)))
        return moment if of.tz is None else moment.replace(tzinfo=timezone.utc)
    if pa.types.is_struct(of):
        return {one.name: random_value(one, rng) for one in of}
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return [random_value(of.value_field, rng) for _ in range(rng.randrange(_MOST_ELEMENTS + 1))]
    if pa.types.is_map(of):
        keys = {
            repr(key): key for key in (random_value(of.key_field, rng) for _ in range(rng.randrange(_MOST_ELEMENTS)))
        }
        return [(key, random_value(of.item_field, rng)) for key in keys.values()]
    raise ValueError(
        f"no values are drawn for {field.name} of the type {of}: tell how, by values={{{field.name!r}: …}}"
    )
