"""The columns by whose values the last of several rows of a key is told."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, StructType, UnknownType, VariantType

_WITHOUT_ORDER = (StructType, ListType, MapType, VariantType, UnknownType)


def sequence_columns(schema: Schema, names: Sequence[str], table: str) -> tuple[str, ...]:
    """The columns as the schema spells them. AnalysisError INVALID_SEQUENCE_FIELD for one that cannot tell an order."""
    found = []
    for name in names:
        field = next((field for field in schema.fields if field.name.lower() == name.lower()), None)
        if field is None:
            raise AnalysisError("INVALID_SEQUENCE_FIELD", name=table, column=name, reason="there is no such column")
        if isinstance(field.type, _WITHOUT_ORDER):
            reason = f"its type is {field.type}"
            raise AnalysisError("INVALID_SEQUENCE_FIELD", name=table, column=name, reason=reason)
        found.append(field.name)
    return tuple(found)
