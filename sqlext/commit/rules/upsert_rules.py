"""Rules for tables whose properties ask for writes by key, or for a retention.

The rules are checked when a table is created and when its schema, partitioning or properties change. Flink's sink
checks at its first write only, when another engine may already have written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from sqlext.commit.rules.identity_rules import OF_ROWS, misused_identity_columns
from sqlext.commit.rules.merge_rules import has_merge_engine, merge_engine
from sqlext.commit.rules.retention_rules import broken_retention_rules
from sqlext.commit.rules.sequence_field import kind_column, row_order
from sqlext.errors import AnalysisError
from sqlext.properties import (
    BUCKET,
    CHANGELOG_PRODUCER,
    FULL_COMPACTION_COMMITS,
    FULL_COMPACTION_INTERVAL,
    ROWKIND_FIELD,
    UPSERT_ENABLED,
    UPSERT_MODE,
    TableProperty,
)
from sqlext.spec.constraint import generated_columns
from sqlext.spec.metadata.stored_changelog import FULL_COMPACTION
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import VoidTransform

_T = TypeVar("_T")


def require_upserts_kept(before: TableMetadata, after: TableMetadata, name: str) -> None:
    """Raises AnalysisError for the first rule that `after` breaks and `before` did not; another engine's table may
    break some."""
    unchanged = before.current_schema_id == after.current_schema_id and before.default_spec_id == after.default_spec_id
    if unchanged and before.properties == after.properties:
        return
    known = [error.parameters for error in _broken_rules(before.schema(), before.spec(), before.properties, name)]
    for error in _broken_rules(after.schema(), after.spec(), after.properties, name):
        if error.parameters not in known:
            raise error


def require_upsert_rules(schema: Schema, spec: PartitionSpec, properties: Mapping[str, str], name: str) -> None:
    """Raises AnalysisError UPSERT_WITHOUT_KEY, UPSERT_PARTITION_NOT_IN_KEY, INVALID_SEQUENCE_FIELD,
    INVALID_ROWKIND_FIELD, INVALID_MERGE_ENGINE, INVALID_CHANGELOG_PRODUCER, INVALID_GENERATED_COLUMN,
    INVALID_IDENTITY_COLUMN or INVALID_RETENTION."""
    for error in _broken_rules(schema, spec, properties, name):
        raise error


def partition_not_in_key(schema: Schema, spec: PartitionSpec, name: str) -> AnalysisError | None:
    """The error if a partition source column is not part of the key, else None: an equality delete applies to its own
    partition only (spec: Scan Planning)."""
    for field in spec.fields:
        if not isinstance(field.transform, VoidTransform) and field.source_id not in schema.identifier_field_ids:
            column = schema.column_name(field.source_id)
            return AnalysisError("UPSERT_PARTITION_NOT_IN_KEY", name=name, column=column, field=field.name)
    return None


def _unproducible_changelog(schema: Schema, properties: Mapping[str, str]) -> str | None:
    """Why the table cannot have its `changelog-producer`; None if it can."""
    producer = _value(CHANGELOG_PRODUCER, properties)
    if producer in (None, "none"):
        return None
    if not schema.identifier_field_ids:
        return "the table has no primary key"
    if producer == FULL_COMPACTION and BUCKET.name not in properties:
        return "only tables in buckets are compacted: set the property bucket at CREATE TABLE, or call rescale"
    for known in (FULL_COMPACTION_COMMITS, FULL_COMPACTION_INTERVAL):
        if producer != FULL_COMPACTION and known.name in properties:
            return f"{known.name} goes with {CHANGELOG_PRODUCER.name} = {FULL_COMPACTION}"
    return None


def _broken_rules(
    schema: Schema, spec: PartitionSpec, properties: Mapping[str, str], name: str
) -> Iterator[AnalysisError]:
    if not schema.identifier_field_ids:
        if _value(UPSERT_ENABLED, properties):
            yield AnalysisError("UPSERT_WITHOUT_KEY", name=name, otherwise=f"set {UPSERT_ENABLED.name} to false")
        elif ROWKIND_FIELD.name in properties:
            yield AnalysisError("UPSERT_WITHOUT_KEY", name=name, otherwise=f"leave {ROWKIND_FIELD.name} out")
    # Without a key a write names the columns that tell rows apart, or a key with the partition columns follows.
    elif _value(UPSERT_MODE, properties) == "equality":
        error = partition_not_in_key(schema, spec, name)
        if error is not None:
            yield error
    unproducible = _unproducible_changelog(schema, properties)
    if unproducible is not None:
        producer = _value(CHANGELOG_PRODUCER, properties)
        yield AnalysisError("INVALID_CHANGELOG_PRODUCER", name=name, producer=producer, reason=unproducible)
    rules: list[Callable[[Schema, Mapping[str, str], str], object]] = [row_order, kind_column]
    if has_merge_engine(properties):
        rules.append(merge_engine)
    for rule in rules:
        try:
            rule(schema, properties, name)
        except AnalysisError as broken:
            yield broken
    yield from _misused_generated_columns(schema, properties)
    yield from misused_identity_columns(schema, spec, properties)
    yield from broken_retention_rules(schema, spec, properties, name)


def _misused_generated_columns(schema: Schema, properties: Mapping[str, str]) -> Iterator[AnalysisError]:
    """Rows are ordered, merged and found by their key before generated columns are computed."""
    generated = {field.id: field.name for field in schema.fields if field.id in generated_columns(properties)}
    of_order = {part.strip().lower() for known in OF_ROWS for part in properties.get(known, "").split(",")}
    for id, column in generated.items():
        reason, way_out = None, "Use a plain column, whose value the query computes"
        if id in schema.identifier_field_ids:
            reason = "it is part of the key"
        elif column.lower() in of_order:
            reason = "it orders rows of a key, or has their kinds"
        elif has_merge_engine(properties):
            reason, way_out = "the table has a merge engine", "Compute the column in a view"
        if reason is not None:
            yield AnalysisError("INVALID_GENERATED_COLUMN", column=column, reason=reason, way_out=way_out)


def _value(known: TableProperty[_T], properties: Mapping[str, str]) -> _T:
    """The property's value, or its default if another engine set one that does not parse; writes reject that one."""
    try:
        return known.of(properties)
    except AnalysisError:
        return known.default
