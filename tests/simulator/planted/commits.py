"""Bugs of commits that the simulator must find, each as a patch of one function of the code under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from pyroaring import BitMap64

from simulator.store import Store
from simulator.world import ProcessIO
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.metadata_file import MetadataFolder
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.catalog.warehouse_commit import WarehouseCommits
from sqlext.commit.actions.batch_commit import _Staging as BatchStaging
from sqlext.commit.actions.compaction import _RewriteCommit
from sqlext.commit.actions.recorded_action import _Staging as RecordedStaging
from sqlext.commit.group.group import _Group
from sqlext.commit.group.small_files import AppendedFiles, merged
from sqlext.commit.loop.conflict import History
from sqlext.commit.loop.row_conflicts import RowConflicts
from sqlext.commit.loop.transaction import _Commit
from sqlext.commit.snapshot import rewritten_manifests
from sqlext.commit.snapshot.deletion_vectors import VectorProduction
from sqlext.commit.snapshot.manifest_writer import ManifestWriter, manifest_key
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.commit.snapshot.rewritten_manifests import ManifestRewriting
from sqlext.commit.snapshot.snapshot_production import SnapshotProduction
from sqlext.commit.snapshot.snapshot_writer import SnapshotWriter
from sqlext.errors import CommitConflict, CommitStateUnknown, StorageError
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.manifests.row_lineage import assign_first_row_ids
from sqlext.spec.manifests.row_origins import RowOrigins
from sqlext.spec.metadata.idempotent_batch import BatchRun

Patch = AbstractContextManager[Any]


def _nothing(*_: Any, **__: Any) -> None:
    """A check that is not made."""


def _lost_race_counts_as_landed() -> Patch:
    commit = WarehouseCatalog.commit

    def planted(self: Any, identifier: Any, base: Any, updated: Any) -> Any:
        try:
            return commit(self, identifier, base, updated)
        except CommitConflict:
            return LoadedTable(identifier, updated, "file:///nowhere/v1.metadata.json")

    return patch.object(WarehouseCatalog, "commit", planted)


def _deletes_when_the_outcome_is_unknown() -> Patch:
    commit = WarehouseCatalog.commit

    def planted(self: Any, identifier: Any, base: Any, updated: Any) -> Any:
        try:
            return commit(self, identifier, base, updated)
        except CommitStateUnknown:
            raise StorageError("STORAGE_FAILURE", operation="Writing", path="it", reason="no answer") from None

    return patch.object(WarehouseCatalog, "commit", planted)


def _changelogs_of_lost_attempts_stay() -> Patch:
    return patch.object(RecordedStaging, "_discard", _nothing)


def _a_changelog_goes_though_its_snapshot_lands() -> Patch:
    discard = RecordedStaging._discard
    return patch.object(RecordedStaging, "_discard", lambda self, landed: discard(self, {}))


def _a_changelog_is_of_the_first_attempt() -> Patch:
    stage = RecordedStaging.stage

    def planted(self: Any, base: Any) -> Any:
        record = self._recorder.record
        with patch.object(self._recorder, "record", lambda *given: (self._records or [record(*given)])[0]):
            return stage(self, base)

    return patch.object(RecordedStaging, "stage", planted)


def token_is_not_looked_for() -> Patch:
    return patch("sqlext.catalog.sent_changes.is_in", lambda change, metadata: False)


def _what_is_not_seen_has_not_landed() -> Patch:
    return patch("sqlext.catalog.sent_changes.is_missing_from", lambda change, current, io: True)


def validates_the_first_attempt_only() -> Patch:
    stage = SnapshotProduction.stage

    def planted(self: Any, base: Any) -> Any:
        return stage(self, base) if self._snapshots._attempts == 0 else self.stage_on(base)

    return patch.object(SnapshotProduction, "stage", planted)


def _retries_on_the_old_metadata() -> Patch:
    refreshed = _Commit._refreshed

    def planted(self: Any, base: Any) -> Any:
        current = refreshed(self, base)
        if base is None or current is None:
            return current
        return LoadedTable(base.identifier, base.metadata, current.metadata_location)

    return patch.object(_Commit, "_refreshed", planted)


def _keeps_the_manifests_of_the_first_base() -> Patch:
    kept = SnapshotProduction._kept_manifests

    def planted(self: Any, base: Any, parent: Any, superseded: Any) -> Any:
        if not hasattr(self, "_planted_parent"):
            self._planted_parent = parent
        return kept(self, base, self._planted_parent, superseded)

    return patch.object(SnapshotProduction, "_kept_manifests", planted)


def _names_the_first_parent() -> Patch:
    snapshot = SnapshotWriter._snapshot

    def planted(self: Any, *given: Any) -> Any:
        made = snapshot(self, *given)
        if not hasattr(self, "_planted_parent"):
            self._planted_parent = made.parent_snapshot_id
        return replace(made, parent_snapshot_id=self._planted_parent)

    return patch.object(SnapshotWriter, "_snapshot", planted)


def _reuses_the_first_sequence_number() -> Patch:
    """In manifests, which have none until they land."""
    write = ManifestWriter.write

    def planted(self: Any, entries: Any, metadata: Any, *given: Any) -> Any:
        made = write(self, entries, metadata, *given)
        number = metadata.last_sequence_number + 1
        return replace(made, sequence_number=number, min_sequence_number=min(number, made.min_sequence_number))

    return patch.object(ManifestWriter, "write", planted)


def _deletes_manifests_that_landed() -> Patch:
    def planted(self: Any, landed: Any) -> None:
        delete_files(self._context.io, self._writer.written)

    return patch.object(SnapshotProduction, "finish", planted)


def _leaves_the_files_of_a_refused_commit() -> Patch:
    return patch.object(SnapshotProduction, "abandon", _nothing)


def _merges_what_another_commit_listed() -> Patch:
    merged = SnapshotProduction._merged_group

    def planted(self: Any, group: Any, base: Any) -> Any:
        known = next((one for key, one in self._merged.items() if key[0] == _first_key(group, base)), None)
        return known or merged(self, group, base)

    return patch.object(SnapshotProduction, "_merged_group", planted)


def _first_key(group: Any, base: Any) -> Any:
    return manifest_key(group[0], base)


def _merging_brings_deleted_files_back() -> Patch:
    merge = ManifestWriter.merge

    def planted(self: Any, manifests: Any, metadata: Any) -> Any:
        entries = self.encoded_entries

        def revived(manifests: Any, base: Any) -> Any:
            return [one if one.is_live else one.existing for one in entries(manifests, base)]

        with patch.object(self, "encoded_entries", revived):
            return merge(self, manifests, metadata)

    return patch.object(ManifestWriter, "merge", planted)


def _rewrites_the_manifests_of_the_first_attempt() -> Patch:
    of = ManifestRewriting.of

    def planted(self: Any, *given: Any) -> Any:
        if not hasattr(self, "_planted_rewrite"):
            self._planted_rewrite = of(self, *given)
        return self._planted_rewrite

    return patch.object(ManifestRewriting, "of", planted)


def _rewrites_manifests_without(**numbers: None) -> Patch:
    def planted(entries: Any, *given: Any) -> Any:
        return parts([replace(one, **numbers) for one in entries], *given)

    parts = rewritten_manifests.divided
    return patch.object(rewritten_manifests, "divided", planted)


def _forgets_rows_that_were_deleted_before() -> Patch:
    return patch("sqlext.commit.snapshot.deletion_vectors.deleted_positions", lambda *given: {})


def _leaves_the_vector_that_was_replaced() -> Patch:
    stage = VectorProduction.stage

    def planted(self: Any, *given: Any) -> Any:
        return replace(stage(self, *given), superseded=frozenset())

    return patch.object(VectorProduction, "stage", planted)


def _gives_row_ids_twice() -> Patch:
    def planted(manifests: Any, next_row_id: int) -> Any:
        return assign_first_row_ids(manifests, max(0, next_row_id - 1))

    return patch("sqlext.commit.snapshot.snapshot_writer.assign_first_row_ids", planted)


def _totals_of_the_first_base() -> Patch:
    snapshot = SnapshotWriter._snapshot

    def planted(self: Any, *given: Any) -> Any:
        made = snapshot(self, *given)
        if not hasattr(self, "_planted_summary"):
            self._planted_summary = made.summary
        return replace(made, summary=self._planted_summary)

    return patch.object(SnapshotWriter, "_snapshot", planted)


def _who_compress_race_for_another_name() -> Patch:
    create = MetadataFolder.create

    def planted(self: Any, number: int, data: bytes, *, compressed: bool, confirm: Any = None) -> Any:
        own = b'"write.metadata.compression-codec":"gzip"' in data
        return create(self, number, data, compressed=own, confirm=confirm)

    return patch.object(MetadataFolder, "create", planted)


def _lands_wherever_the_folder_is_by_now() -> Patch:
    create = Store.create

    def planted(self: Any, location: str, data: bytes, *, folder: int, by: Any) -> None:
        create(self, location, data, folder=self.folder_for(location, make_folders=False), by=by)

    return patch.object(Store, "create", planted)


def _the_hint_makes_its_folder() -> Patch:
    def planted(self: Any, location: str, data: bytes, *, confirm: Any = None) -> None:
        def effect() -> None:
            self._store.replace(location, data, folder=self._store.folder_for(location, make_folders=True))

        self._step("replace", location, effect)

    return patch.object(ProcessIO, "replace", planted)


def _the_hint_goes_to_whatever_table_is_there() -> Patch:
    replace_file = ProcessIO.replace
    return patch.object(
        ProcessIO, "replace", lambda self, location, data, confirm=None: replace_file(self, location, data)
    )


def _trims_one_version_too_many() -> Patch:
    trim = MetadataFolder.trim
    return patch.object(MetadataFolder, "trim", lambda self, oldest, is_own: trim(self, oldest + 1, is_own))


def _takes_a_gap_for_the_end() -> Patch:
    return patch.object(WarehouseCommits, "_require_in_history", _nothing)


def _a_group_keeps_the_sequence_numbers_of_its_first_attempt() -> Patch:
    def planted(manifest: Any, base: Any) -> Any:
        return base.format_version, manifest.path, manifest.first_row_id

    return patch("sqlext.commit.snapshot.snapshot_production.manifest_key", planted)


def _a_group_takes_the_failure_of_one_for_all() -> Patch:
    def planted(self: Any) -> None:
        self.abandon()

    return patch.object(_Group, "_abandon_failed", planted)


def _merged_rows_come_twice() -> Patch:
    def planted(small: Any, context: Any, base: Any, files: Any, own: Any) -> AppendedFiles:
        made = merged(small, context, base, files, own)
        return replace(made, files=(*made.files, *made.replaced[:1]), replaced=made.replaced[1:])

    return patch("sqlext.commit.group.group.merged", planted)


def _merged_files_go_when_the_outcome_is_unknown() -> Patch:
    abandon_failed = _Group._abandon_failed

    def planted(self: Any) -> None:
        abandon_failed(self)
        for production in self._productions.values():
            production.appended.take_back(self._context)

    return patch.object(_Group, "_abandon_failed", planted)


def _compacted_rows_are_new() -> Patch:
    """Deletes by key that landed meanwhile miss them."""
    add = ManifestWriter.add

    def planted(self: Any, files: Any, metadata: Any, data_sequence_number: Any = None) -> Any:
        return add(self, files, metadata)

    return patch.object(ManifestWriter, "add", planted)


def _a_compaction_drops_all_deletes() -> Patch:
    def planted(self: Any, context: Any, base: Any, head: Any) -> Any:
        for manifest in context.manifests.manifests(context.io, head):
            if manifest.content == ManifestContent.DELETES:
                for entry in context.manifests.live_entries(context.io, manifest, base):
                    yield entry.file.key

    return patch.object(_RewriteCommit, "_dead", planted)


def _deletes_the_next_row() -> Patch:
    moved = RowOrigins.moved

    def planted(self: Any, read: Any, deleted: Any) -> Any:
        return moved(self, read, {path: BitMap64(at + 1 for at in positions) for path, positions in deleted.items()})

    return patch.object(RowOrigins, "moved", planted)


class _AnyRun(BatchRun):
    """A run that does not ask whether it is the first."""

    def require_first(self, metadata: Any, name: str) -> None:
        """A check that is not made."""


def _a_batch_is_looked_for_before_its_commit_alone() -> Patch:
    stage = BatchStaging.stage

    def planted(self: Any, base: Any) -> Any:
        self._run = _AnyRun(self._run.batch, self._run.run, self._run.at_ms)
        return stage(self, base)

    return patch.object(BatchStaging, "stage", planted)


BUGS: Mapping[str, Callable[[], Patch]] = {
    "changelogs of lost attempts stay": _changelogs_of_lost_attempts_stay,
    "a changelog goes though its snapshot lands": _a_changelog_goes_though_its_snapshot_lands,
    "a changelog is that of the first attempt": _a_changelog_is_of_the_first_attempt,
    "a batch is looked for before its commit alone": _a_batch_is_looked_for_before_its_commit_alone,
    "a lost race counts as landed": _lost_race_counts_as_landed,
    "files are deleted when the outcome is unknown": _deletes_when_the_outcome_is_unknown,
    "the token of a commit without an answer is not looked for": token_is_not_looked_for,
    "what newer metadata do not show has not landed": _what_is_not_seen_has_not_landed,
    "a retry is not validated": validates_the_first_attempt_only,
    "a retry goes on from the old metadata": _retries_on_the_old_metadata,
    "a retry keeps the manifests of its first base": _keeps_the_manifests_of_the_first_base,
    "a retry names its first parent": _names_the_first_parent,
    "a retry reuses the sequence number of its first attempt": _reuses_the_first_sequence_number,
    "a retry tells the totals of its first attempt": _totals_of_the_first_base,
    "manifests that landed are deleted": _deletes_manifests_that_landed,
    "the files of a refused commit are left": _leaves_the_files_of_a_refused_commit,
    "a retry takes a merged manifest for another group": _merges_what_another_commit_listed,
    "merging brings deleted files back": _merging_brings_deleted_files_back,
    "a retry rewrites the manifests of its first base": _rewrites_the_manifests_of_the_first_attempt,
    "rewritten manifests lack who added the files": lambda: _rewrites_manifests_without(snapshot_id=None),
    "rewritten manifests lack when files were added": lambda: _rewrites_manifests_without(file_sequence_number=None),
    "a new deletion vector lacks what was deleted before": _forgets_rows_that_were_deleted_before,
    "a deletion vector that was replaced stays": _leaves_the_vector_that_was_replaced,
    "row ids are given twice": _gives_row_ids_twice,
    "new rows are not noticed": lambda: patch.object(History, "require_no_new_rows", _nothing),
    "rows that another commit changed are not noticed": lambda: patch.object(
        RowConflicts, "require_no_changed_rows", _nothing
    ),
    "a key that another commit brought is not noticed": lambda: patch.object(
        RowConflicts, "require_no_added_keys", _nothing
    ),
    "new deletes on a rewritten file are not noticed": lambda: patch.object(
        History, "require_no_new_deletes", _nothing
    ),
    "new positions in a compacted file are not noticed": lambda: patch.object(
        History, "may_have_new_position_deletes", lambda *given: False
    ),
    "new positions in a compacted file are those of another row": _deletes_the_next_row,
    "compacted rows are as new as their commit": _compacted_rows_are_new,
    "a compaction drops deletes that older files need": _a_compaction_drops_all_deletes,
    "two spellings of one version": _who_compress_race_for_another_name,
    "a commit lands in a table made anew": _lands_wherever_the_folder_is_by_now,
    "a hint makes the folder of a dropped table": _the_hint_makes_its_folder,
    "a hint goes to another table of the name": _the_hint_goes_to_whatever_table_is_there,
    "one version too many is trimmed": _trims_one_version_too_many,
    "a version in a gap counts as landed": _takes_a_gap_for_the_end,
    "a group keeps the sequence numbers of its first attempt": _a_group_keeps_the_sequence_numbers_of_its_first_attempt,
    "a group deletes the files of all members with those of one that failed": _a_group_takes_the_failure_of_one_for_all,
    "rows of merged files are in the table twice": _merged_rows_come_twice,
    "merged files are deleted when the outcome is unknown": _merged_files_go_when_the_outcome_is_unknown,
    "files whose rows have landed in a merged one are left": lambda: patch.object(
        AppendedFiles, "keep_written", _nothing
    ),
}
"""By what is wrong."""
