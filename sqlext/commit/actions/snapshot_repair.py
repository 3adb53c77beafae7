"""Repairing the head of a branch: a snapshot of what can be read of it, with counts and totals that are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.commit.snapshot.snapshot_writer import SnapshotWriter, require_branch
from sqlext.errors import ValidationConflict
from sqlext.scan.checks.totals import as_summary, totals_of
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestEntry, ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class RepairSnapshot:
    """A snapshot after `base_snapshot_id`, the head of the branch, without the manifests `lost_manifests` and the
    content files `removed`; `operation` is delete or overwrite if that changes rows, else replace.

    Its manifests are those of the head, or `manifests` if the head's manifest list is lost; they are read anew, and
    what the new list says of them is counted. A lost manifest of which `rebuilt` has the live entries is written anew
    with these. Files are not deleted: earlier snapshots name them.

    Conflicts with every other commit to the branch, since the head was looked at as it is.
    """

    base_snapshot_id: int
    operation: str
    lost_manifests: frozenset[str] = frozenset()
    removed: frozenset[ContentKey] = frozenset()
    manifests: tuple[ManifestFile, ...] | None = None
    rebuilt: Mapping[str, tuple[ManifestEntry, ...]] = field(default_factory=dict)

    def begin(self, context: CommitContext) -> SnapshotRepair:
        return SnapshotRepair(self, context)


class SnapshotRepair:
    """Staging of `RepairSnapshot`."""

    def __init__(self, action: RepairSnapshot, context: CommitContext) -> None:
        self._action = action
        # What the process has cached may be of files that are damaged since.
        self._context = replace(context, manifests=ManifestCache(0))
        self._snapshots = SnapshotWriter(self._context)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a snapshot of a table is repaired")
        require_branch(base, self._context)
        head = base.head(self._context.destination.branch)
        if head is None or head.snapshot_id != self._action.base_snapshot_id:
            reason = "another commit has changed it while it was being looked at"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        kept, removed, totals = self._left_of(base, head)
        return self._snapshots.stage(
            base,
            kept,
            operation=self._action.operation,
            removed=removed,
            summary_properties={},
            totals_before=as_summary(totals),
        )

    def finish(self, landed: Snapshot | None) -> None:
        self._snapshots.delete_unneeded()

    def abandon(self) -> None:
        delete_files(self._context.io, self._snapshots.manifests.written)

    def _left_of(
        self, base: TableMetadata, head: Snapshot
    ) -> tuple[list[ManifestFile], list[ContentFile], Counter[str]]:
        """The manifests to keep, the removed files, and the totals of what can be read before the removal."""
        io, manifests, writer = self._context.io, self._context.manifests, self._snapshots.manifests
        listed = self._action.manifests
        kept, removed, totals = [], list[ContentFile](), Counter[str]()
        for manifest in manifests.manifests(io, head) if listed is None else listed:
            if manifest.path in self._action.rebuilt:
                entries = self._action.rebuilt[manifest.path]
                totals += totals_of(entry.file for entry in entries)
                left = [entry for entry in entries if entry.file.key not in self._action.removed]
                removed += [entry.file for entry in entries if entry.file.key in self._action.removed]
                if left:
                    kept.append(writer.of_entries(left, base, manifest.spec_id, manifest.content))
                continue
            if manifest.path in self._action.lost_manifests:
                continue
            entries = manifests.entries(io, manifest, base)
            numbers = [
                entry.sequence_number for entry in entries if entry.is_live and entry.sequence_number is not None
            ]
            manifest = replace(
                manifest,
                length=len(manifests.read(io, manifest)),
                min_sequence_number=min(numbers, default=manifest.min_sequence_number),
            )
            live = [entry.file for entry in entries if entry.is_live]
            if not live:
                continue
            totals += totals_of(live)
            gone = [file for file in live if file.key in self._action.removed]
            removed += gone
            if gone:
                kept.append(writer.without([manifest], frozenset(file.key for file in gone), base))
            else:
                kept.append(writer.recounted(manifest, entries, base))
        return kept, removed, totals
