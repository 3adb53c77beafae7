"""constraints: the key of a table and the rules of its rows, as information_schema tells those of other databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sqlext.properties import KEY_ENFORCED
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState, fixed
from sqlext.spec.constraint import check_constraints, generated_columns, varchar_lengths
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, StructType

_CONSTRAINTS = pa.schema(
    [
        pa.field("constraint_type", pa.string(), nullable=False),
        pa.field("constraint_name", pa.string()),
        pa.field("columns", pa.list_(pa.field("element", pa.string(), nullable=False))),
        pa.field("expression", pa.string()),
        pa.field("enforced", pa.bool_(), nullable=False),
    ]
)
_Row = tuple[str, str | None, Sequence[str] | None, str | None, bool]


def required_paths(fields: Sequence[NestedField], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The required columns, and those in structs."""
    for field in fields:
        path = (*above, field.name)
        if field.required:
            yield path
        if isinstance(field.type, StructType):
            yield from required_paths(field.type.fields, path)


def _rows(metadata: TableMetadata, schema: Schema) -> Iterator[_Row]:
    """`columns` are None where they are not told apart from the expression; those in structs have dots."""
    properties = metadata.properties
    if schema.identifier_field_ids:
        key = [schema.column_name(id) for id in schema.identifier_field_ids]
        yield "PRIMARY KEY", None, key, None, KEY_ENFORCED.of(properties)
    for path in required_paths(schema.fields):
        yield "NOT NULL", None, [".".join(path)], None, True
    for check in check_constraints(properties):
        yield "CHECK", check.name, None, check.expression, True
    lengths = varchar_lengths(properties)
    for id in sorted(lengths):
        if schema.field_or_none(id) is not None:
            yield "LENGTH", None, [schema.column_name(id)], str(lengths[id]), True
    generated, identities = generated_columns(properties), identity_columns(properties)
    for field in schema.fields:
        if field.id in generated:
            yield "GENERATED", None, [field.name], generated[field.id], True
        if field.id in identities:
            yield "IDENTITY", None, [field.name], identities[field.id].clause(), True


def _table(state: TableState) -> pa.Table:
    rows = _rows(state.metadata, state.metadata.schema())
    return pa.Table.from_pylist([dict(zip(_CONSTRAINTS.names, row, strict=True)) for row in rows], _CONSTRAINTS)


CONSTRAINTS = MetadataTable(fixed(_CONSTRAINTS), _table)
