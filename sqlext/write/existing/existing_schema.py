"""The columns of a file that another program has written, matched to a table's fields.

They are matched by field ids if the file has any, else by the table's name mapping (spec: Column Projection). What a
reader would misread is refused: a type that does not fit, ids of another table, a name that means another field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sqlext.spec.arrow_children import arrow_children
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.name_mapping import MappedField
from sqlext.spec.schema import Schema, nested_fields
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
    is_primitive,
)

_INSTANT = pa.timestamp("us", "UTC")
_ID_KEYS = (FIELD_ID_KEY, b"iceberg.id", b"field-id")


class SchemaMismatch(ValueError):
    """Why a file does not fit the table."""


@dataclass(frozen=True, slots=True)
class MatchedLeaf:
    """A leaf column of the file, by its position among all leaves, and the table's field that it holds.

    A leaf inside a list or a map is `repeated`. `required`: the table admits no null there; `nullable`: the file's
    schema does.
    """

    position: int
    field_id: int
    type: Type
    repeated: bool
    required: bool
    nullable: bool


def has_field_ids(file: pa.Schema) -> bool:
    """Whether a column or nested field of the file has a field id."""
    return any(stored_field_id(field) is not None for field in _all_fields(file))


def match(
    file: pa.Schema,
    schema: Schema,
    mapping: Sequence[MappedField],
    told: frozenset[int] = frozenset(),
    instants: frozenset[int] = frozenset(),
    *,
    is_own: bool = False,
) -> tuple[MatchedLeaf, ...]:
    """The file's leaves that are columns of the table. Raises Misfit.

    With `is_own` the file is one of the table's, whose ids mean the same under any name.

    `told` are the ids of columns whose values the file's path has, `instants` the positions of leaves of Parquet's
    type INT96, which Arrow shows as timestamps without zone.
    """
    matching = _Matching(schema, has_field_ids(file), instants, is_own)
    matching.struct(list(file), schema.fields, mapping, repeated=False, inside_null=False, told=told)
    if not matching.leaves and not told:
        raise SchemaMismatch("it has none of the table's columns")
    return tuple(matching.leaves)


class _Matching:
    """One depth-first walk over a file's columns, the order in which Parquet counts leaves."""

    def __init__(self, schema: Schema, by_id: bool, instants: frozenset[int], is_own: bool) -> None:
        self._schema = schema
        self._by_id = by_id
        self._instants = instants
        self._is_own = is_own
        self._position = 0
        self.leaves: list[MatchedLeaf] = []

    def struct(
        self,
        columns: Sequence[pa.Field],
        fields: Sequence[NestedField],
        mapping: Sequence[MappedField],
        *,
        repeated: bool,
        inside_null: bool,
        told: frozenset[int] = frozenset(),
    ) -> None:
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            raise SchemaMismatch(f"it has two columns named {next(name for name in names if names.count(name) > 1)}")
        matched = self._ids(columns, fields, mapping) if self._by_id else _mapped(names, fields, mapping)
        by_id = {field.id: field for field in fields}
        for column in columns:
            field = by_id.get(matched.get(column.name, -1))
            if field is None:
                self._skip(column)
            else:
                self._column(column, field, mapping, repeated, inside_null)
        for field in fields:
            absent = field.id not in matched.values() and field.id not in told
            if absent and field.required and field.initial_default is None:
                raise SchemaMismatch(f"it lacks the column {self._name(field)}, which is NOT NULL")

    def _column(
        self, column: pa.Field, field: NestedField, mapping: Sequence[MappedField], repeated: bool, inside_null: bool
    ) -> None:
        stored = column.type if arrow_children(column.type) or self._position not in self._instants else _INSTANT
        if not _fits(stored, field.type):
            raise SchemaMismatch(
                f"its column {self._name(field)} is of type {stored}, which is not read as {field.type}"
            )
        if is_primitive(field.type):
            required = field.required and not repeated and not inside_null
            leaf = MatchedLeaf(self._position, field.id, field.type, repeated, required, column.nullable)
            self.leaves.append(leaf)
            self._position += 1
            return
        inner = next((one.fields for one in mapping if one.field_id == field.id), ())
        self.struct(
            [child.with_name(name) for name, child in arrow_children(column.type).items()],
            nested_fields(field.type),
            inner,
            repeated=repeated or not isinstance(field.type, StructType),
            inside_null=inside_null or not field.required,
        )

    def _ids(
        self, columns: Sequence[pa.Field], fields: Sequence[NestedField], mapping: Sequence[MappedField]
    ) -> Mapping[str, int]:
        """Field ids by column name. Raises Misfit for ids of another table, which may equal ids of this one."""
        if self._is_own:
            ids = {field.id for field in fields}
            return {column.name: id for column in columns if (id := stored_field_id(column)) in ids and id is not None}
        known = {one.field_id: one.names for one in mapping}
        found = {}
        for column in columns:
            field_id = stored_field_id(column)
            named = next((field for field in fields if field.name == column.name), None)
            meant = next((field for field in fields if field.id == field_id), None)
            if meant is not None and column.name != meant.name and column.name not in known.get(meant.id, ()):
                raise SchemaMismatch(
                    f"its field ids are of another table: {field_id} is its {column.name}, not {meant.name}"
                )
            if named is not None and meant is None:
                raise SchemaMismatch(
                    f"its field ids are of another table: its {column.name} is {field_id}, not {named.id}"
                )
            if meant is not None:
                found[column.name] = meant.id
        return found

    def _skip(self, column: pa.Field) -> None:
        children = arrow_children(column.type)
        for child in children.values():
            self._skip(child)
        if not children:
            self._position += 1

    def _name(self, field: NestedField) -> str:
        return self._schema.column_name(field.id)


