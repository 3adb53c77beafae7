"""Creating or replacing a table, with its first rows in the same commit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlext.catalog.clone_tag import is_clone
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.order_change import numbered_order
from sqlext.commit.actions.schema_change import numbered_schema
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import GC_ENABLED, kept_by_replace
from sqlext.spec.identity_column import turned_marks
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.metadata_update import (
    AddSchema,
    AddSortOrder,
    AddSpec,
    MetadataUpdate,
    RemoveProperties,
    RemoveSnapshotRef,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetProperties,
    UpgradeFormatVersion,
    apply_updates,
)
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.requirement import AssertCreate, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortOrder


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Creates a table, with field ids as given. Raises AlreadyExistsError if it exists.

    The files of `initial` have the spec id `spec.spec_id`.
    """

    schema: Schema
    spec: PartitionSpec
    sort_order: SortOrder
    properties: Mapping[str, str]
    format_version: int
    location: str
    initial: AppendFiles | None = None

    def begin(self, context: CommitContext) -> TableCreation:
        return TableCreation(self, context)


class TableCreation:
    """Staging of `CreateTable`; attempts share the table's uuid."""

    def __init__(self, action: CreateTable, context: CommitContext) -> None:
        self._action = action
        self._context = context
        self._uuid = str(uuid.UUID(int=context.rng.getrandbits(128), version=4))
        self._content = _content(action.initial, context, makes_table=True)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is not None:
            raise ValueError("a table is made where there is none")
        action = self._action
        start = new_table_metadata(
            action.schema,
            action.spec,
            action.sort_order,
            action.location,
            action.properties,
            action.format_version,
            self._uuid,
            self._context.clock(),
        )
        if self._content is None:
            return StagedChange(start, (), (AssertCreate(),))
        return replace(self._content.stage(start), requirements=(AssertCreate(),))

    def finish(self, landed: Snapshot | None) -> None:
        if self._content is not None:
            self._content.finish(landed)

    def abandon(self) -> None:
        if self._content is not None:
            self._content.abandon()


@dataclass(frozen=True, slots=True)
class MakeFoundTable:
    """Creates the table `start`, which has no snapshot but all partition specs of the files, with a snapshot of the
    data files without the rows deleted by `delete_files` or `deleted_rows`. Data files stay if it fails.

    Raises AlreadyExistsError if the table exists.
    """

    start: TableMetadata
    data_files: Sequence[ContentFile]
    delete_files: Sequence[ContentFile] = ()
    deleted_rows: Mapping[str, DeletedRows] = field(default_factory=dict)

    def begin(self, context: CommitContext) -> FoundTableCreation:
        return FoundTableCreation(self, context)


class FoundTableCreation:
    """Staging of `MakeFoundTable`."""

    def __init__(self, action: MakeFoundTable, context: CommitContext) -> None:
        self._action = action
        self._context = context
        self._content = SnapshotProduction(_FoundFiles(action), context, makes_table=True)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is not None:
            raise ValueError("a table is made where there is none")
        return replace(self._content.stage(self._action.start), requirements=(AssertCreate(),))

    def finish(self, landed: Snapshot | None) -> None:
        self._content.finish(landed)

    def abandon(self) -> None:
        self._content.abandon()
        for file in self._action.delete_files:
            self._context.io.delete(file.file_path)


@dataclass(frozen=True, slots=True)
class _FoundFiles:
    action: MakeFoundTable

    def change(self) -> FileChange:
        action = self.action
        return FileChange(
            "overwrite" if action.delete_files or action.deleted_rows else "append",
            (*action.data_files, *action.delete_files),
            deleted_rows=action.deleted_rows,
            owns_added=False,
        )

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        """Nothing to validate."""


@dataclass(frozen=True, slots=True)
class ReplaceTable:
    """Replaces a table's schema, spec, order, properties and content; old snapshots stay for time travel.

    Field ids are taken as given (see `sqlext.spec.replaced_schema.assign_kept_ids`). `properties` must include those
    that survive a replacement; such properties that another commit adds stay too. All other concurrent changes are
    replaced. Location and uuid stay. The files of `initial` have the spec id `spec.spec_id`.
    """

    schema: Schema
    spec: PartitionSpec
    sort_order: SortOrder
    properties: Mapping[str, str] = field(default_factory=dict)
    format_version: int = 2
    location: str = ""
    initial: AppendFiles | None = None

    def begin(self, context: CommitContext) -> TableReplacement:
        return TableReplacement(self, context)


