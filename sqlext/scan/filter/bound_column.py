"""Lower or upper bounds of a column in all entries of a manifest, compared with a literal as vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlext.spec.avro.column import Mask, Octets, OneWidth
from sqlext.spec.iso_date_time import MICROS_PER_SECOND, NANOS_PER_SECOND, SECONDS_PER_DAY
from sqlext.spec.single_value import scaled, unscaled
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
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)

_WHOLE_NUMBERS: Mapping[type, Mapping[int, tuple[str, int]]] = {
    BooleanType: {1: ("u1", 1)},
    IntegerType: {4: ("<i4", 1), 8: ("<i8", 1)},
    LongType: {4: ("<i4", 1), 8: ("<i8", 1)},
    DateType: {4: ("<i4", 1)},
    TimeType: {8: ("<i8", 1)},
    TimestampType: {4: ("<i4", SECONDS_PER_DAY * MICROS_PER_SECOND), 8: ("<i8", 1)},
    TimestamptzType: {8: ("<i8", 1)},
    TimestampNanoType: {4: ("<i4", SECONDS_PER_DAY * NANOS_PER_SECOND), 8: ("<i8", 1)},
    TimestamptzNanoType: {8: ("<i8", 1)},
}
"""By type and width of a bound in bytes: its binary form, and the factor to the stored value of the type."""


_UUID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Compared:
    """The possible orders of each bound and a literal; an unknown bound may have any order, and is not `is_equal`."""

    may_be_less: Mask
    may_be_at_most: Mask
    may_be_at_least: Mask
    may_be_greater: Mask
    is_equal: Mask


class BoundColumn(Protocol):
    def compared(self, literal: Any) -> Compared | None:
        """The bounds compared with `literal`; None for a literal of another type."""

    def extreme(self, rows: Mask, *, largest: bool) -> Any:
        """The least or largest bound of `rows`, at least one, as a stored value; None if it is unknown."""

    def compared_with_prefix(self, prefix: Any) -> Compared | None:
        """The bounds, truncated to the length of `prefix`, compared with it; None unless they are strings or bytes."""


def bound_column(bounds: Octets | None, value_type: Type, size: int) -> BoundColumn | None:
    """The bounds of `size` entries; None if they have several forms, or one that vectors do not support."""
    if bounds is None:
        return _NoBounds(size)
    known = np.ones(size, np.bool_) if bounds.valid is None else bounds.valid
    if isinstance(value_type, (FloatType, DoubleType)):
        return _floats(bounds, known)
    if isinstance(value_type, DecimalType):
        return _decimals(bounds, value_type.scale, known)
    if isinstance(value_type, (StringType, BinaryType, FixedType, UuidType)):
        return _texts(bounds, value_type, known)
    return _whole_numbers(bounds, value_type, known)


def in_any_order(lower: Octets | None, upper: Octets | None) -> tuple[Octets | None, Octets | None]:
    """Bounds of uuids, unknown in entries in which they depend on the writer's order (`are_bounds_in_any_order`)."""
    if lower is None or upper is None or lower.width != _UUID_BYTES or upper.width != _UUID_BYTES:
        return lower, upper
    assert isinstance(lower.values, OneWidth)
    assert isinstance(upper.values, OneWidth)
    signs = (lower.values.array() ^ upper.values.array())[:, [0, _UUID_BYTES // 2]] >> 7
    agreeing = np.broadcast_to(~signs.any(axis=1), (lower.size,))
    return _known_where(lower, agreeing), _known_where(upper, agreeing)


def _known_where(bounds: Octets, rows: Mask) -> Octets:
    return replace(bounds, valid=rows if bounds.valid is None else bounds.valid & rows)


def _whole_numbers(bounds: Octets, value_type: Type, known: Mask) -> BoundColumn | None:
    form = _WHOLE_NUMBERS.get(type(value_type), {}).get(bounds.width or 0)
    if form is None:
        return None
    values = _viewed(bounds, form[0]).astype(np.int64)
    if isinstance(value_type, BooleanType):
        values = (values != 0).astype(np.int64)
    if form[1] != 1 and len(values) and np.abs(values).max() > np.iinfo(np.int64).max // form[1]:
        return None
    return _Numbers(values * form[1], known, None)


def _floats(bounds: Octets, known: Mask) -> BoundColumn | None:
    form = {4: "<f4", 8: "<f8"}.get(bounds.width or 0)
    if form is None:
        return None
    values = _viewed(bounds, form).astype(np.float64)
    return _Numbers(values, known & ~np.isnan(values), None)


def _decimals(bounds: Octets, scale: int, known: Mask) -> BoundColumn | None:
    """Bounds of decimals, in big-endian two's complement of at most eight bytes; None for longer ones."""
    array = bounds.one_or_all()
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    lengths, starts = np.diff(offsets), offsets[:-1]
    if not len(lengths) or lengths.max() > 8 or (lengths.min() == 0 and not _only_nulls_are_empty(array, lengths)):
        return None
    data = np.frombuffer(array.buffers()[2], np.uint8)
    values = np.zeros(len(lengths), np.int64)
    for place in range(int(lengths.max())):
        rows = np.flatnonzero(lengths > place)
        byte = data[starts[rows] + place].astype(np.int64)
        if place == 0:
            values[rows] = np.where(byte >= 0x80, byte - 0x100, byte)
        else:
            values[rows] = values[rows] << 8 | byte
    return _Numbers(values, known, scale)


def _only_nulls_are_empty(array: pa.BinaryArray, lengths: npt.NDArray[np.int64]) -> bool:
    return int(array.null_count) == int((lengths == 0).sum())


def _texts(bounds: Octets, value_type: Type, known: Mask) -> BoundColumn | None:
    array = bounds.one_or_all()
    if isinstance(value_type, UuidType) and bounds.width != _UUID_BYTES:
        return None
    if isinstance(value_type, StringType):
        try:
            array.cast(pa.string())
        except pa.ArrowInvalid:  # truncated inside a character
            return None
    return _Texts(array, known, type(value_type))


def _viewed(bounds: Octets, form: str) -> npt.NDArray[Any]:
    assert isinstance(bounds.values, OneWidth)
    return bounds.values.array().reshape(-1).view(form)


@dataclass(frozen=True, slots=True)
class _NoBounds:
    size: int

    def compared(self, literal: Any) -> Compared:
        anything, nothing = np.ones(self.size, np.bool_), np.zeros(self.size, np.bool_)
        return Compared(anything, anything, anything, anything, nothing)

    def extreme(self, rows: Mask, *, largest: bool) -> Any:
        return None

    def compared_with_prefix(self, prefix: Any) -> Compared:
        return self.compared(prefix)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """`values` by entry, or a single one for all; unscaled values of decimals of `scale`."""

    values: npt.NDArray[Any]
    known: Mask
    scale: int | None

    def compared(self, literal: Any) -> Compared | None:
        number = self._number(literal)
        if number is None:
            return None
        less, equal = self.values < number, self.values == number
        unknown = ~self.known
        at_most = less | equal
        return Compared(less | unknown, at_most | unknown, ~less | unknown, ~at_most | unknown, equal & self.known)

    def extreme(self, rows: Mask, *, largest: bool) -> Any:
        if not self.known[rows].all() or self.values.dtype.kind == "f":
            return None
        chosen = np.broadcast_to(self.values, self.known.shape)[rows]
        found = int(chosen.max() if largest else chosen.min())
        return found if self.scale is None else scaled(found, self.scale)

    def compared_with_prefix(self, prefix: Any) -> Compared | None:
        return None

    def _number(self, literal: Any) -> Any:
        if self.scale is not None:
            try:
                return unscaled(literal, self.scale) if isinstance(literal, Decimal) else None
            except ValueError:
                return None
        whole = isinstance(literal, int)
        if self.values.dtype.kind == "f":
            return literal if isinstance(literal, float) else None
        return int(literal) if whole else None


@dataclass(frozen=True, slots=True)
class _Texts:
    """Bytes, or strings as UTF-8, in which the order of bytes is the order of code points."""

    values: pa.BinaryArray
    known: Mask
    value_type: type

    def compared(self, literal: Any) -> Compared | None:
        encoded = self._encoded(literal)
        if encoded is None:
            return None
        less, equal = self._mask(pc.less(self.values, encoded)), self._mask(pc.equal(self.values, encoded))
        return self._result(less, equal)

    def extreme(self, rows: Mask, *, largest: bool) -> Any:
        return None

    def compared_with_prefix(self, prefix: Any) -> Compared | None:
        encoded = self._encoded(prefix)
        if encoded is None or self.value_type is UuidType:
            return None
        less = self._mask(pc.less(self.values, encoded))
        after = _after_all_with(encoded)
        equal = ~less if after is None else ~less & self._mask(pc.less(self.values, after))
        return self._result(less, equal)

    def _result(self, less: Mask, equal: Mask) -> Compared:
        unknown = ~self.known
        at_most = less | equal
        return Compared(less | unknown, at_most | unknown, ~less | unknown, ~at_most | unknown, equal & self.known)

    def _mask(self, compared: Any) -> Mask:
        mask: Mask = compared.fill_null(False).to_numpy(zero_copy_only=False)
        return np.broadcast_to(mask, self.known.shape)

    def _encoded(self, literal: Any) -> pa.Scalar | None:
        if self.value_type is StringType and isinstance(literal, str):
            try:
                return pa.scalar(literal.encode(), pa.binary())
            except UnicodeEncodeError:
                return None
        if self.value_type is UuidType and isinstance(literal, UUID):
            return pa.scalar(literal.bytes, pa.binary())
        if self.value_type in (BinaryType, FixedType) and isinstance(literal, bytes):
            return pa.scalar(literal, pa.binary())
        return None


def _after_all_with(prefix: pa.Scalar) -> pa.Scalar | None:
    """The least bytes greater than all that begin with `prefix`; None if there are none."""
    kept = prefix.as_py().rstrip(b"\xff")
    return pa.scalar(kept[:-1] + bytes([kept[-1] + 1]), pa.binary()) if kept else None
