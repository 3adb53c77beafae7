"""Expiring snapshots, branches and tags (spec: Snapshot Retention Policy). Files are not this action's to delete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlext.catalog.clone_tag import snapshots_may_expire
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.actions.consumer import ended_queries, readers, removals, tags_of_expired_consumers
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import MAX_REF_AGE_MS, MAX_SNAPSHOT_AGE_MS, MIN_SNAPSHOTS_TO_KEEP
from sqlext.spec.metadata.metadata_update import (
    MetadataUpdate,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveSpecs,
)
from sqlext.spec.metadata.requirement import (
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    AssertTableUUID,
)
from sqlext.spec.metadata.retention import Expired, RetentionPolicy, expired
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import StructType


@dataclass(frozen=True, slots=True)
class ExpireSnapshots:
    """Removes expired references and snapshots, by the table's `history.expire.*` and those of its references.

    `older_than_ms`, in milliseconds since 1970, and `retain_last` replace the table's properties. `snapshot_ids` expire
    too, whatever their age; ids that the table does not have are ignored. With `clean_definitions` partition specs and
    schemas are removed that no remaining snapshot uses. `since_replaced` is as in `RetentionPolicy`.

    What consumers have yet to read does not expire. Tags of expired consumers are removed, and so are expired queries
    without a name. Raises UnsupportedError FILES_ARE_SHARED unless `snapshots_may_expire`, and AnalysisError
    SNAPSHOT_IN_USE for one of `snapshot_ids` that a remaining branch or tag refers to or that a consumer has yet to
    read.
    """

    older_than_ms: int | None = None
    retain_last: int | None = None
    snapshot_ids: frozenset[int] = frozenset()
    clean_definitions: bool = False
    since_replaced: bool = False

    def begin(self, context: CommitContext) -> _Staging:
        return _Staging(self, context)

    def expired(self, base: TableMetadata, name: str, now_ms: int) -> Expired:
        """What the action removes from `base` at `now_ms`; raises as it. `name` is the table's, for messages."""
        if not snapshots_may_expire(base):
            raise UnsupportedError("FILES_ARE_SHARED", name=name, operation="Expiring snapshots")
        ended, policy = tags_of_expired_consumers(base, now_ms), self._policy(base, now_ms)
        gone = expired(base, policy, now_ms, ended, readers(base, now_ms))
        for ref, to in base.refs.items():
            if to.snapshot_id in self.snapshot_ids and ref not in gone.refs:
                raise AnalysisError("SNAPSHOT_IN_USE", snapshot=to.snapshot_id, name=name, type=to.type, ref=ref)
        for reader, ids in gone.kept_for.items():
            for id in sorted(ids & self.snapshot_ids):
                raise AnalysisError("SNAPSHOT_IN_USE", snapshot=id, name=name, type="consumer", ref=reader)
        return gone

    def _policy(self, metadata: TableMetadata, now_ms: int) -> RetentionPolicy:
        properties = metadata.properties
        least = MIN_SNAPSHOTS_TO_KEEP.of(properties) if self.retain_last is None else self.retain_last
        older_than_ms = now_ms - MAX_SNAPSHOT_AGE_MS.of(properties)
        return RetentionPolicy(
            older_than_ms=older_than_ms if self.older_than_ms is None else self.older_than_ms,
            min_snapshots_to_keep=least,
            max_ref_age_ms=MAX_REF_AGE_MS.of(properties),
            snapshot_ids=self.snapshot_ids,
            since_replaced=self.since_replaced,
        )


UNASKED = ExpireSnapshots(since_replaced=True)
"""The expiry by which a table looks after itself. Nobody has chosen its time, so a query may be reading what a commit
has just replaced."""


class _Staging:
    def __init__(self, action: ExpireSnapshots, context: CommitContext) -> None:
        self._action = action
        self._context = context

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("snapshots are those of a table")
        now_ms = self._context.clock()
        gone = self._action.expired(base, self._context.name, now_ms)
        updates: list[MetadataUpdate] = [RemoveSnapshotRef(ref) for ref in gone.refs]
        updates.extend(one for one in removals(base, ended_queries(base, now_ms)) if one not in updates)
        if gone.snapshot_ids:
            updates.append(RemoveSnapshots(gone.snapshot_ids))
        if self._action.clean_definitions:
            updates.extend(self._unused_definitions(base, frozenset(gone.snapshot_ids)))
        heads = (AssertRefSnapshotId(ref, reference.snapshot_id) for ref, reference in base.refs.items())
        return StagedChange(
            base,
            tuple(updates),
            (
                AssertTableUUID(base.table_uuid),
                *heads,
                AssertCurrentSchemaId(base.current_schema_id),
                AssertDefaultSpecId(base.default_spec_id),
            ),
        )

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""

    def _unused_definitions(self, base: TableMetadata, gone: frozenset[int]) -> Iterator[MetadataUpdate]:
        """Removals of partition specs without manifests, and of schemas that no remaining snapshot has and that tell
        nothing which the remaining schemas do not.

        The newest of both stay, so that no id is given twice: a late writer may have files of the old spec.
        """
        kept = [one for one in base.snapshots if one.snapshot_id not in gone]
        used = {base.default_spec_id, max(spec.spec_id for spec in base.partition_specs)}
        if len(base.partition_specs) > 1:
            manifests = self._context.manifests
            used.update(one.spec_id for snapshot in kept for one in manifests.manifests(self._context.io, snapshot))
        specs = tuple(spec.spec_id for spec in base.partition_specs if spec.spec_id not in used)
        if specs:
            yield RemoveSpecs(specs)
        needed = {base.current_schema_id, max(one.schema_id for one in base.schemas), *(one.schema_id for one in kept)}
        if None in needed:
            # A snapshot of format version 1 does not tell its schema.
            return
        remaining = [schema for schema in base.schemas if schema.schema_id in needed]
        unused = []
        for schema in base.schemas:
            if schema.schema_id not in needed and _is_told_by(schema, remaining):
                unused.append(schema.schema_id)
            elif schema.schema_id not in needed:
                remaining.append(schema)
        if unused:
            yield RemoveSchemas(tuple(unused))


def _is_told_by(schema: Schema, others: Sequence[Schema]) -> bool:
    """Whether `others` tell all that readers take from an old schema: the type of a column that was dropped, which
    partitions and equality deletes may still have; that a name was used for another column; and with which fields a
    struct was made."""
    told = {(id, one.column_path(id)) for one in others for id in one.field_ids}
    for id in schema.field_ids:
        if (id, schema.column_path(id)) not in told:
            return False
        own, first = schema.field(id).type, next(one for one in others if id in one.field_ids).field(id).type
        if isinstance(own, StructType) and (not isinstance(first, StructType) or _ids(own) != _ids(first)):
            return False
    return True


def _ids(struct: StructType) -> set[int]:
    return {field.id for field in struct.fields}
