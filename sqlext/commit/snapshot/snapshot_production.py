"""From changed files to a staged snapshot: manifests, manifest list and summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.snapshot.deletion_vectors import DeletedRows, VectorProduction
from sqlext.commit.snapshot.manifest_writer import ManifestKey, manifest_key, merge_groups, rewrite_groups
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.commit.snapshot.removal import Removal, RemoveNothing, Selection, WithVectors
from sqlext.commit.snapshot.snapshot_writer import SnapshotWriter, require_branch
from sqlext.errors import StaleRead, UnsupportedError, ValidationConflict
from sqlext.spec.constraint import row_rule_properties
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class FileChange:
    """The files that a snapshot adds and removes; `operation` is append, replace, overwrite or delete.

    `deleted_rows`, by path of the data file, become deletion vectors (format version 3), as do position-delete files in
    `added` that were written before the table's upgrade.

    With `owns_added` a failed commit deletes the added files. Any commit deletes the files `left_out`, which an attempt
    does not add since others have changed what they hold. Data files get `data_sequence_number`, or with None the
    snapshot's; a number is given if they hold rows of other files.
    """

    operation: str
    added: tuple[ContentFile, ...] = ()
    removal: Removal = field(default_factory=RemoveNothing)
    deleted_rows: Mapping[str, DeletedRows] = field(default_factory=dict)
    summary_properties: Mapping[str, str] = field(default_factory=dict)
    owns_added: bool = True
    data_sequence_number: int | None = None
    left_out: tuple[ContentFile, ...] = ()


class SnapshotAction(Protocol):
    """An action that makes one snapshot."""

    def change(self) -> FileChange:
        """The files to add and remove; after `validate` those for that base."""

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
        self._snapshots = SnapshotWriter(context, makes_table=makes_table)
        self._writer = self._snapshots.manifests
        self._vectors = VectorProduction(context)
        self._given = {file.file_path: file for file in self._change.added}
        self._added: dict[tuple[int, int | None, frozenset[ContentKey]], tuple[ManifestFile, ...]] = {}
        self._kept: dict[tuple[tuple[ManifestKey, ...], frozenset[ContentKey]], ManifestFile] = {}
        self._merged: dict[tuple[ManifestKey, ...], ManifestFile] = {}
        planned_on = context.planned_on
        self._rules = None if planned_on is None else row_rule_properties(planned_on.properties)
        self._specs = None if planned_on is None else planned_on.specs_by_id()

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a snapshot needs a table")
        _require_writable(base, self._context.name, self._change.added)
        self._require_same_specs(base)
        require_branch(base, self._context)
        self._require_same_rules(base)
        self._action.validate(self._context, base)
        self._change = self._action.change()
        self._given.update((file.file_path, file) for file in self._change.added)
        return self.stage_on(base)

    def stage_on(self, base: TableMetadata) -> StagedChange:
        """The change on `base`, without validation: `base` is validated already, or is of a new table."""
        parent = base.head(self._context.destination.branch)
        added, superseded = self._added_files(base, parent)
        kept, removed = self._kept_manifests(base, parent, superseded)
        return self._snapshots.stage(
            base,
            self._merged_manifests((*self._added_manifests(base, added), *kept), base),
            operation=self._change.operation,
            added=added,
            removed=removed,
            summary_properties=self._change.summary_properties,
        )

    def _require_same_specs(self, base: TableMetadata) -> None:
        """Raises `ValidationConflict` if a partition spec was removed after files of it were written; another one may
        have its id by now."""
        specs = base.specs_by_id()
        if self._specs is None:
            self._specs = specs
        for spec_id in {file.spec_id for file in self._change.added}:
            if spec_id not in specs or specs[spec_id] != self._specs.get(spec_id):
                reason = f"another statement removed the partition spec {spec_id}"
                raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)

    def _require_same_rules(self, base: TableMetadata) -> None:
        """Raises `ValidationConflict` if the table's constraints changed after rows were checked against them."""
        rules = row_rule_properties(base.properties)
        if self._rules is None:
            self._rules = rules
        if self._change.added and rules != self._rules:
            reason = "another statement changed the constraints of the table"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)

    def finish(self, landed: Snapshot | None) -> None:
        superseded = [path for path, file in self._given.items() if file.content == Content.POSITION_DELETES]
        left_out = [file.file_path for file in self._change.left_out]
        self._snapshots.delete_unneeded((*self._vectors.written, *superseded, *left_out))

    def abandon(self) -> None:
        owned = self._change.owns_added and self._context.owns_files
        # An attempt that failed in `validate` may have written files.
        now = self._action.change()
        given = {*self._given, *(file.file_path for file in (*now.added, *now.left_out))} if owned else ()
        delete_files(self._context.io, [*self._writer.written, *self._vectors.written, *given])

    def _added_files(
        self, base: TableMetadata, parent: Snapshot | None
    ) -> tuple[tuple[ContentFile, ...], frozenset[ContentKey]]:
        """Content files to add, and delete files that they replace; from format version 3 on position deletes become
        vectors."""
        if base.format_version < 3:
            if self._change.deleted_rows:
                raise ValueError("deletion vectors need format version 3")
            return self._change.added, frozenset()
        old_format = [file for file in self._change.added if file.content == Content.POSITION_DELETES]
        vectors = self._vectors.stage(base, parent, self._change.deleted_rows, old_format)
        others = [file for file in self._change.added if file.content != Content.POSITION_DELETES]
        return (*others, *vectors.added), vectors.superseded

    def _added_manifests(self, base: TableMetadata, added: Sequence[ContentFile]) -> tuple[ManifestFile, ...]:
        # A manifest depends on the format version and the sequence number, which may change between attempts.
        data = tuple(file for file in added if file.content == Content.DATA)
        deletes = tuple(file for file in added if file.content != Content.DATA)
        return (*self._written_once(base, data), *self._written_once(base, deletes))

    def _written_once(self, base: TableMetadata, files: tuple[ContentFile, ...]) -> tuple[ManifestFile, ...]:
        number = self._change.data_sequence_number
        key = base.format_version, number, frozenset(file.key for file in files)
        if key not in self._added:
            self._added[key] = self._writer.add(files, base, number)
        return self._added[key]

    def _kept_manifests(
        self, base: TableMetadata, parent: Snapshot | None, superseded: frozenset[ContentKey]
    ) -> tuple[list[ManifestFile], list[ContentFile]]:
        """The parent's manifests without the removed files, and those files, including vectors of removed data
        files. Of manifests that lose files, those of one group are rewritten as one."""
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
            gone: dict[str, frozenset[ContentKey]] = {}
            for manifest in (one for one in live if one.content == content):
                files = self._removed_from(manifest, selection, paths, base)
                removed.extend(files)
                if files:
                    gone[manifest.path] = frozenset(file.key for file in files)
                else:
                    kept[manifest.path] = self._writer.counted(manifest, base)
            for group in rewrite_groups([one for one in live if one.path in gone], base):
                keys = frozenset[ContentKey]().union(*(gone[one.path] for one in group))
                kept[group[0].path] = self._writer.counted(self._without(group, keys, base), base)
        missing = self._change.removal.missing(removed)
        if missing:
            reason = f"another commit removed the file {min(missing)}"
            raise StaleRead("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        return [kept[manifest.path] for manifest in live if manifest.path in kept], removed

    def _removed_from(
        self, manifest: ManifestFile, selection: Selection, paths: frozenset[str] | None, base: TableMetadata
    ) -> tuple[ContentFile, ...]:
        """The selected files of a manifest; `paths` are those that the selection has listed."""
        if not selection.touches(manifest):
            return ()
        found = self._listed_entries(manifest, paths, base)
        return tuple(entry.file for entry in found if entry.is_live and selection.selects(entry.file))

    def _without(
        self, group: tuple[ManifestFile, ...], removed: frozenset[ContentKey], base: TableMetadata
    ) -> ManifestFile:
        key = tuple(manifest_key(manifest, base) for manifest in group), removed
        if key not in self._kept:
            self._kept[key] = self._writer.without(group, removed, base)
        return self._kept[key]

    def _listed_entries(
        self, manifest: ManifestFile, paths: frozenset[str] | None, base: TableMetadata
    ) -> Sequence[ManifestEntry]:
        """The entries of a manifest whose files are at one of `paths`, and perhaps others; None is any path. Columns
        tell them of a large manifest for a fraction of what its entries cost."""
        io, manifests = self._context.io, self._context.manifests
        if paths is None:
            return manifests.entries(io, manifest, base)
        columns = manifests.columns(io, manifest, base) if paths else ()
        if columns is None:
            return manifests.entries(io, manifest, base)
        return [entry for part in columns for entry in part.entries(np.flatnonzero(part.is_at(paths)).tolist())]

    def _merged_manifests(self, manifests: Sequence[ManifestFile], base: TableMetadata) -> list[ManifestFile]:
        return [
            group[0] if len(group) == 1 else self._merged_group(group, base) for group in merge_groups(manifests, base)
        ]

    def _merged_group(self, group: tuple[ManifestFile, ...], base: TableMetadata) -> ManifestFile:
        key = tuple(manifest_key(manifest, base) for manifest in group)
        if key not in self._merged:
            self._merged[key] = self._writer.merge(group, base)
        return self._merged[key]


def _require_writable(base: TableMetadata, name: str, added: Sequence[ContentFile]) -> None:
    if base.format_version == 1 and any(file.content for file in added):
        raise UnsupportedError("FORMAT_VERSION_1_ROW_LEVEL", verb="A change of single rows", name=name)
