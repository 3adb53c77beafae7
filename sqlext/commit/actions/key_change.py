"""Adding, replacing and dropping a table's primary key: identifier fields, and properties of the key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.actions.schema_change import schema_updates
from sqlext.errors import AnalysisError, ValidationConflict
from sqlext.properties import KEY_ENFORCED, KEY_RELY
from sqlext.spec.metadata.metadata_update import MetadataUpdate, RemoveProperties, SetProperties
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.requirement import AssertCurrentSchemaId, AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema_change import DropIdentifierFields, Path, RequireIdentifierFields, changed_schema


@dataclass(frozen=True, slots=True)
class AddKey:
    """Makes `columns` the key, and required, of a table without one or, with `replaces`, with another one.

    In the rows of snapshot `checked_snapshot_id` (None: no rows) the key is unique and not null. Any later commit
    conflicts, as it may have added rows in which it is not. `properties` describe the key.
    """

    columns: tuple[Path, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    checked_snapshot_id: int | None = None
    replaces: bool = False

    def begin(self, context: CommitContext) -> _Addition:
        return _Addition(self, context.name)


@dataclass(frozen=True, slots=True)
class _Addition:
    change: AddKey
    name: str

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a key needs a table")
        change, snapshot, before = self.change, base.current_snapshot(), base.schema()
        if change.replaces and not before.identifier_field_ids:
            raise AnalysisError(
                "INVALID_PRIMARY_KEY", reason=f"{self.name} has none to modify. Write ALTER TABLE … ADD PRIMARY KEY"
            )
        if before.identifier_field_ids and not change.replaces:
            key = ", ".join(field.name for field in before.identifier_fields)
            raise AnalysisError(
                "INVALID_PRIMARY_KEY", reason=f"the table has the key ({key}). Write ALTER TABLE … MODIFY PRIMARY KEY"
            )
        if (None if snapshot is None else snapshot.snapshot_id) != change.checked_snapshot_id:
            reason = "another commit changed the rows that were checked"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self.name, reason=reason)
        require = RequireIdentifierFields(change.columns)
        schema = changed_schema(before, (require,), base.last_column_id, base.format_version)
        updates: list[MetadataUpdate] = [*schema_updates(base, schema)]
        if change.properties:
            updates.append(SetProperties(dict(change.properties)))
        updates.extend(_without(base, set(change.properties)))
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertCurrentSchemaId(base.current_schema_id),
            AssertRefSnapshotId(MAIN_BRANCH, change.checked_snapshot_id),
        )
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


@dataclass(frozen=True, slots=True)
class DropKey:
    """Drops the key; its columns stay required. No change for a table without one."""

    def begin(self, context: CommitContext) -> DropKey:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a key needs a table")
        schema = base.schema()
        drop = DropIdentifierFields(tuple(schema.column_path(id) for id in schema.identifier_field_ids))
        changed = changed_schema(schema, (drop,), base.last_column_id, base.format_version)
        updates: list[MetadataUpdate] = [*schema_updates(base, changed)]
        updates.extend(_without(base, set()))
        requirements = (AssertTableUUID(base.table_uuid), AssertCurrentSchemaId(base.current_schema_id))
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


def _without(base: TableMetadata, kept: Collection[str]) -> list[MetadataUpdate]:
    """The removal of the properties that describe a key, except `kept`."""
    said = tuple(name for name in (KEY_ENFORCED.name, KEY_RELY) if name in base.properties and name not in kept)
    return [RemoveProperties(said)] if said else []
