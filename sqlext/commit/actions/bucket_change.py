"""Changing the number of buckets: new rows are bucketed anew, existing files keep their spec."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.actions.order_change import numbered_order
from sqlext.commit.actions.spec_change import AddField, DropField, FieldTerm, SpecChange, changed_spec
from sqlext.commit.rules.bucket_layout import DYNAMIC, bucket_field, key_order
from sqlext.errors import AnalysisError
from sqlext.properties import BUCKET, DISTRIBUTION_MODE
from sqlext.spec.field_path import FieldPath, listed_paths, path_text
from sqlext.spec.metadata.metadata_update import (
    AddSortOrder,
    AddSpec,
    MetadataUpdate,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetProperties,
)
from sqlext.spec.metadata.requirement import (
    AssertCurrentSchemaId,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedPartitionId,
    AssertTableUUID,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform


@dataclass(frozen=True, slots=True)
class ChangeBuckets:
    """Divides the key column `column` (default: the bucketed one, else the key's first) into `count` buckets.

    With `dynamic` the property `bucket` lets the number grow. A table without buckets becomes bucketed.
    """

    count: int
    column: str | None = None
    dynamic: bool = False

    def begin(self, context: CommitContext) -> _Staging:
        return _Staging(self, context.name)


@dataclass(frozen=True, slots=True)
class _Staging:
    change: ChangeBuckets
    name: str

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("buckets need a table")
        if base.format_version == 1:
            raise self._refused("format version 1 does not tell commits apart", "a later version")
        updates: list[MetadataUpdate] = []
        spec = changed_spec(base, self._changes(base))
        if spec not in base.partition_specs:
            updates.append(AddSpec(spec))
        if spec.spec_id != base.default_spec_id:
            updates.append(SetDefaultSpec(spec.spec_id))
        if base.sort_order().is_unsorted:
            order = numbered_order(key_order(base.schema()), base)
            if order not in base.sort_orders:
                updates.append(AddSortOrder(order))
            updates.append(SetDefaultSortOrder(order.order_id))
        told = {BUCKET.name: str(DYNAMIC if self.change.dynamic else self.change.count)}
        if DISTRIBUTION_MODE.name not in base.properties:
            told[DISTRIBUTION_MODE.name] = "hash"
        changed = {name: text for name, text in told.items() if base.properties.get(name) != text}
        if changed:
            updates.append(SetProperties(changed))
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertCurrentSchemaId(base.current_schema_id),
            AssertDefaultSpecId(base.default_spec_id),
            AssertLastAssignedPartitionId(base.last_partition_id),
            AssertDefaultSortOrderId(base.default_sort_order_id),
        )
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""

    def _changes(self, base: TableMetadata) -> tuple[SpecChange, ...]:
        schema = base.schema()
        there = bucket_field(schema, base.spec())
        column = self._column(schema, None if there is None else schema.column_path(there.source_id))
        wanted = FieldTerm(column, BucketTransform(self.change.count))
        if there is None:
            return (AddField(wanted),)
        old = FieldTerm(schema.column_path(there.source_id), there.transform)
        return () if old == wanted else (DropField(old), AddField(wanted))

    def _column(self, schema: Schema, divided: FieldPath | None) -> FieldPath:
        key = [schema.column_path(id) for id in schema.identifier_field_ids]
        if not key:
            raise self._refused("the table has no primary key", "ALTER TABLE … ADD PRIMARY KEY first")
        if self.change.column is None:
            return divided or key[0]
        wanted = listed_paths(self.change.column) or ()
        named = schema.field_at(wanted[0], case_sensitive=False) if len(wanted) == 1 else None
        if named is not None and named.id in schema.identifier_field_ids:
            return schema.column_path(named.id)
        names = ", ".join(map(path_text, key))
        raise self._refused(f"{self.change.column} is no column of the primary key", f"one of {names}")

    def _refused(self, reason: str, way_out: str) -> AnalysisError:
        return AnalysisError("INVALID_BUCKETS", name=self.name, reason=reason, way_out=way_out)
