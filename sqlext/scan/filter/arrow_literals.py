"""Stored values, such as literals of predicates, as Arrow has them (spec: Single-value serialization)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pyarrow as pa


def literal_scalar(value: Any, type: pa.DataType) -> pa.Scalar:
    """A stored value in a column of `type`. Raises as `literal_array`."""
    return literal_array([value], type)[0]


def literal_array(values: Iterable[Any], type: pa.DataType) -> pa.Array:
    """Stored values as a column of `type`. Raises ArrowInvalid or OverflowError for a value that the type does not
    hold."""
    stored = [value.bytes if isinstance(value, UUID) else value for value in values]
    if pa.types.is_date32(type):
        return pa.array(stored, pa.int32()).cast(type)
    if pa.types.is_timestamp(type) or pa.types.is_time64(type):
        return pa.array(stored, pa.int64()).cast(type)
    return pa.array(stored, type)
