"""Partition specs and partition tuples (spec: Partitioning)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    VoidTransform,
    YearTransform,
    parse_transform,
)
from sqlext.spec.types import FixedType, NestedField, StructType, Type, UnknownType

FIRST_PARTITION_FIELD_ID = 1000
# File systems allow 255 bytes in a name, S3 1,024 in a key.
_LONGEST_NAME, _LONGEST_PATH = 200, 600
_HASH = 33


@dataclass(frozen=True, slots=True)
class PartitionField:
    source_id: int
    field_id: int
    name: str
    transform: Transform

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "transform": str(self.transform),
            "source-id": self.source_id,
            "field-id": self.field_id,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], default_field_id: int) -> PartitionField:
        """The field in `obj`; `default_field_id` is its id if `obj`, of format version 1, has none.

        Raises UnsupportedError for a transform of several columns, ValueError or KeyError for an invalid field.
        """
        sources = obj.get("source-ids")
        if sources is not None and len(sources) > 1:
            raise UnsupportedError(
                "UNSUPPORTED_TABLE_FEATURE",
                feature=f"transform {obj['transform']} of {len(sources)} columns in partition field {obj['name']}",
            )
        return cls(
            source_id=sources[0] if sources else obj["source-id"],
            field_id=obj.get("field-id", default_field_id),
            name=obj["name"],
            transform=parse_transform(obj["transform"]),
        )


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """A partition spec; partition tuples have the order of `fields`."""

    spec_id: int
    fields: tuple[PartitionField, ...]

    @property
    def is_unpartitioned(self) -> bool:
        """Whether all rows share one partition: there is no field but those of transform void."""
        return all(str(field.transform) == "void" for field in self.fields)

    @property
    def last_assigned_field_id(self) -> int:
        """The highest partition field id; 999 for none."""
        return max((field.field_id for field in self.fields), default=FIRST_PARTITION_FIELD_ID - 1)

    def partition_type(self, schema: Schema, others: Sequence[Schema] = ()) -> StructType:
        """The type of the spec's partition tuples.

        A source column that `schema` lacks is looked up in `others`; if all lack it, its type counts as `unknown`.
        """
        schemas = (schema, *others)
        return StructType(
            tuple(
                NestedField(field.field_id, field.name, field.transform.result_type(_source_type(schemas, field)))
                for field in self.fields
            )
        )

    def fixed_type_field(self, schema: Schema) -> PartitionField | None:
        """The first partition field with values of type `fixed`, or None.

        Iceberg's Java library encodes these in manifests in a form that is not Avro's, and reads no other.
        """
        typed = zip(self.fields, self.partition_type(schema).fields, strict=True)
        fixed = (one for one, field in typed if isinstance(field.type, FixedType) and str(one.transform) != "void")
        return next(fixed, None)

    def partition_path(self, schema: Schema, values: Sequence[Any]) -> str:
        """The folder of a partition, such as `a=1/b_bucket=3`, URL-encoded. Readers never parse it.

        A hash replaces the end of a name that is too long for a file system, or of a path too long for an object store.
        """
        names = [
            _shortened(f"{_escape(field.name)}={_escape(field.transform.human(_source_type([schema], field), value))}")
            for field, value in zip(self.fields, values, strict=True)
        ]
        path = "/".join(names)
        if len(path) <= _LONGEST_PATH:
            return path
        kept = path[: _LONGEST_PATH - _HASH].rpartition("/")[0]
        return f"{kept}/{_hashed(path)}"

    def told_values(self, schemas: Sequence[Schema], values: Sequence[Any]) -> dict[str, str | None]:
        """The texts of a partition's values, as in its path, by the names of its fields; buckets, which tell nothing,
        are left out. `schemas` have the source columns, the first one that has a column counting."""
        return {
            field.name: None if value is None else field.transform.human(_source_type(schemas, field), value)
            for field, value in zip(self.fields, values, strict=True)
            if not isinstance(field.transform, BucketTransform | VoidTransform)
        }

    def same_fields(self, other: PartitionSpec) -> bool:
        """Whether both have equal source columns, transforms and names; spec ids and field ids may differ."""

        def essence(spec: PartitionSpec) -> list[tuple[int, str, str]]:
            return [(field.source_id, field.name, str(field.transform)) for field in spec.fields]

        return essence(self) == essence(other)

    def to_json(self) -> dict[str, Any]:
        return {"spec-id": self.spec_id, "fields": [field.to_json() for field in self.fields]}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> PartitionSpec:
        """Raises ValueError or KeyError."""
        return cls(obj["spec-id"], partition_fields_from_json(obj["fields"]))


UNPARTITIONED = PartitionSpec(0, ())
_CALENDAR = (YearTransform, MonthTransform, DayTransform, HourTransform)


def overlapped_field(fields: Iterable[PartitionField], source_id: int, transform: Transform) -> PartitionField | None:
    """The first of `fields` that makes `transform` of the column redundant, or None.

    A field does if it has this transform, or if both are of year, month, day and hour (Java: `PartitionSpec.Builder`).
    """
    calendar = isinstance(transform, _CALENDAR)
    for field in fields:
        same = field.transform == transform or (calendar and isinstance(field.transform, _CALENDAR))
        if field.source_id == source_id and same:
            return field
    return None


def partition_fields_from_json(fields: Sequence[Mapping[str, Any]]) -> tuple[PartitionField, ...]:
    """The fields of a spec; without ids, as in version 1, they count from 1000. Raises ValueError or KeyError."""
    return tuple(
        PartitionField.from_json(field, FIRST_PARTITION_FIELD_ID + position) for position, field in enumerate(fields)
    )


def _source_type(schemas: Iterable[Schema], field: PartitionField) -> Type:
    sources = (schema.field_or_none(field.source_id) for schema in schemas)
    return next((source.type for source in sources if source is not None), UnknownType())


def _shortened(name: str) -> str:
    """A URL-encoded folder name, with a hash for its end if it is too long. No %-escape is cut in two."""
    if len(name) <= _LONGEST_NAME:
        return name
    kept = name[: _LONGEST_NAME - _HASH]
    cut = kept.rfind("%", len(kept) - 2)
    return f"{kept if cut < 0 else kept[:cut]}-{_hashed(name)}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[: _HASH - 1]


def _escape(text: str) -> str:
    # Encodes as java.net.URLEncoder, which Iceberg's Java library uses for partition folders.
    return quote_plus(text, safe="*").replace("~", "%7E")