def _mapped(names: Sequence[str], fields: Sequence[NestedField], mapping: Sequence[MappedField]) -> Mapping[str, int]:
    """Field ids by column name, as readers map them: by the first name of each mapped field that the file has."""
    found: dict[str, int] = {}
    for one in mapping:
        name = next((name for name in one.names if name in names), None)
        if name is not None and one.field_id is not None:
            found[name] = one.field_id
    by_name = {field.name: field for field in fields}
    lower = {field.name.lower(): field for field in fields if field.id not in found.values()}
    for name in names:
        named = by_name.get(name)
        if named is not None and found.get(name) != named.id:
            raise SchemaMismatch(f"the table's name mapping no longer maps its column {name} to {name}")
        near = lower.get(name.lower())
        if name not in found and near is not None:
            raise SchemaMismatch(f"its column {name} is not read as {near.name}: names in files are case-sensitive")
    return found


def _all_fields(fields: pa.Schema | Sequence[pa.Field]) -> Iterator[pa.Field]:
    for field in fields:
        yield field
        yield from _all_fields(list(arrow_children(field.type).values()))


def stored_field_id(field: pa.Field) -> int | None:
    """The field id of a file's column or nested field."""
    metadata = field.metadata or {}
    return next((int(metadata[key]) for key in _ID_KEYS if key in metadata), None)


def _fits(stored: pa.DataType, type_: Type) -> bool:
    """Whether readers read a column of type `stored` as `type_`: it is of that type, or is promoted to it."""
    if isinstance(stored, pa.DictionaryType):
        stored = stored.value_type
    if isinstance(stored, pa.BaseExtensionType):
        stored = stored.storage_type
    match type_:
        case DecimalType(precision=precision, scale=scale):
            fits = pa.types.is_decimal(stored) and stored.scale == scale and stored.precision <= precision
        case FixedType(length=length):
            fits = pa.types.is_fixed_size_binary(stored) and stored.byte_width == length
        case UuidType():
            fits = pa.types.is_fixed_size_binary(stored) and stored.byte_width == 16
        case _:
            check = _FITTING.get(type(type_))
            fits = check is not None and check(stored)
    return bool(fits)


def _integer(stored: pa.DataType) -> bool:
    small = pa.types.is_int8(stored) or pa.types.is_int16(stored) or pa.types.is_int32(stored)
    return bool(small or pa.types.is_uint8(stored) or pa.types.is_uint16(stored))


def _timestamp(unit: str, zoned: bool) -> Callable[[pa.DataType], bool]:
    """A test of `unit` and zone. Milliseconds never fit: Iceberg's Spark reader takes them for microseconds."""
    return lambda stored: pa.types.is_timestamp(stored) and stored.unit == unit and (stored.tz is not None) == zoned


_FITTING: Mapping[type[Type], Callable[[pa.DataType], bool]] = {
    StructType: pa.types.is_struct,
    MapType: pa.types.is_map,
    ListType: lambda stored: pa.types.is_list(stored) or pa.types.is_large_list(stored),
    BooleanType: pa.types.is_boolean,
    IntegerType: _integer,
    LongType: lambda stored: _integer(stored) or pa.types.is_int64(stored),
    FloatType: pa.types.is_float32,
    DoubleType: lambda stored: pa.types.is_float32(stored) or pa.types.is_float64(stored),
    DateType: pa.types.is_date32,
    TimeType: lambda stored: pa.types.is_time64(stored) and stored.unit == "us",
    TimestampType: _timestamp("us", False),
    TimestamptzType: _timestamp("us", True),
    TimestampNanoType: _timestamp("ns", False),
    TimestamptzNanoType: _timestamp("ns", True),
    StringType: lambda stored: pa.types.is_string(stored) or pa.types.is_large_string(stored),
    BinaryType: lambda stored: pa.types.is_binary(stored) or pa.types.is_large_binary(stored),
}
