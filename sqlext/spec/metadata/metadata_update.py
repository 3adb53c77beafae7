"""Updates of table metadata (REST spec: TableUpdate).

`apply` of an update returns the next metadata value. Requirements (`sqlext.spec.metadata.requirement`) say whether
updates can be applied to newer metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Union

from sqlext.errors import AnalysisError, CommitConflict
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import MetadataLogEntry, Snapshot, SnapshotLogEntry
from sqlext.spec.metadata.statistics_file import PartitionStatisticsFile, StatisticsFile
from sqlext.spec.metadata.table_metadata import TableMetadata, require_supported, validate_spec
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortOrder

LAST_ADDED = -1
"""As an id in SetCurrentSchema, SetDefaultSpec and SetDefaultSortOrder: the schema, spec or order added last."""


@dataclass(frozen=True, slots=True)
class AssignUUID:
    uuid: str

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        return replace(metadata, table_uuid=self.uuid)

    def to_json(self) -> dict[str, Any]:
        return {"action": "assign-uuid", "uuid": self.uuid}


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion:
    format_version: int

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises AnalysisError for a downgrade, UnsupportedError for an unknown version."""
        require_supported(self.format_version, metadata.location)
        if self.format_version < metadata.format_version:
            raise AnalysisError(
                "FORMAT_VERSION_DOWNGRADE",
                name=metadata.location,
                version=self.format_version,
                current=metadata.format_version,
            )
        next_row_id = metadata.next_row_id
        if self.format_version > 2 and next_row_id is None:
            next_row_id = 0
        return replace(metadata, format_version=self.format_version, next_row_id=next_row_id)

    def to_json(self) -> dict[str, Any]:
        return {"action": "upgrade-format-version", "format-version": self.format_version}


@dataclass(frozen=True, slots=True)
class AddSchema:
    """Adds a schema under its id; an equal one that exists becomes the one added last."""

    schema: Schema

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        self.schema.validate_identifier_fields()
        others = tuple(one for one in metadata.schemas if one != self.schema)
        _require_free_id(metadata, "schema", self.schema.schema_id, (one.schema_id for one in others))
        highest = max(metadata.last_column_id, self.schema.highest_field_id)
        return replace(metadata, schemas=(*others, self.schema), last_column_id=highest)

    def to_json(self) -> dict[str, Any]:
        return {"action": "add-schema", "schema": self.schema.to_json()}


@dataclass(frozen=True, slots=True)
class SetCurrentSchema:
    schema_id: int = LAST_ADDED

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        ids = [schema.schema_id for schema in metadata.schemas]
        return replace(metadata, current_schema_id=_existing_id(metadata, "schema", self.schema_id, ids))

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-current-schema", "schema-id": self.schema_id}


@dataclass(frozen=True, slots=True)
class AddSpec:
    """Adds a partition spec under its id; an equal one that exists becomes the one added last."""

    spec: PartitionSpec

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        validate_spec(self.spec, metadata.schema())
        others = tuple(one for one in metadata.partition_specs if one != self.spec)
        _require_free_id(metadata, "partition spec", self.spec.spec_id, (one.spec_id for one in others))
        highest = max(metadata.last_partition_id, self.spec.last_assigned_field_id)
        return replace(metadata, partition_specs=(*others, self.spec), last_partition_id=highest)

    def to_json(self) -> dict[str, Any]:
        return {"action": "add-spec", "spec": self.spec.to_json()}


@dataclass(frozen=True, slots=True)
class SetDefaultSpec:
    spec_id: int = LAST_ADDED

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        ids = [spec.spec_id for spec in metadata.partition_specs]
        return replace(metadata, default_spec_id=_existing_id(metadata, "partition spec", self.spec_id, ids))

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-default-spec", "spec-id": self.spec_id}


