"""Sets of numbers as sketches and bitmaps: made and counted by the libraries themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import datasketches
from pyroaring import BitMap, BitMap64

from sqlext.spec.merge_engine import SKETCH_FUNCTIONS


def _theta(numbers: Iterable[int]) -> bytes:
    sketch = datasketches.update_theta_sketch(12)
    for number in numbers:
        sketch.update(number)
    return bytes(sketch.compact().serialize())


def _hll(numbers: Iterable[int]) -> bytes:
    sketch = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_8)
    for number in numbers:
        sketch.update(number)
    return bytes(sketch.serialize_updatable())


MADE: Mapping[str, Callable[[Iterable[int]], bytes]] = {
    "theta_sketch": _theta,
    "hll_sketch": _hll,
    "rbm32": lambda numbers: bytes(BitMap(numbers).serialize()),
    "rbm64": lambda numbers: bytes(BitMap64(number << 30 for number in numbers).serialize()),
}
COUNTED: Mapping[str, Callable[[bytes], float]] = {
    "theta_sketch": lambda value: float(datasketches.compact_theta_sketch.deserialize(value).get_estimate()),
    "hll_sketch": lambda value: float(datasketches.hll_sketch.deserialize(value).get_estimate()),
    "rbm32": lambda value: len(BitMap.deserialize(value)),
    "rbm64": lambda value: len(BitMap64.deserialize(value)),
}
COLUMNS = ", ".join(f"{name} BINARY" for name in SKETCH_FUNCTIONS)
FUNCTIONS = {f"fields.{name}.aggregate-function": name for name in SKETCH_FUNCTIONS}


def is_about(name: str, value: bytes, numbers: Iterable[int]) -> bool:
    """Whether the value counts the distinct numbers: bitmaps exactly, sketches nearly so."""
    count = len(set(numbers))
    return abs(COUNTED[name](value) - count) <= (0.06 * count if name.endswith("sketch") else 0)
