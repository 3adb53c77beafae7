"""The column with the kind of each row of a changelog (Flink: RowKind). It is never stored."""

from __future__ import annotations

from sqlext.spec.types import NestedField, StringType

ROW_KIND = NestedField(2147483447, "_row_kind", StringType())
"""`+I` insert, `-U` old row of an update, `+U` new row of an update, `-D` delete."""

GIVEN_KIND = "__given_kind"
"""The last column of rows of a changelog until they are written: the kind of each."""