@dataclass(frozen=True, slots=True)
class AddSortOrder:
    """Adds a sort order under its id; an equal one that exists becomes the one added last."""

    sort_order: SortOrder

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        others = tuple(one for one in metadata.sort_orders if one != self.sort_order)
        _require_free_id(metadata, "sort order", self.sort_order.order_id, (one.order_id for one in others))
        return replace(metadata, sort_orders=(*others, self.sort_order))

    def to_json(self) -> dict[str, Any]:
        return {"action": "add-sort-order", "sort-order": self.sort_order.to_json()}


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder:
    sort_order_id: int = LAST_ADDED

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        ids = [order.order_id for order in metadata.sort_orders]
        return replace(metadata, default_sort_order_id=_existing_id(metadata, "sort order", self.sort_order_id, ids))

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-default-sort-order", "sort-order-id": self.sort_order_id}


@dataclass(frozen=True, slots=True)
class SetLocation:
    location: str

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        return replace(metadata, location=self.location)

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-location", "location": self.location}


@dataclass(frozen=True, slots=True)
class SetProperties:
    updates: Mapping[str, str]

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        return replace(metadata, properties={**metadata.properties, **self.updates})

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-properties", "updates": dict(self.updates)}


@dataclass(frozen=True, slots=True)
class RemoveProperties:
    """Removes properties; names that are not set are ignored."""

    removals: tuple[str, ...]

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        kept = {key: value for key, value in metadata.properties.items() if key not in self.removals}
        return replace(metadata, properties=kept)

    def to_json(self) -> dict[str, Any]:
        return {"action": "remove-properties", "removals": list(self.removals)}


@dataclass(frozen=True, slots=True)
class AddSnapshot:
    """Adds a snapshot, to which no branch refers yet."""

    snapshot: Snapshot

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises CommitConflict if the snapshot's id, sequence number or first row id is taken."""
        self._require_fresh(metadata)
        changed = replace(
            metadata,
            snapshots=(*metadata.snapshots, self.snapshot),
            last_updated_ms=max(metadata.last_updated_ms, self.snapshot.timestamp_ms),
        )
        if metadata.format_version > 1:
            changed = replace(
                changed, last_sequence_number=max(metadata.last_sequence_number, self.snapshot.sequence_number)
            )
        if metadata.format_version > 2:
            changed = replace(changed, next_row_id=(metadata.next_row_id or 0) + (self.snapshot.added_rows or 0))
        return changed

    def _require_fresh(self, metadata: TableMetadata) -> None:
        snapshot, reason = self.snapshot, None
        if metadata.snapshot_or_none(snapshot.snapshot_id) is not None:
            reason = f"snapshot {snapshot.snapshot_id} exists already"
        elif metadata.format_version > 1 and snapshot.sequence_number <= metadata.last_sequence_number:
            reason = f"sequence number {snapshot.sequence_number} is taken"
        elif metadata.format_version > 2 and (snapshot.first_row_id or 0) < (metadata.next_row_id or 0):
            reason = f"first row id {snapshot.first_row_id} is taken"
        if reason is not None:
            raise CommitConflict("COMMIT_CONFLICT", name=metadata.location, reason=reason)

    def to_json(self) -> dict[str, Any]:
        return {"action": "add-snapshot", "snapshot": self.snapshot.to_json()}


