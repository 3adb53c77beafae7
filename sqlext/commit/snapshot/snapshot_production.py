"""From changed files to a staged snapshot: manifests, manifest list and summary."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from sqlext.commit.action import CommitContext, Destination, StagedChange
from sqlext.commit.snapshot.deletion_vectors import DeletedRows, VectorProduction
from sqlext.commit.snapshot.engine import ENGINE_NAME, ENGINE_VERSION
from sqlext.commit.snapshot.manifest_writer import ManifestWriter, merge_groups
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.commit.snapshot.removal import Removal, RemoveNothing, Selection, WithVectors
from sqlext.commit.snapshot.summary import snapshot_summary
from sqlext.errors import AnalysisError, UnsupportedError, ValidationConflict
from sqlext.spec.constraint import row_rule_properties
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile, as_listed, encode_manifest_list
from sqlext.spec.manifests.row_lineage import assign_first_row_ids
from sqlext.spec.metadata.metadata_update import AddSnapshot, MetadataUpdate, SetSnapshotRef
from sqlext.spec.metadata.reference import SnapshotReference
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

WAP_ID_PROPERTY = "wap.id"
"""Snapshot summary key of the id that a snapshot is staged under (write-audit-publish)."""


# What determines a rewritten manifest: format version, path, and what the manifest list assigns: first row id (after an
# upgrade, perhaps between two attempts) and sequence number (it changes between attempts for a manifest of another
# change in the same commit).
_ManifestKey: TypeAlias = tuple[int, str, int | None, int]

# Snapshot summary key of the commit id.
_COMMIT_ID = "sqlext.commit-id"


@dataclass(frozen=True, slots=True)
class FileChange:
    """The files that a snapshot adds and removes; `operation` is append, replace, overwrite or delete.

    `deleted_rows`, by path of the data file, become deletion vectors (format version 3), as do position-delete files in
    `added` that were written before the table's upgrade.

    With `owns_added` a failed commit deletes the added files. Data files get `data_sequence_number`, or with None the
    snapshot's; a number is given if they hold rows of other files.
    """

    operation: str
    added: tuple[ContentFile, ...] = ()
    removal: Removal = field(default_factory=RemoveNothing)
    deleted_rows: Mapping[str, DeletedRows] = field(default_factory=dict)
    summary_properties: Mapping[str, str] = field(default_factory=dict)
    owns_added: bool = True
    data_sequence_number: int | None = None


class SnapshotAction(Protocol):
    """An action that makes one snapshot."""

    def change(self) -> FileChange:
        """The files to add and remove."""

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        """Raises `ValidationConflict` if commits up to `base` changed what the action read."""


class SnapshotProduction:
    """Staging of a snapshot action.

    Manifests are kept between attempts: a retry writes a manifest list, and those manifests that the newer base
    affects.
    """

    def __init__(self, action: SnapshotAction, context: CommitContext, *, makes_table: bool = False) -> None:
        self._action = action
        self._change = action.change()
        self._context = context
        self._snapshot_id = context.rng.getrandbits(62) + 1
        self._writer = ManifestWriter(
            context.io, context.manifests, context.commit_id, self._snapshot_id, makes_table=makes_table
        )
        self._vectors = VectorProduction(context, self._change.deleted_rows, self._position_delete_files())
        self._added: dict[tuple[int, frozenset[ContentKey]], tuple[ManifestFile, ...]] = {}
        self._kept: dict[tuple[int, str, int | None, int, frozenset[ContentKey]], ManifestFile] = {}
        self._merged: dict[tuple[_ManifestKey, ...], ManifestFile] = {}
        self._needed: frozenset[str] = frozenset()
        self._attempts = 0
        planned_on = context.planned_on
        self._rules = None if planned_on is None else row_rule_properties(planned_on.properties)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a snapshot needs a table")
        _require_writable(base, self._context.name, self._change.added)
        _require_specs(base, self._context.name, self._change.added)
        _require_branch(base, self._context)
        self._require_same_rules(base)
        self._action.validate(self._context, base)
        return self.stage_on(base)

    def stage_on(self, base: TableMetadata) -> StagedChange:
        """The change on `base`, without validation: `base` is validated already, or is of a new table."""
        destination = self._context.destination
        parent = base.head(destination.branch)
        added, superseded = self._added_files(base, parent)
        kept, removed = self._kept_manifests(base, parent, superseded)
        manifests = self._merged_manifests((*self._added_manifests(base, added), *kept), base)
        snapshot = self._snapshot(base, parent, manifests, added, removed)
        return StagedChange(
            start=base,
            updates=(AddSnapshot(snapshot), *_moves(base, destination, snapshot)),
            requirements=(AssertTableUUID(base.table_uuid), _unmoved(base, destination)),
            snapshot=snapshot,
        )

    def _require_same_rules(self, base: TableMetadata) -> None:
        """Raises `ValidationConflict` if the table's constraints changed after rows were checked against them."""
        rules = row_rule_properties(base.properties)
        if self._rules is None:
            self._rules = rules
        if self._change.added and rules != self._rules:
            reason = "another statement changed the constraints of the table"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)

    def finish(self, landed: Snapshot | None) -> None:
        superseded = [file.file_path for file in self._position_delete_files()]
        written = [*self._writer.written, *self._vectors.written, *superseded]
        delete_files(self._context.io, [path for path in written if path not in self._needed])

    def abandon(self) -> None:
        owned = self._change.owns_added and self._context.owns_files
        given = [file.file_path for file in self._change.added] if owned else []
        delete_files(self._context.io, [*self._writer.written, *self._vectors.written, *given])

    def _position_delete_files(self) -> list[ContentFile]:
        return [file for file in self._change.added if file.content == Content.POSITION_DELETES]

    def _added_files(
        self, base: TableMetadata, parent: Snapshot | None
    ) -> tuple[tuple[ContentFile, ...], frozenset[ContentKey]]:
        """Content files to add, and delete files that they replace; from format version 3 on position deletes become
        vectors."""
        if base.format_version < 3:
            if self._change.deleted_rows:
                raise ValueError("deletion vectors need format version 3")
            return self._change.added, frozenset()
        vectors = self._vectors.stage(base, parent)
        others = [file for file in self._change.added if file.content != Content.POSITION_DELETES]
        return (*others, *vectors.added), vectors.superseded

    def _added_manifests(self, base: TableMetadata, added: Sequence[ContentFile]) -> tuple[ManifestFile, ...]:
        # A manifest depends on the format version, which may be upgraded between attempts.
        data = tuple(file for file in added if file.content == Content.DATA)
        deletes = tuple(file for file in added if file.content != Content.DATA)
        return (*self._written_once(base, data), *self._written_once(base, deletes))

    def _written_once(self, base: TableMetadata, files: tuple[ContentFile, ...]) -> tuple[ManifestFile, ...]:
        key = base.format_version, frozenset(file.key for file in files)
        if key not in self._added:
            self._added[key] = self._writer.add(files, base, self._change.data_sequence_number)
        return self._added[key]

    def _kept_manifests(
        self, base: TableMetadata, parent: Snapshot | None, superseded: frozenset[ContentKey]
    ) -> tuple[list[ManifestFile], list[ContentFile]]:
        """The parent's manifests without the removed files, and those files, including vectors of removed data
        files."""
        listed = () if parent is None else self._context.manifests.manifests(self._context.io, parent)
        live = [manifest for manifest in listed if manifest.has_live_files]
        selection = self._change.removal.of(base)
        kept: dict[str, ManifestFile] = {}
        removed: list[ContentFile] = []
        for content in ManifestContent:
            if content == ManifestContent.DELETES and base.format_version > 2:
                data_files = frozenset(file.file_path for file in removed)
                selection = WithVectors(selection, superseded, data_files)
            paths = selection.listed()
            for manifest in (one for one in live if one.content == content):
                remaining, gone = self._without_removed(manifest, selection, paths, base)
                kept[manifest.path] = self._writer.counted(remaining, base)
                removed.extend(gone)
        missing = self._change.removal.missing(removed)
        if missing:
            reason = f"another commit removed the file {min(missing)}"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        return [kept[manifest.path] for manifest in live], removed

    def _without_removed(
        self, manifest: ManifestFile, selection: Selection, paths: frozenset[str] | None, base: TableMetadata
    ) -> tuple[ManifestFile, tuple[ContentFile, ...]]:
        """The manifest without the selected files, and those; `paths` are those that the selection has listed."""
        if not (selection.touches(manifest) and self._lists(manifest, paths, base)):
            return manifest, ()
        entries = self._context.manifests.entries(self._context.io, manifest, base)
        gone = tuple(entry.file for entry in entries if entry.is_live and selection.selects(entry.file))
        if not gone:
            return manifest, ()
        removed = frozenset(file.key for file in gone)
        key = (*_key(manifest, base), removed)
        if key not in self._kept:
            self._kept[key] = self._writer.without(manifest, entries, removed, base)
        return self._kept[key], gone

    def _lists(self, manifest: ManifestFile, paths: frozenset[str] | None, base: TableMetadata) -> bool:
        """Whether the manifest may have a file at one of `paths`; None is any path. Columns tell it of a large manifest
        for a fraction of what its entries cost."""
        if paths is None:
            return True
        columns = self._context.manifests.columns(self._context.io, manifest, base) if paths else ()
        return columns is None or any(part.is_at(paths).any() for part in columns)

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
        added: Sequence[ContentFile],
        removed: Sequence[ContentFile],
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
            summary=snapshot_summary(
                operation=self._change.operation,
                added=added,
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
        if base.format_version > 1:
            self._context.manifests.keep_list(location, tuple(as_listed(one, number) for one in manifests))
        paths = (manifest.path for manifest in manifests), (file.file_path for file in added)
        self._needed = frozenset((location, *itertools.chain(*paths)))
        return replace(snapshot, manifest_list=location)

    def _summary_properties(self) -> dict[str, str]:
        wap_id = self._context.destination.wap_id
        return {
            **dict(self._context.destination.summary),
            "engine-name": ENGINE_NAME,
            "engine-version": ENGINE_VERSION,
            **self._change.summary_properties,
            **({} if wap_id is None else {WAP_ID_PROPERTY: wap_id}),
            _COMMIT_ID: self._context.commit_id,
        }


def _require_writable(base: TableMetadata, name: str, added: Sequence[ContentFile]) -> None:
    if base.format_version == 1 and any(file.content for file in added):
        raise UnsupportedError("FORMAT_VERSION_1_ROW_LEVEL", verb="A change of single rows", name=name)


def _require_specs(base: TableMetadata, name: str, added: Sequence[ContentFile]) -> None:
    """Raises `ValidationConflict` if the spec of an added file was removed after the file had been planned."""
    missing = {file.spec_id for file in added} - base.specs_by_id().keys()
    if missing:
        reason = f"another statement removed the partition spec {min(missing)}"
        raise ValidationConflict("CONCURRENT_CHANGE", name=name, reason=reason)


def _require_branch(base: TableMetadata, context: CommitContext) -> None:
    reference = base.refs.get(context.destination.branch)
    if reference is not None and reference.type != "branch":
        raise AnalysisError("NOT_A_BRANCH", ref=context.destination.branch, name=context.name)


def _key(manifest: ManifestFile, base: TableMetadata) -> _ManifestKey:
    return base.format_version, manifest.path, manifest.first_row_id, manifest.sequence_number


def _moves(base: TableMetadata, destination: Destination, snapshot: Snapshot) -> tuple[MetadataUpdate, ...]:
    if destination.wap_id is not None:
        return ()
    reference = base.refs.get(destination.branch, SnapshotReference(snapshot.snapshot_id))
    return (SetSnapshotRef(destination.branch, replace(reference, snapshot_id=snapshot.snapshot_id)),)


def _unmoved(base: TableMetadata, destination: Destination) -> AssertRefSnapshotId:
    reference = base.refs.get(destination.branch)
    return AssertRefSnapshotId(destination.branch, None if reference is None else reference.snapshot_id)
