"""Unions of serialized sketches and bitmaps, as the shim's `sqlext_united` makes them: the same bytes can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyroaring import BitMap, BitMap64

from sqlext.errors import DataError, UnsupportedError
from sqlext.local.values_of_key import ValuesOfKey
from sqlext.spec.merge_engine import ColumnMerge
from sqlext.spec.types import Type

# The greatest number of values that a union of theta sketches keeps, as a power of two: the library's default in Java.
_LG_THETA = 12
# The least number of registers of a union of HLL sketches, as a power of two, that the library knows here.
_LG_HLL = 7


def united(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """The union of all values. Raises DataError INVALID_COLUMN_VALUE for one that cannot be read as the function's
    kind, and UnsupportedError PACKAGE_REQUIRED for sketches without the package `datasketches`."""
    if not of_key.has_value:
        return of_key.stored
    try:
        return _UNIONS[merge.function](of_key.in_order())
    except (ValueError, IndexError, RuntimeError, MemoryError):
        reason = f"it is no {merge.function}"
        raise DataError(
            "INVALID_COLUMN_VALUE", column=merge.column, table="the table", type=type, reason=reason
        ) from None


def _datasketches() -> Any:
    try:
        import datasketches
    except ImportError:
        raise UnsupportedError("PACKAGE_REQUIRED", feature="A union of sketches", package="datasketches") from None
    return datasketches


def _theta(values: Sequence[bytes]) -> bytes:
    library = _datasketches()
    union = library.theta_union(_LG_THETA)
    for value in values:
        union.update(library.compact_theta_sketch.deserialize(value))
    return bytes(union.get_result().serialize())


def _hll(values: Sequence[bytes]) -> bytes:
    library = _datasketches()
    sketches = [library.hll_sketch.deserialize(value) for value in values]
    union = library.hll_union(max(min(one.lg_config_k for one in sketches), _LG_HLL))
    for one in sketches:
        union.update(one)
    return bytes(union.get_result(library.tgt_hll_type.HLL_4).serialize_compact())


def _bitmap(values: Sequence[bytes]) -> bytes:
    union = BitMap.union(*map(BitMap.deserialize, values))
    union.run_optimize()
    return bytes(union.serialize())


def _long_bitmap(values: Sequence[bytes]) -> bytes:
    union = BitMap64.union(*map(BitMap64.deserialize, values))
    union.run_optimize()
    return bytes(union.serialize())


_UNIONS: Mapping[str, Callable[[Sequence[bytes]], bytes]] = {
    "theta_sketch": _theta,
    "hll_sketch": _hll,
    "rbm32": _bitmap,
    "rbm64": _long_bitmap,
}