@dataclass(frozen=True, slots=True)
class SetSnapshotRef:
    """Sets a branch or tag to a snapshot, which `main` makes the current one."""

    ref_name: str
    reference: SnapshotReference

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises NotFoundError if the table does not have the snapshot."""
        metadata.snapshot(self.reference.snapshot_id)
        refs = {**metadata.refs, self.ref_name: self.reference}
        current = self.reference.snapshot_id if self.ref_name == MAIN_BRANCH else metadata.current_snapshot_id
        return replace(metadata, refs=refs, current_snapshot_id=current)

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-snapshot-ref", "ref-name": self.ref_name, **self.reference.to_json()}


@dataclass(frozen=True, slots=True)
class RemoveSnapshotRef:
    """Removes a branch or tag if it exists; without `main` the table has no current snapshot."""

    ref_name: str

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        refs = {name: ref for name, ref in metadata.refs.items() if name != self.ref_name}
        current = None if self.ref_name == MAIN_BRANCH else metadata.current_snapshot_id
        return replace(metadata, refs=refs, current_snapshot_id=current)

    def to_json(self) -> dict[str, Any]:
        return {"action": "remove-snapshot-ref", "ref-name": self.ref_name}


@dataclass(frozen=True, slots=True)
class RemoveSnapshots:
    """Removes snapshots, the references and statistics of them, and the snapshot log up to the last of them."""

    snapshot_ids: tuple[int, ...]

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        gone = frozenset(self.snapshot_ids)
        current = metadata.current_snapshot_id
        return replace(
            metadata,
            snapshots=tuple(one for one in metadata.snapshots if one.snapshot_id not in gone),
            refs={name: ref for name, ref in metadata.refs.items() if ref.snapshot_id not in gone},
            current_snapshot_id=None if current in gone else current,
            statistics=tuple(one for one in metadata.statistics if one.get("snapshot-id") not in gone),
            partition_statistics=tuple(
                one for one in metadata.partition_statistics if one.get("snapshot-id") not in gone
            ),
            snapshot_log=_log_after_gap(metadata.snapshot_log, gone),
        )

    def to_json(self) -> dict[str, Any]:
        return {"action": "remove-snapshots", "snapshot-ids": list(self.snapshot_ids)}


@dataclass(frozen=True, slots=True)
class SetStatistics:
    """Sets the statistics file of a snapshot, in place of one that it may have."""

    statistics: StatisticsFile

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises NotFoundError if the table does not have the snapshot."""
        return replace(metadata, statistics=_with_file_of(metadata, metadata.statistics, self.statistics.to_json()))

    def to_json(self) -> dict[str, Any]:
        id = self.statistics.snapshot_id
        return {"action": "set-statistics", "snapshot-id": id, "statistics": self.statistics.to_json()}


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics:
    """Sets the partition statistics file of a snapshot, in place of one that it may have."""

    statistics: PartitionStatisticsFile

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises NotFoundError if the table does not have the snapshot."""
        files = _with_file_of(metadata, metadata.partition_statistics, self.statistics.to_json())
        return replace(metadata, partition_statistics=files)

    def to_json(self) -> dict[str, Any]:
        return {"action": "set-partition-statistics", "partition-statistics": self.statistics.to_json()}


@dataclass(frozen=True, slots=True)
class RemoveSpecs:
    """Removes partition specs, of which none is the default; ids that the table does not have are ignored."""

    spec_ids: tuple[int, ...]

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises CommitConflict for the default spec."""
        _require_not_in_use(metadata, "partition spec", metadata.default_spec_id, self.spec_ids)
        kept = tuple(spec for spec in metadata.partition_specs if spec.spec_id not in self.spec_ids)
        return replace(metadata, partition_specs=kept)

    def to_json(self) -> dict[str, Any]:
        return {"action": "remove-partition-specs", "spec-ids": list(self.spec_ids)}


