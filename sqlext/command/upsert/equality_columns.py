"""Upserts by other columns than a key of the table: those of the option `equality-field-columns`, as in Flink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlext.command.change.row_level import Target, with_key
from sqlext.errors import AnalysisError
from sqlext.spec.constraint import generated_columns
from sqlext.spec.field_path import FieldPath, path_text
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.types import DoubleType, FloatType, ListType, MapType, StructType, UnknownType, VariantType

_NOT_COMPARED = (FloatType, DoubleType, StructType, ListType, MapType, UnknownType, VariantType)


def told_apart_by(target: Target, columns: Sequence[FieldPath]) -> Target:
    """The target of an upsert whose rows replace those with equal values in the columns; the table's own key without
    columns, or if they are its columns.

    The table itself gets no key. Raises AnalysisError INVALID_EQUALITY_COLUMNS.
    """
    metadata = target.table.metadata
    schema = metadata.schema()
    if not columns:
        return target

    def refused(reason: str, way_out: str) -> AnalysisError:
        named = ", ".join(map(path_text, columns))
        return AnalysisError(
            "INVALID_EQUALITY_COLUMNS", columns=named, name=target.name, reason=reason, way_out=way_out
        )

    ids: list[int] = []
    for path in columns:
        field = schema.field_at(path) or schema.field_at(path, case_sensitive=False)
        if field is None:
            raise refused(f"there is no column {path_text(path)}", "Name columns of the table")
        ids.append(field.id)
    if set(ids) == set(schema.identifier_field_ids):
        return target
    if schema.identifier_field_ids:
        key = ", ".join(path_text(schema.column_path(id)) for id in schema.identifier_field_ids)
        raise refused(
            f"the key of the table is {key}, and rows that replace others by other columns could leave one key twice",
            "Leave the option out, or use MERGE",
        )
    for id, path in zip(ids, columns, strict=True):
        field = schema.field(id)
        if len(path) > 1 or isinstance(field.type, _NOT_COMPARED):
            reason = "is inside a struct" if len(path) > 1 else f"has type {field.type}"
            raise refused(f"{path_text(path)} {reason}", "Use MERGE, or other columns")
        if id in generated_columns(metadata.properties) or id in identity_columns(metadata.properties):
            raise refused(f"{path_text(path)} gets its value when a row is written", "Use MERGE, or plain columns")
    metadata = with_key(metadata, tuple(dict.fromkeys(ids)))
    return replace(
        target,
        table=replace(target.table, metadata=metadata),
        version=replace(target.version, metadata=metadata),
        as_stored=target.table,
    )


def require_upsert(target: Target) -> None:
    """Raises AnalysisError INVALID_EQUALITY_COLUMNS for a target of `told_apart_by` that is written by no upsert."""
    if target.as_stored is not None:
        schema = target.table.metadata.schema()
        raise AnalysisError(
            "INVALID_EQUALITY_COLUMNS",
            columns=", ".join(field.name for field in schema.identifier_fields),
            name=target.name,
            reason="the write is no upsert",
            way_out="Set 'upsert-enabled'='true', or leave the option out",
        )
