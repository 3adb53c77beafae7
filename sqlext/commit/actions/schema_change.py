"""Changing a table's columns, alone or in one commit with rows of the new columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlext.commit.action import Action, CommitContext, StagedChange
from sqlext.errors import AnalysisError, ValidationConflict
from sqlext.properties import COLUMN_PROPERTY_PREFIXES
from sqlext.spec.constraint import LENGTH_PREFIX, varchar_lengths
from sqlext.spec.metadata.metadata_update import (
    AddSchema,
    MetadataUpdate,
    RemoveProperties,
    SetCurrentSchema,
    SetProperties,
    apply_updates,
)
from sqlext.spec.metadata.requirement import (
    AssertCurrentSchemaId,
    AssertLastAssignedFieldId,
    AssertTableUUID,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NAME_MAPPING_PROPERTY, NameMapping
from sqlext.spec.nesting import require_levels
from sqlext.spec.partition_spec import PartitionField
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import ChangedColumns, SchemaChange, changed_columns
from sqlext.spec.stored_fields import require_storable
from sqlext.spec.transform import VoidTransform
from sqlext.spec.types import DateType
from sqlext.spec.version_feature import require_version

_CALENDAR = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class ChangeSchema:
    """Applies changes of columns in order; on retry they are applied to the newer schema.

    With `case_sensitive`, names that differ only in case are different.
    """

    changes: tuple[SchemaChange, ...]
    case_sensitive: bool = False

    def begin(self, context: CommitContext) -> ChangeSchema:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a change of columns needs a table")
        changed = changed_columns(
            base.schema(),
            self.changes,
            base.last_column_id,
            base.format_version,
            case_sensitive=self.case_sensitive,
        )
        require_version(changed.schema, base.format_version)
        require_storable(changed.schema)
        require_levels(changed.schema, base.schema())
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertCurrentSchemaId(base.current_schema_id),
            AssertLastAssignedFieldId(base.last_column_id),
        )
        rules = (SetProperties(_sorted(changed.rules)),) if changed.rules else ()
        updates = (*schema_updates(base, changed.schema), *_length_updates(base, changed), *rules)
        return StagedChange(base, updates, requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


@dataclass(frozen=True, slots=True)
class WriteWithSchema:
    """Writes rows in a changed schema, which becomes the table's in the same commit.

    `schema` derives from the table's schema `base_schema_id` with last column id `base_last_column_id`. Raises
    `ValidationConflict` if another commit changed either, since files hold the new ids.
    """

    write: Action
    schema: Schema
    base_schema_id: int
    base_last_column_id: int

    def begin(self, context: CommitContext) -> SchemaWrite:
        return SchemaWrite(self, context)


class SchemaWrite:
    def __init__(self, action: WriteWithSchema, context: CommitContext) -> None:
        self._action = action
        self._context = context
        self._write = action.write.begin(context)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a change of columns needs a table")
        action = self._action
        if (base.current_schema_id, base.last_column_id) != (action.base_schema_id, action.base_last_column_id):
            reason = "another statement changed the columns of the table"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        updates = schema_updates(base, action.schema)
        written = self._write.stage(apply_updates(base, updates, now_ms=self._context.clock()))
        requirements = (
            AssertCurrentSchemaId(action.base_schema_id),
            AssertLastAssignedFieldId(action.base_last_column_id),
            *written.requirements,
        )
        return StagedChange(base, (*updates, *written.updates), requirements, written.snapshot)

    def finish(self, landed: Snapshot | None) -> None:
        self._write.finish(landed)

    def abandon(self) -> None:
        self._write.abandon()


def schema_updates(base: TableMetadata, schema: Schema) -> tuple[MetadataUpdate, ...]:
    """Updates that make `schema` the current one; empty if it is.

    Raises AnalysisError COLUMN_IN_USE if the partition spec or sort order would lose a column, or a transform's values
    would change.
    """
    if base.schema().same_columns(schema):
        return ()
    _require_sources(base, schema)
    numbered = numbered_schema(schema, base)
    updates: list[MetadataUpdate] = []
    if numbered not in base.schemas:
        updates.append(AddSchema(numbered))
    updates.append(SetCurrentSchema(numbered.schema_id))
    return (*updates, *_column_properties(base, schema))


def numbered_schema(schema: Schema, base: TableMetadata) -> Schema:
    """`schema` with the id of an equal schema of the table, else the next id."""
    for known in base.schemas:
        if known.same_columns(schema):
            return known
    return replace(schema, schema_id=max(known.schema_id for known in base.schemas) + 1)


def _require_sources(base: TableMetadata, schema: Schema) -> None:
    before = base.schema()
    for field in base.spec().fields:
        if schema.field_or_none(field.source_id) is None and not isinstance(field.transform, VoidTransform):
            name = before.column_name(field.source_id)
            way_out = f"ALTER TABLE … DROP PARTITION FIELD {field.name} first"
            raise AnalysisError("COLUMN_IN_USE", name=name, use=f"the partition field {field.name}", way_out=way_out)
    for sort in base.sort_order().fields:
        if schema.field_or_none(sort.source_id) is None:
            name = before.column_name(sort.source_id)
            way_out = "ALTER TABLE … WRITE UNORDERED, or another order, first"
            raise AnalysisError("COLUMN_IN_USE", name=name, use="the table's sort order", way_out=way_out)
    for field in _fields_of_all_specs(base):
        if not _keeps_partitions(field, before, schema):
            raise AnalysisError(
                "COLUMN_IN_USE",
                name=before.column_name(field.source_id),
                use=f"the partition field {field.name}, whose values would be others for the wider type,",
                way_out="a new column of the wider type",
            )


def _fields_of_all_specs(base: TableMetadata) -> Iterator[PartitionField]:
    return (field for spec in base.partition_specs for field in spec.fields)


def _keeps_partitions(field: PartitionField, before: Schema, after: Schema) -> bool:
    """Whether a widened column keeps its files' partition values (spec: Schema Evolution)."""
    source, widened = before.field_or_none(field.source_id), after.field_or_none(field.source_id)
    if source is None or widened is None or source.type == widened.type or not isinstance(source.type, DateType):
        return True
    return str(field.transform) in _CALENDAR or isinstance(field.transform, VoidTransform)