@dataclass(frozen=True, slots=True)
class RemoveSchemas:
    """Removes schemas, of which none is the current one; ids that the table does not have are ignored."""

    schema_ids: tuple[int, ...]

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Raises CommitConflict for the current schema."""
        _require_not_in_use(metadata, "schema", metadata.current_schema_id, self.schema_ids)
        kept = tuple(schema for schema in metadata.schemas if schema.schema_id not in self.schema_ids)
        return replace(metadata, schemas=kept)

    def to_json(self) -> dict[str, Any]:
        return {"action": "remove-schemas", "schema-ids": list(self.schema_ids)}


MetadataUpdate: TypeAlias = Union[  # noqa: UP007 - as every union of spec/
    AssignUUID,
    UpgradeFormatVersion,
    AddSchema,
    SetCurrentSchema,
    AddSpec,
    SetDefaultSpec,
    AddSortOrder,
    SetDefaultSortOrder,
    SetLocation,
    SetProperties,
    RemoveProperties,
    AddSnapshot,
    SetSnapshotRef,
    RemoveSnapshotRef,
    RemoveSnapshots,
    SetStatistics,
    SetPartitionStatistics,
    RemoveSpecs,
    RemoveSchemas,
]


def apply_updates(base: TableMetadata, updates: Sequence[MetadataUpdate], *, now_ms: int) -> TableMetadata:
    """`base` after all updates, with a new `last_updated_ms` and snapshot log; `base` itself if there are no updates.

    `last_updated_ms` never decreases, though `now_ms` may be earlier than another writer's clock.
    """
    if not updates:
        return base
    changed = base
    for update in updates:
        changed = update.apply(changed)
    changed = replace(changed, last_updated_ms=max(now_ms, changed.last_updated_ms))
    current = changed.current_snapshot()
    if current is None or current.snapshot_id == base.current_snapshot_id:
        return changed
    is_new = current in changed.snapshots_not_in(base)
    made_current_ms = current.timestamp_ms if is_new else changed.last_updated_ms
    entry = SnapshotLogEntry(made_current_ms, current.snapshot_id)
    return replace(changed, snapshot_log=(*changed.snapshot_log, entry))


def with_metadata_log(
    updated: TableMetadata, previous_location: str | None, previous_last_updated_ms: int, max_entries: int
) -> TableMetadata:
    """`updated` with the previous metadata file in its metadata log, of which the newest `max_entries` remain.

    `previous_location` is None for the first metadata file of a table; then `updated` does not change.
    """
    if previous_location is None:
        return updated
    log = (*updated.metadata_log, MetadataLogEntry(previous_last_updated_ms, previous_location))
    return replace(updated, metadata_log=log[max(0, len(log) - max(1, max_entries)) :])


def with_commit_time(base: TableMetadata | None, updated: TableMetadata, committed_ms: int) -> TableMetadata:
    """`updated` with the commit's time in itself and in snapshots and snapshot log entries that `base` lacks.

    The time is the later of `committed_ms` and `updated.last_updated_ms`.
    """
    committed_ms = max(committed_ms, updated.last_updated_ms)
    added = frozenset(one.snapshot_id for one in updated.snapshots_not_in(base))
    logged = frozenset() if base is None else frozenset(base.snapshot_log)
    return replace(
        updated,
        last_updated_ms=committed_ms,
        snapshots=tuple(
            replace(one, timestamp_ms=committed_ms) if one.snapshot_id in added else one for one in updated.snapshots
        ),
        snapshot_log=tuple(
            one if one in logged else replace(one, timestamp_ms=committed_ms) for one in updated.snapshot_log
        ),
    )


def _log_after_gap(log: tuple[SnapshotLogEntry, ...], gone: frozenset[int]) -> tuple[SnapshotLogEntry, ...]:
    # A log with a gap would give a wrong snapshot for a time in the gap, so it begins after the last gap.
    kept: list[SnapshotLogEntry] = []
    for entry in log:
        if entry.snapshot_id in gone:
            kept.clear()
        else:
            kept.append(entry)
    return tuple(kept)


def _with_file_of(
    metadata: TableMetadata, files: Sequence[Mapping[str, Any]], file: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    """`files` with `file` in place of that of its snapshot. Raises NotFoundError if there is no such snapshot."""
    id = metadata.snapshot(file["snapshot-id"]).snapshot_id
    return (*(one for one in files if one.get("snapshot-id") != id), file)


def _require_free_id(metadata: TableMetadata, kind: str, id: int, taken: Iterable[int]) -> None:
    if id in set(taken):
        raise CommitConflict("COMMIT_CONFLICT", name=metadata.location, reason=f"{kind} id {id} is taken")


def _require_not_in_use(metadata: TableMetadata, kind: str, used: int, removed: Sequence[int]) -> None:
    if used in removed:
        raise CommitConflict("COMMIT_CONFLICT", name=metadata.location, reason=f"{kind} {used} is in use again")


def _existing_id(metadata: TableMetadata, kind: str, id: int, ids: Sequence[int]) -> int:
    found = ids[-1] if id == LAST_ADDED else id
    if found not in ids:
        raise CommitConflict("COMMIT_CONFLICT", name=metadata.location, reason=f"{kind} {id} does not exist")
    return found
