"""Values of Arrow as a table's metadata has them (spec: Single-value serialization)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa

from sqlext.spec.types import Type, UuidType


def metadata_values(column: pa.Array, type: Type) -> list[Any]:
    """Dates as days, times and timestamps as whole numbers of their unit since midnight or 1970, UUIDs as `UUID`."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type) or pa.types.is_time64(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if isinstance(type, UuidType):
        return [None if value is None else UUID(bytes=value) for value in values]
    return values
