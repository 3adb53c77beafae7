"""Changing a table's partition spec; existing files keep theirs (spec: Partition Evolution)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.errors import AlreadyExistsError, AnalysisError
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.metadata_update import AddSpec, MetadataUpdate, SetDefaultSpec
from sqlext.spec.metadata.requirement import (
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertLastAssignedPartitionId,
    AssertTableUUID,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec, overlapped_field
from sqlext.spec.transform import (
    BucketTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    other_transforms,
)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """A transform of a column, which is given as a path."""

    column: tuple[str, ...]
    transform: Transform

    def __str__(self) -> str:
        column = path_text(self.column)
        return column if isinstance(self.transform, IdentityTransform) else f"{self.transform} of {column}"


@dataclass(frozen=True, slots=True)
class AddField:
    """`name` None: Iceberg's default, such as `ts_day` or `id_bucket_16`."""

    term: FieldTerm
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DropField:
    """`term` may also be a partition field's name, in place of a column."""

    term: FieldTerm


SpecChange: TypeAlias = AddField | DropField


@dataclass(frozen=True, slots=True)
class ChangeSpec:
    """Applies changes of the partition spec in order; on retry they are applied to the newer spec."""

    changes: tuple[SpecChange, ...]

    def begin(self, context: CommitContext) -> ChangeSpec:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a change of partitioning needs a table")
        spec = changed_spec(base, self.changes)
        updates: list[MetadataUpdate] = []
        if spec not in base.partition_specs:
            updates.append(AddSpec(spec))
        if spec.spec_id != base.default_spec_id:
            updates.append(SetDefaultSpec(spec.spec_id))
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertCurrentSchemaId(base.current_schema_id),
            AssertDefaultSpecId(base.default_spec_id),
            AssertLastAssignedPartitionId(base.last_partition_id),
        )
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


def changed_spec(base: TableMetadata, changes: Sequence[SpecChange]) -> PartitionSpec:
    """The table's spec after the changes, with the id of an equal spec, else the next id.

    Raises AnalysisError for an unknown or unusable column or field, AlreadyExistsError FIELD_ALREADY_EXISTS.
    """
    edit = _Edit(base)
    for change in changes:
        if isinstance(change, AddField):
            edit.add(change)
        else:
            edit.drop(change)
    for known in base.partition_specs:
        if known.fields == tuple(edit.fields):
            return known
    return PartitionSpec(max(known.spec_id for known in base.partition_specs) + 1, tuple(edit.fields))


class _Edit:
    """A spec during a list of changes."""

    def __init__(self, base: TableMetadata) -> None:
        self._base = base
        self._last_id = base.last_partition_id
        self.fields = list(base.spec().fields)

    def add(self, change: AddField) -> None:
        source_id = self._source_id(change.term)
        transform = change.term.transform
        name = change.name or _derived_name(self._base.schema().column_name(source_id), transform)
        overlapped = overlapped_field(self.fields, source_id, transform)
        if overlapped is not None and overlapped.transform == transform:
            raise AlreadyExistsError("FIELD_ALREADY_EXISTS", name=f"{overlapped.name} (a partition field)")
        if overlapped is not None:
            reason = f"the partition field {overlapped.name} divides by the same column's time. Replace that one"
            raise self._refused(change.term, reason)
        self._make_room_for(name)
        self._require_free_of_columns(change.term, name, source_id)
        self.fields.append(self._recycled(source_id, transform, change.name) or self._new(source_id, name, transform))

    def drop(self, change: DropField) -> None:
        index = self._located(change.term)
        field = self.fields[index]
        if self._base.format_version > 1:
            del self.fields[index]
        else:
            # Version 1 has partition values by ordinal (spec: Partition Evolution).
            self.fields[index] = replace(field, transform=VoidTransform())

    def _source_id(self, term: FieldTerm) -> int:
        schema = self._base.schema()
        source = schema.field_at(term.column, case_sensitive=False)
        if source is None:
            names = ", ".join(f"`{field.name}`" for field in schema.fields)
            raise AnalysisError(
                "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                name=path_text(term.column),
                where="the partitioning",
                suggestions=names,
            )
        if not term.transform.can_transform(source.type):
            reason = f"{term.transform} is not defined for type {source.type}. {other_transforms(source.type)}"
            raise self._refused(term, reason)
        if not schema.is_reachable(source.id):
            raise self._refused(term, "the column lies inside a list or map. Name another")
        return source.id

    def _located(self, term: FieldTerm) -> int:
        """The index of the field with the term's column and transform, else of the field with the term's name."""
        name = ".".join(term.column)
        source = self._base.schema().field_at(term.column, case_sensitive=False)
        for index, field in enumerate(self.fields):
            if isinstance(field.transform, VoidTransform):
                continue
            if source is not None and field.source_id == source.id and field.transform == term.transform:
                return index
        for index, field in enumerate(self.fields):
            named = isinstance(term.transform, IdentityTransform) and field.name.lower() == name.lower()
            if named and not isinstance(field.transform, VoidTransform):
                return index
        names = ", ".join(f"`{field.name}`" for field in self.fields) or "none, the table is not partitioned"
        raise AnalysisError(
            "UNRESOLVED_COLUMN.WITH_SUGGESTION", name=str(term), where="the partition fields", suggestions=names
        )

    def _make_room_for(self, name: str) -> None:
        """Renames a void field of format version 1 that has the name."""
        for index, field in enumerate(self.fields):
            if field.name.lower() != name.lower():
                continue
            if not isinstance(field.transform, VoidTransform):
                raise AlreadyExistsError("FIELD_ALREADY_EXISTS", name=f"{name} (a partition field)")
            self.fields[index] = replace(field, name=f"{field.name}_{field.field_id}")

    def _require_free_of_columns(self, term: FieldTerm, name: str, source_id: int) -> None:
        column = self._base.schema().column(name, case_sensitive=False)
        if column is None or (isinstance(term.transform, IdentityTransform) and column.id == source_id):
            return
        raise self._refused(term, f"a column is called {name} already. Give the field a name with AS")

    def _recycled(self, source_id: int, transform: Transform, name: str | None) -> PartitionField | None:
        """An equal field of an earlier spec, to reuse its id (spec: Partition Evolution); none in format version 1."""
        if self._base.format_version < 2:
            return None
        for spec in reversed(self._base.partition_specs):
            for field in spec.fields:
                same = field.source_id == source_id and field.transform == transform
                if same and (name is None or field.name == name) and field.name not in self._names():
                    return field
        return None

    def _names(self) -> list[str]:
        return [field.name for field in self.fields]

    def _new(self, source_id: int, name: str, transform: Transform) -> PartitionField:
        self._last_id += 1
        return PartitionField(source_id, self._last_id, name, transform)

    def _refused(self, term: FieldTerm, reason: str) -> AnalysisError:
        return AnalysisError("INVALID_PARTITION_TRANSFORM", transform=str(term), reason=reason)


def _derived_name(column: str, transform: Transform) -> str:
    """Iceberg's default name of a partition field."""
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform(n=n):
            return f"{column}_bucket_{n}"
        case TruncateTransform(width=width):
            return f"{column}_trunc_{width}"
    return f"{column}_{transform}"
