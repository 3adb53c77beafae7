"""Fields that a data file stores in their type before a promotion (spec: Schema Evolution, type promotion).

Spark's Parquet reader promotes values of most encodings one by one, so it is faster to read these fields as stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlext.scan.files.file_columns import PARQUET
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType, IntegerType, LongType, NestedField, Type

_BEFORE: Mapping[type[Type], type[Type]] = {LongType: IntegerType, DoubleType: FloatType}
_BEFORE_BYTES = 4


def promoted_fields(metadata: TableMetadata, columns: Iterable[NestedField]) -> frozenset[int]:
    """Ids of fields in `columns`, at any depth, that have their type before a promotion in any schema of the table."""
    shown = Schema(tuple(columns))
    return frozenset(
        id
        for id in shown.field_ids
        if (before := _BEFORE.get(type(shown.field(id).type)))
        and any(isinstance(_type_of(id, schema), before) for schema in metadata.schemas)
    )


def unpromoted_columns(promoted: frozenset[int], files: Sequence[ContentFile]) -> list[list[int] | None]:
    """Ids of the `promoted` fields that each file has in their old type, None for none; empty if no file has any.

    The stored type is known by the width of the field's lower bound; without a bound the field is left out.
    """
    found = [sorted(id for id in promoted if _is_unpromoted(file, id)) or None for file in files] if promoted else []
    return found if any(found) else []


def _is_unpromoted(file: ContentFile, field_id: int) -> bool:
    bound = (file.lower_bounds or {}).get(field_id)
    return file.file_format == PARQUET and bound is not None and len(bound) == _BEFORE_BYTES


def _type_of(field_id: int, schema: Schema) -> Type | None:
    field = schema.field_or_none(field_id)
    return None if field is None else field.type
