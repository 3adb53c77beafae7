"""Publishing a snapshot that is on no branch, such as a staged one, at the head of main.

As in Iceberg: if main has not moved, the snapshot itself becomes its head. Otherwise its data files are added again, if
it is an append or a replacement of partitions that no commit has changed since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlext.catalog.discarded_files import ADDED_IN_PLACE
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.loop.conflict import History
from sqlext.commit.snapshot.removal import RemoveNothing, RemovePaths
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.commit.snapshot.snapshot_writer import WAP_ID_PROPERTY
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.scan.filter.file_filter import partition_key
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent
from sqlext.spec.metadata.metadata_update import SetSnapshotRef
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata

SOURCE_SNAPSHOT_PROPERTY = "source-snapshot-id"
PUBLISHED_WAP_ID_PROPERTY = "published-wap-id"


@dataclass(frozen=True, slots=True)
class CherryPick:
    """Picks the snapshot `snapshot_id`, or the one staged under `wap_id`; exactly one of the two is set.

    Raises NotFoundError for an unknown one, AnalysisError if it is on main, was published before or cannot be picked.
    """

    snapshot_id: int | None = None
    wap_id: str | None = None

    def begin(self, context: CommitContext) -> _CherryPicking:
        return _CherryPicking(self, context)


class _CherryPicking:
    def __init__(self, action: CherryPick, context: CommitContext) -> None:
        self._action = action
        self._context = context
        self._production: SnapshotProduction | None = None

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a snapshot is one of a table")
        picked = self._picked(base)
        self._require_new(base, picked)
        if picked.parent_snapshot_id == base.current_snapshot_id:
            return _fast_forward(base, picked)
        if self._production is None:
            self._production = SnapshotProduction(self._change_of(base, picked), self._context)
        return self._production.stage(base)

    def finish(self, landed: Snapshot | None) -> None:
        if self._production is not None:
            self._production.finish(landed)

    def abandon(self) -> None:
        if self._production is not None:
            self._production.abandon()

    def _picked(self, base: TableMetadata) -> Snapshot:
        name, wap_id = self._context.name, self._action.wap_id
        if self._action.snapshot_id is not None:
            found = base.snapshot_or_none(self._action.snapshot_id)
        else:
            found = next((one for one in base.snapshots if one.summary.get(WAP_ID_PROPERTY) == wap_id), None)
        if found is None:
            what = f"staged as {wap_id}" if self._action.snapshot_id is None else self._action.snapshot_id
            raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=what, name=name)
        return found

    def _require_new(self, base: TableMetadata, picked: Snapshot) -> None:
        wap_id = picked.summary.get(WAP_ID_PROPERTY)
        for one in ancestors(base, base.current_snapshot()):
            if str(picked.snapshot_id) in (str(one.snapshot_id), one.summary.get(SOURCE_SNAPSHOT_PROPERTY)):
                reason = "it is on main already"
            elif wap_id is not None and wap_id in (
                one.summary.get(PUBLISHED_WAP_ID_PROPERTY),
                one.summary.get(WAP_ID_PROPERTY),
            ):
                reason = f"a snapshot that was staged as {wap_id} has been published"
            else:
                continue
            raise self._refused(picked, reason)

    def _change_of(self, base: TableMetadata, picked: Snapshot) -> _PickedChange:
        replaces = picked.operation == "overwrite" and picked.summary.get("replace-partitions") == "true"
        if picked.operation != "append" and not replaces:
            raise self._refused(
                picked, "main has moved since, and it is neither an append nor an overwrite of partitions"
            )
        removed = tuple(self._files(base, picked, EntryStatus.DELETED)) if replaces else ()
        return _PickedChange(picked, tuple(self._files(base, picked, EntryStatus.ADDED)), removed, replaces)

    def _files(self, base: TableMetadata, picked: Snapshot, status: EntryStatus) -> Iterator[ContentFile]:
        io, manifests = self._context.io, self._context.manifests
        for manifest in manifests.manifests(io, picked):
            if manifest.content == ManifestContent.DATA and manifest.added_snapshot_id == picked.snapshot_id:
                for entry in manifests.entries(io, manifest, base):
                    if entry.status == status and entry.snapshot_id == picked.snapshot_id:
                        yield entry.file

    def _refused(self, picked: Snapshot, reason: str) -> AnalysisError:
        return AnalysisError("CHERRY_PICK_REFUSED", snapshot=picked.snapshot_id, name=self._context.name, reason=reason)


@dataclass(frozen=True, slots=True)
class _PickedChange:
    """The change of a snapshot, for a second commit on main."""

    picked: Snapshot
    added: tuple[ContentFile, ...]
    removed: tuple[ContentFile, ...]
    replaces_partitions: bool

    def change(self) -> FileChange:
        properties = {SOURCE_SNAPSHOT_PROPERTY: str(self.picked.snapshot_id), ADDED_IN_PLACE: "true"}
        if WAP_ID_PROPERTY in self.picked.summary:
            properties[PUBLISHED_WAP_ID_PROPERTY] = self.picked.summary[WAP_ID_PROPERTY]
        if self.replaces_partitions:
            properties["replace-partitions"] = "true"
        paths = frozenset(file.file_path for file in self.removed)
        return FileChange(
            "overwrite" if self.replaces_partitions else "append",
            # Rows get new ids: the picked snapshot may be read and published elsewhere too.
            tuple(replace(file, first_row_id=None) for file in self.added),
            RemovePaths(paths) if paths else RemoveNothing(),
            summary_properties=properties,
            owns_added=False,
        )

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        if self.replaces_partitions:
            partitions = frozenset(partition_key(file) for file in (*self.added, *self.removed))
            History(context, base, self.picked.parent_snapshot_id).require_partitions_untouched(partitions)


def _fast_forward(base: TableMetadata, picked: Snapshot) -> StagedChange:
    main = base.refs.get(MAIN_BRANCH, SnapshotReference(picked.snapshot_id))
    return StagedChange(
        base,
        (SetSnapshotRef(MAIN_BRANCH, replace(main, snapshot_id=picked.snapshot_id)),),
        (AssertTableUUID(base.table_uuid), AssertRefSnapshotId(MAIN_BRANCH, base.current_snapshot_id)),
    )
