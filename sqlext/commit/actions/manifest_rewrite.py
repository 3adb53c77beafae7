"""Rewriting manifests: the live files of the table stay what they are, in other manifests."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.commit.snapshot.rewritten_manifests import ManifestRewriting
from sqlext.commit.snapshot.snapshot_writer import SnapshotWriter, require_branch
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

CREATED, KEPT, REPLACED = "manifests-created", "manifests-kept", "manifests-replaced"
"""Snapshot summary keys (spec: Optional Snapshot Summary Fields)."""
_ENTRIES = "entries-processed"


@dataclass(frozen=True, slots=True)
class RewriteManifests:
    """Rewrites the manifests of partition spec `spec_id`, data and delete manifests each on their own.

    New manifests have about `commit.manifest.target-size-bytes`, and entries sorted by the partition fields `sort_by`,
    by default by all. Entries keep snapshot id, sequence numbers and first row id; those of deleted files are dropped.
    Where nothing has to be rewritten, no snapshot is made.

    It conflicts with no commit: manifests that others have added stay, and if others have replaced one of those that
    it has rewritten, it rewrites the manifests that are there then.
    """

    spec_id: int
    sort_by: tuple[str, ...] = ()

    def begin(self, context: CommitContext) -> ManifestRewrite:
        return ManifestRewrite(self, context)


class ManifestRewrite:
    """Staging of `RewriteManifests`."""

    def __init__(self, action: RewriteManifests, context: CommitContext) -> None:
        self._context = context
        self._snapshots = SnapshotWriter(context)
        self._rewriting = ManifestRewriting(self._snapshots.manifests, action.spec_id, action.sort_by)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("manifests of a table are rewritten")
        require_branch(base, self._context)
        head = base.head(self._context.destination.branch)
        listed = () if head is None else self._context.manifests.manifests(self._context.io, head)
        rewrite = self._rewriting.of(base, listed)
        if not rewrite.replaced:
            return self._snapshots.stage_nothing(base)
        replaced = {manifest.path for manifest in rewrite.replaced}
        kept = [
            self._snapshots.manifests.counted(manifest, base) for manifest in listed if manifest.path not in replaced
        ]
        return self._snapshots.stage(
            base,
            (*rewrite.created, *kept),
            operation="replace",
            summary_properties={
                CREATED: str(len(rewrite.created)),
                KEPT: str(len(kept)),
                REPLACED: str(len(rewrite.replaced)),
                _ENTRIES: str(rewrite.entries),
            },
        )

    def finish(self, landed: Snapshot | None) -> None:
        self._snapshots.delete_unneeded()

    def abandon(self) -> None:
        delete_files(self._context.io, self._snapshots.manifests.written)