class TableReplacement:
    def __init__(self, action: ReplaceTable, context: CommitContext) -> None:
        self._action = action
        self._context = context
        self._contents: dict[int, SnapshotProduction] = {}

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("there is no table to replace")
        if self._action.location and self._action.location.rstrip("/") != base.location.rstrip("/"):
            raise UnsupportedError("TABLE_LOCATION_FIXED", name=self._context.name, location=base.location)
        updates = self._definition(base)
        requirement = AssertTableUUID(base.table_uuid)
        replaced = apply_updates(base, updates, now_ms=self._context.clock())
        content = self._content_for(replaced.default_spec_id)
        if content is None:
            return StagedChange(base, updates, (requirement,))
        staged = content.stage_on(replaced)
        return StagedChange(base, (*updates, *staged.updates), (requirement,), staged.snapshot)

    def finish(self, landed: Snapshot | None) -> None:
        for content in self._contents.values():
            content.finish(landed)

    def abandon(self) -> None:
        if not self._contents and self._action.initial is not None:
            # Nothing was staged yet.
            SnapshotProduction(self._action.initial, self._context).abandon()
        for content in self._contents.values():
            content.abandon()

    def _definition(self, base: TableMetadata) -> tuple[MetadataUpdate, ...]:
        action = self._action
        updates: list[MetadataUpdate] = [RemoveSnapshotRef(MAIN_BRANCH)]
        if action.format_version > base.format_version:
            updates.append(UpgradeFormatVersion(action.format_version))
        schema = numbered_schema(action.schema, base)
        spec = _numbered_spec(action.spec, base)
        order = numbered_order(action.sort_order, base)
        updates += [
            AddSchema(schema),
            SetCurrentSchema(schema.schema_id),
            AddSpec(spec),
            SetDefaultSpec(spec.spec_id),
            AddSortOrder(order),
            SetDefaultSortOrder(order.order_id),
        ]
        if is_clone(base) and GC_ENABLED.of(action.properties) and not GC_ENABLED.of(base.properties):
            reason = "the table is a shallow clone, and its old snapshots name files of another table"
            way_out = "Leave it out, or drop the table first"
            raise AnalysisError(
                "TABLE_PROPERTY_REFUSED", name=GC_ENABLED.name, value="true", reason=reason, way_out=way_out
            )
        unsaid = base.properties.keys() - action.properties.keys()
        dropped = tuple(sorted(name for name in unsaid if not kept_by_replace(name)))
        if dropped:
            updates.append(RemoveProperties(dropped))
        if action.properties:
            updates.append(SetProperties(dict(action.properties)))
        turned = turned_marks(base.properties, action.properties)
        if turned:
            updates.append(SetProperties(turned))
        return tuple(updates)

    def _content_for(self, spec_id: int) -> SnapshotProduction | None:
        """The first rows with the spec's id in the table, which may differ between attempts."""
        if self._action.initial is None:
            return None
        if spec_id not in self._contents:
            files = tuple(_of_spec(file, spec_id) for file in self._action.initial.files)
            renumbered = replace(self._action.initial, files=files)
            self._contents[spec_id] = SnapshotProduction(renumbered, self._context)
        return self._contents[spec_id]


def _content(initial: AppendFiles | None, context: CommitContext, *, makes_table: bool) -> SnapshotProduction | None:
    return None if initial is None else SnapshotProduction(initial, context, makes_table=makes_table)


def _of_spec(file: ContentFile, spec_id: int) -> ContentFile:
    return replace(file, spec_id=spec_id)


def _numbered_spec(spec: PartitionSpec, base: TableMetadata) -> PartitionSpec:
    """`spec` with the id of an equal spec of the table, else the next id.

    Fields get the ids of equal fields of the table, else new ones: an id means the same in all specs.
    """
    for known_spec in base.partition_specs:
        if known_spec.same_fields(spec):
            return known_spec
    ids = {_essence(known): known.field_id for known_spec in base.partition_specs for known in known_spec.fields}
    next_id = base.last_partition_id + 1
    fields = []
    for partition_field in spec.fields:
        field_id = ids.get(_essence(partition_field))
        if field_id is None:
            field_id, next_id = next_id, next_id + 1
        fields.append(replace(partition_field, field_id=field_id))
    return PartitionSpec(max(known.spec_id for known in base.partition_specs) + 1, tuple(fields))


def _essence(partition_field: PartitionField) -> tuple[int, str, str]:
    return partition_field.source_id, partition_field.name, str(partition_field.transform)
