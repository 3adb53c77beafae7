"""The column of a changelog that says of each row what it does to the row of its key. It is never stored."""

from __future__ import annotations

from sqlext.spec.types import NestedField, StringType

ROW_KIND = NestedField(2147483447, "_row_kind", StringType())
"""`+I` and `+U` bring a row, `-U` takes the one before an update away, `-D` deletes."""

GIVEN_KIND = "__given_kind"
"""The last column of rows that came with kinds, on their way: what each one's was."""
