"""The snapshot of one commit: its manifest list and summary, and its place in the table's history."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlext.commit.action import CommitContext, Destination, StagedChange
from sqlext.commit.snapshot.engine import ENGINE_NAME, ENGINE_VERSION
from sqlext.commit.snapshot.manifest_writer import ManifestWriter
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.commit.snapshot.summary import snapshot_summary
from sqlext.errors import AnalysisError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestFile, as_listed, encode_manifest_list
from sqlext.spec.manifests.row_lineage import assign_first_row_ids
from sqlext.spec.metadata.metadata_update import AddSnapshot, MetadataUpdate, SetSnapshotRef
from sqlext.spec.metadata.reference import SnapshotReference
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

WAP_ID_PROPERTY = "wap.id"
"""Snapshot summary key of the id that a snapshot is staged under (write-audit-publish)."""

# Snapshot summary key of the commit id.
_COMMIT_ID = "sqlext.commit-id"


class SnapshotWriter:
    """Writes the manifest list of each attempt of one commit, whose snapshot has one id in all of them."""

    def __init__(self, context: CommitContext, *, makes_table: bool = False) -> None:
        self._context = context
        self._snapshot_id = context.rng.getrandbits(62) + 1
        self.manifests = ManifestWriter(
            context.io, context.manifests, context.commit_id, self._snapshot_id, makes_table=makes_table
        )
        self._needed: frozenset[str] = frozenset()
        self._attempts = 0

    def stage(
        self,
        base: TableMetadata,
        manifests: Sequence[ManifestFile],
        *,
        operation: str,
        added: Sequence[ContentFile] = (),
        removed: Sequence[ContentFile] = (),
        summary_properties: Mapping[str, str],
        totals_before: Mapping[str, str] | None = None,
    ) -> StagedChange:
        """A snapshot of `manifests` on the head of the commit's branch; `added` and `removed` are what it changes.

        `totals_before` are the totals that the change begins with, by default those in the summary of the head. Raises
        StorageError.
        """
        parent = base.head(self._context.destination.branch)
        before = totals_before if totals_before is not None or parent is None else parent.summary
        summary = snapshot_summary(
            operation=operation,
            added=added,
            removed=removed,
            previous=before,
            properties=self._properties(summary_properties),
        )
        snapshot = self._snapshot(base, parent, manifests, summary, added)
        destination = self._context.destination
        return StagedChange(
            start=base,
            updates=(AddSnapshot(snapshot), *_moves(base, destination, snapshot)),
            requirements=(AssertTableUUID(base.table_uuid), _unmoved(base, destination)),
            snapshot=snapshot,
        )

    def stage_nothing(self, base: TableMetadata) -> StagedChange:
        """An attempt without a snapshot."""
        self._needed = frozenset()
        return StagedChange(base, (), (AssertTableUUID(base.table_uuid),))

    def delete_unneeded(self, others: Iterable[str] = ()) -> None:
        """Deletes the metadata files and those of `others` that the last staged snapshot does not refer to."""
        written = [*self.manifests.written, *others]
        delete_files(self._context.io, [path for path in written if path not in self._needed])

    def _snapshot(
        self,
        base: TableMetadata,
        parent: Snapshot | None,
        manifests: Sequence[ManifestFile],
        summary: Mapping[str, str],
        added: Sequence[ContentFile],
    ) -> Snapshot:
        parent_id = None if parent is None else parent.snapshot_id
        number = base.last_sequence_number + 1 if base.format_version > 1 else 0
        snapshot = Snapshot(
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=parent_id,
            sequence_number=number,
            # Another writer's clock may be ahead; timestamps of a table do not decrease.
            timestamp_ms=max(self._context.clock(), base.last_updated_ms),
            manifest_list="",
            summary=summary,
            schema_id=base.current_schema_id,
        )
        if base.next_row_id is not None:
            manifests, next_row_id = assign_first_row_ids(manifests, base.next_row_id)
            added_rows = next_row_id - base.next_row_id
            snapshot = replace(snapshot, first_row_id=base.next_row_id, added_rows=added_rows)
        data = encode_manifest_list(
            manifests,
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=parent_id,
            sequence_number=number,
            format_version=base.format_version,
            first_row_id=snapshot.first_row_id,
        )
        self._attempts += 1
        name = f"snap-{self._snapshot_id}-{self._attempts}-{self._context.commit_id}.avro"
        location = self.manifests.create(name, data, base)
        if base.format_version > 1:
            self._context.manifests.keep_list(location, tuple(as_listed(one, number) for one in manifests))
        paths = (manifest.path for manifest in manifests), (file.file_path for file in added)
        self._needed = frozenset((location, *itertools.chain(*paths)))
        return replace(snapshot, manifest_list=location)

    def _properties(self, given: Mapping[str, str]) -> dict[str, str]:
        wap_id = self._context.destination.wap_id
        return {
            **dict(self._context.destination.summary),
            "engine-name": ENGINE_NAME,
            "engine-version": ENGINE_VERSION,
            **given,
            **({} if wap_id is None else {WAP_ID_PROPERTY: wap_id}),
            _COMMIT_ID: self._context.commit_id,
        }


def require_branch(base: TableMetadata, context: CommitContext) -> None:
    """Raises AnalysisError NOT_A_BRANCH if the commit's destination is a tag."""
    reference = base.refs.get(context.destination.branch)
    if reference is not None and reference.type != "branch":
        raise AnalysisError("NOT_A_BRANCH", ref=context.destination.branch, name=context.name)


def _moves(base: TableMetadata, destination: Destination, snapshot: Snapshot) -> tuple[MetadataUpdate, ...]:
    if destination.wap_id is not None:
        return ()
    reference = base.refs.get(destination.branch, SnapshotReference(snapshot.snapshot_id))
    return (SetSnapshotRef(destination.branch, replace(reference, snapshot_id=snapshot.snapshot_id)),)


def _unmoved(base: TableMetadata, destination: Destination) -> AssertRefSnapshotId:
    reference = base.refs.get(destination.branch)
    return AssertRefSnapshotId(destination.branch, None if reference is None else reference.snapshot_id)
