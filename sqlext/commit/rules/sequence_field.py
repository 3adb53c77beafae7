"""The columns that order the rows of one key, and the column with their row kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlext.errors import AnalysisError
from sqlext.properties import DESCENDING, ROWKIND_FIELD, SEQUENCE_SORT_ORDER, UPSERT_SEQUENCE_FIELD
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.row_order import UNORDERED, RowOrder
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, StringType, StructType, UnknownType, VariantType

_WITHOUT_ORDER = (StructType, ListType, MapType, VariantType, UnknownType)


def row_order(schema: Schema, properties: Mapping[str, str], table: str) -> RowOrder:
    """The order of rows that the properties declare. Raises as `sequence_columns`."""
    columns = sequence_columns(schema, UPSERT_SEQUENCE_FIELD.of(properties), table)
    descending = SEQUENCE_SORT_ORDER.of(properties) == DESCENDING
    return RowOrder(columns, descending) if columns else UNORDERED


def kind_column(schema: Schema, properties: Mapping[str, str], table: str) -> str | None:
    """The column that the property `rowkind.field` names; None without it.

    Raises AnalysisError INVALID_ROWKIND_FIELD if the column cannot hold row kinds.
    """
    name = ROWKIND_FIELD.of(properties)
    if name is None:
        return None
    field = next((field for field in schema.fields if field.name.lower() == name.lower()), None)
    if field is None:
        reason = "there is no such column"
    elif not isinstance(field.type, StringType):
        reason = f"its type is {field.type}, and kinds are text"
    elif field.id in schema.identifier_field_ids:
        reason = "it is in the key, and a delete has the key of the row that it deletes"
    elif field.name.lower() == ROW_KIND.name:
        reason = "the name is that of the column of a changelog, which is not stored"
    else:
        return field.name
    raise AnalysisError("INVALID_ROWKIND_FIELD", name=table, column=name, reason=reason)


def sequence_columns(schema: Schema, names: Sequence[str], table: str) -> tuple[str, ...]:
    """`names` as the schema spells them. Raises AnalysisError INVALID_SEQUENCE_FIELD for an unknown or unordered
    column."""
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