def _column_properties(base: TableMetadata, schema: Schema) -> tuple[MetadataUpdate, ...]:
    """Renames or removes properties that name a column, and adds new names to a name mapping."""
    moved: dict[str, str] = {}
    removed: list[str] = []
    for key, value in base.properties.items():
        renamed = _renamed_properties(key, base.schema(), schema)
        if key not in renamed:
            removed.append(key)
        moved.update({name: value for name in renamed if name != key})
    moved.update(_name_mapping(base, schema))
    updates: list[MetadataUpdate] = []
    if removed:
        updates.append(RemoveProperties(tuple(sorted(removed))))
    if moved:
        updates.append(SetProperties(_sorted(moved)))
    return tuple(updates)


def _name_mapping(base: TableMetadata, schema: Schema) -> dict[str, str]:
    """The new name mapping as a property; empty without a change."""
    mapping = NameMapping.of_table(base.properties)
    changed = None if mapping is None else mapping.with_changes(base.schema(), schema)
    return {} if changed is None or changed == mapping else {NAME_MAPPING_PROPERTY: changed.to_text()}


def _renamed_properties(key: str, before: Schema, after: Schema) -> frozenset[str]:
    """The key with the names in `after` of the fields that it names in `before`; empty if they were dropped.

    Iceberg's property keys contain dotted field names, and apply to each field of that name.
    """
    for prefix in COLUMN_PROPERTY_PREFIXES:
        name = key.removeprefix(prefix)
        named = [id for id in before.field_ids if name in _dotted_names(before, id)] if key.startswith(prefix) else []
        if named:
            kept = (id for id in named if after.field_or_none(id) is not None)
            return frozenset(prefix + after.column_name(id) for id in kept)
    return frozenset({key})


def _dotted_names(schema: Schema, id: int) -> tuple[str, ...]:
    """A field's names in Iceberg: its dotted name, and that without `element` and `value`."""
    name = schema.column_name(id)
    return name, name.replace(".element.", ".").replace(".value.", ".")


def _length_updates(base: TableMetadata, changed: ChangedColumns) -> tuple[MetadataUpdate, ...]:
    """Updates of varchar lengths. Raises AnalysisError for a length that existing rows may exceed."""
    known, before = varchar_lengths(base.properties), base.schema()
    longer: dict[str, str] = {}
    lifted: list[str] = []
    for id, length in changed.lengths.items():
        old, was_there = known.get(id), before.field_or_none(id) is not None
        if length == old:
            continue
        if length is None:
            lifted.append(f"{LENGTH_PREFIX}{id}")
            continue
        if was_there and (old is None or length < old):
            raise AnalysisError(
                "NOT_SUPPORTED_CHANGE_COLUMN",
                name=before.column_name(id),
                before="string" if old is None else f"varchar({old})",
                after=f"varchar({length})",
                reason="rows that are there may hold longer values",
            )
        longer[f"{LENGTH_PREFIX}{id}"] = str(length)
    updates: list[MetadataUpdate] = []
    if lifted:
        updates.append(RemoveProperties(tuple(sorted(lifted))))
    if longer:
        updates.append(SetProperties(_sorted(longer)))
    return tuple(updates)


def _sorted(properties: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(properties.items()))
