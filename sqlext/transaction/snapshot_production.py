"""From changed files to a staged snapshot: manifests, manifest list, summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import metadata as distribution
from typing import Protocol, TypeAlias

from sqlext.errors import AnalysisError, SqlextError, UnsupportedError, ValidationConflict
from sqlext.spec.constraint import row_rule_properties
from sqlext.spec.content_file import Content, ContentFile
from sqlext.spec.manifest import ManifestFile, encode_manifest_list
from sqlext.spec.metadata_update import AddSnapshot, MetadataUpdate, SetSnapshotRef
from sqlext.spec.reference import SnapshotReference
from sqlext.spec.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.row_lineage import assign_first_row_ids
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.transaction.action import CommitContext, Destination, StagedChange
from sqlext.transaction.manifest_writer import ManifestWriter, merge_groups
from sqlext.transaction.removal import Removal, RemoveNothing, Selection
from sqlext.transaction.summary import snapshot_summary

COMMIT_ID_PROPERTY = "sqlext.commit-id"
"""The snapshot summary's key of the commit's token."""
WAP_ID_PROPERTY = "wap.id"
"""The snapshot summary's key of the id under which a snapshot was staged (write, audit, publish)."""


# What a manifest becomes depends on the table's format version, and on the row ids its files got from its list: those
# of a table that was upgraded get them from the next commit, perhaps another's between two attempts.
_ManifestKey: TypeAlias = tuple[int, str, int | None]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a snapshot does to the files of a table; `operation` is append, replace, overwrite or delete."""

    operation: str
    added: tuple[ContentFile, ...] = ()
    removal: Removal = field(default_factory=RemoveNothing)
    summary_properties: Mapping[str, str] = field(default_factory=dict)


class SnapshotAction(Protocol):
    """An action that makes one snapshot."""

    def change(self) -> FileChange:
        """The files that come and go."""

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        """`ValidationConflict` when commits up to `base` changed what the action relies on."""


class SnapshotProduction:
    """The staging of a snapshot action.

    Manifests are written once: an attempt on a newer base writes its manifest list, and of manifests only what the
    newer base makes necessary.
    """

    def __init__(self, action: SnapshotAction, context: CommitContext, *, makes_table: bool = False) -> None:
        self._action = action
        self._change = action.change()
        self._context = context
        self._snapshot_id = context.rng.getrandbits(62) + 1
        self._writer = ManifestWriter(
            context.io, context.manifests, context.commit_id, self._snapshot_id, makes_table=makes_table
        )
        self._added: dict[int, tuple[ManifestFile, ...]] = {}
        self._kept: dict[_ManifestKey, tuple[ManifestFile, tuple[ContentFile, ...]]] = {}
        self._merged: dict[tuple[_ManifestKey, ...], ManifestFile] = {}
        self._needed: frozenset[str] = frozenset()
        self._attempts = 0
        self._rules: Mapping[str, str] | None = None

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a snapshot needs a table")
        _require_writable(base, self._context.name, self._change.added)
        _require_branch(base, self._context)
        self._require_same_rules(base)
        self._action.validate(self._context, base)
        return self.stage_on(base)

    def stage_on(self, base: TableMetadata) -> StagedChange:
        """The change on metadata that nobody else has changed: a base already validated, or a table being made."""
        destination = self._context.destination
        parent = base.head(destination.branch)
        kept, removed = self._kept_manifests(base, parent)
        manifests = self._merged_manifests((*self._added_manifests(base), *kept), base)
        snapshot = self._snapshot(base, parent, manifests, removed)
        return StagedChange(
            start=base,
            updates=(AddSnapshot(snapshot), *_moves(base, destination, snapshot)),
            requirements=(AssertTableUUID(base.table_uuid), _unmoved(base, destination)),
            snapshot=snapshot,
        )

    def _require_same_rules(self, base: TableMetadata) -> None:
        """`ValidationConflict` when rows were written before the table got a constraint that they may not satisfy."""
        rules = row_rule_properties(base.properties)
        if self._rules is None:
            self._rules = rules
        if self._change.added and rules != self._rules:
            reason = "another statement changed the constraints of the table"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)

    def finish(self, landed: Snapshot | None) -> None:
        delete_files(self._context.io, [path for path in self._writer.written if path not in self._needed])

    def abandon(self) -> None:
        delete_files(self._context.io, [*self._writer.written, *(file.file_path for file in self._change.added)])

    def _added_manifests(self, base: TableMetadata) -> tuple[ManifestFile, ...]:
        # An upgrade of the table between two attempts changes what a manifest looks like.
        version = base.format_version
        if version not in self._added:
            self._added[version] = self._writer.add(self._change.added, base)
        return self._added[version]

    def _kept_manifests(
        self, base: TableMetadata, parent: Snapshot | None
    ) -> tuple[list[ManifestFile], list[ContentFile]]:
        """The parent's manifests without the removed files, and those files."""
        selection = self._change.removal.of(base)
        kept: list[ManifestFile] = []
        removed: list[ContentFile] = []
        for manifest in () if parent is None else self._context.manifests.manifests(self._context.io, parent):
            if not _may_be_live(manifest):
                continue
            remaining, gone = self._without_removed(manifest, selection, base)
            kept.append(self._writer.counted(remaining, base))
            removed.extend(gone)
        missing = self._change.removal.missing({file.file_path for file in removed})
        if missing:
            reason = f"another commit removed the file {min(missing)}"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        return kept, removed

    def _without_removed(
        self, manifest: ManifestFile, selection: Selection, base: TableMetadata
    ) -> tuple[ManifestFile, tuple[ContentFile, ...]]:
        if not selection.touches(manifest):
            return manifest, ()
        key = _key(manifest, base)
        if key not in self._kept:
            entries = self._context.manifests.entries(self._context.io, manifest, base)
            gone = tuple(entry.file for entry in entries if entry.is_live and selection.selects(entry.file))
            paths = frozenset(file.file_path for file in gone)
            rewritten = self._writer.without(manifest, entries, paths, base) if gone else manifest
            self._kept[key] = (rewritten, gone)
        return self._kept[key]

    def _merged_manifests(self, manifests: Sequence[ManifestFile], base: TableMetadata) -> list[ManifestFile]:
        return [
            group[0] if len(group) == 1 else self._merged_group(group, base) for group in merge_groups(manifests, base)
        ]

    def _merged_group(self, group: tuple[ManifestFile, ...], base: TableMetadata) -> ManifestFile:
        key = tuple(_key(manifest, base) for manifest in group)
        if key not in self._merged:
            self._merged[key] = self._writer.merge(group, base)
        return self._merged[key]

    def _snapshot(
        self,
        base: TableMetadata,
        parent: Snapshot | None,
        manifests: Sequence[ManifestFile],
        removed: Sequence[ContentFile],
    ) -> Snapshot:
        parent_id = None if parent is None else parent.snapshot_id
        number = base.last_sequence_number + 1 if base.format_version > 1 else 0
        snapshot = Snapshot(
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=parent_id,
            sequence_number=number,
            # Another writer's clock may be ahead; time in the table's history only goes forward.
            timestamp_ms=max(self._context.clock(), base.last_updated_ms),
            manifest_list="",
            summary=snapshot_summary(
                operation=self._change.operation,
                added=self._change.added,
                removed=removed,
                previous=None if parent is None else parent.summary,
                properties=self._summary_properties(),
            ),
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
        location = self._writer.create(name, data, base)
        self._needed = frozenset((location, *(manifest.path for manifest in manifests)))
        return replace(snapshot, manifest_list=location)

    def _summary_properties(self) -> dict[str, str]:
        wap_id = self._context.destination.wap_id
        return {
            "engine-name": "sqlext",
            "engine-version": _ENGINE_VERSION,
            **self._change.summary_properties,
            **({} if wap_id is None else {WAP_ID_PROPERTY: wap_id}),
            COMMIT_ID_PROPERTY: self._context.commit_id,
        }


def delete_files(io: FileIO, paths: Sequence[str]) -> None:
    """Deletes files that no metadata names; one that cannot be deleted is left as an orphan."""
    for path in paths:
        with suppress(SqlextError, OSError):
            io.delete(path)


def _engine_version() -> str:
    try:
        return distribution.version("sqlext")
    except distribution.PackageNotFoundError:
        return "unreleased"


_ENGINE_VERSION = _engine_version()


def _require_writable(base: TableMetadata, name: str, added: Sequence[ContentFile]) -> None:
    if base.format_version > 2 and any(file.content == Content.POSITION_DELETES for file in added):
        raise UnsupportedError("UNSUPPORTED_WRITE", feature="a deletion vector")
    if base.format_version == 1 and any(file.content for file in added):
        raise UnsupportedError("FORMAT_VERSION_1_ROW_LEVEL", verb="A change of single rows", name=name)


def _require_branch(base: TableMetadata, context: CommitContext) -> None:
    reference = base.refs.get(context.destination.branch)
    if reference is not None and reference.type != "branch":
        raise AnalysisError("NOT_A_BRANCH", ref=context.destination.branch, name=context.name)


def _key(manifest: ManifestFile, base: TableMetadata) -> _ManifestKey:
    return base.format_version, manifest.path, manifest.first_row_id


def _may_be_live(manifest: ManifestFile) -> bool:
    """Whether a manifest still holds files; what an earlier snapshot deleted need not be carried on."""
    return manifest.added_files_count != 0 or manifest.existing_files_count != 0


def _moves(base: TableMetadata, destination: Destination, snapshot: Snapshot) -> tuple[MetadataUpdate, ...]:
    if destination.wap_id is not None:
        return ()
    reference = base.refs.get(destination.branch, SnapshotReference(snapshot.snapshot_id))
    return (SetSnapshotRef(destination.branch, replace(reference, snapshot_id=snapshot.snapshot_id)),)


def _unmoved(base: TableMetadata, destination: Destination) -> AssertRefSnapshotId:
    reference = base.refs.get(destination.branch)
    return AssertRefSnapshotId(destination.branch, None if reference is None else reference.snapshot_id)
