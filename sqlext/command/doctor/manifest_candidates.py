"""The files that a lost manifest may have listed: those that other manifests name in the history of its branch, and
those that none names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property

from sqlext.command.doctor.matching_sets import Unit
from sqlext.command.doctor.table_remains import KnownFile, TableRemains
from sqlext.command.doctor.told_entries import writes_with_gaps
from sqlext.scan.checks.manifest_checks import excluded_value
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ManifestCandidates:
    """Candidates for the lost manifests of one head, which lists `listed`; what is told of one leaves fewer for the
    others."""

    def __init__(
        self, remains: TableRemains, metadata: TableMetadata, head: Snapshot, listed: Sequence[ManifestFile]
    ) -> None:
        self._remains = remains
        self._metadata = metadata
        self._head = head
        self._listed = listed
        self._told: dict[str, tuple[ManifestEntry, ...]] = {}
        self._together: dict[str, tuple[ManifestEntry, ...]] = {}
        self._shared: Set[ContentKey] = frozenset()

    def copy(self, shared: Set[ContentKey] = frozenset()) -> ManifestCandidates:
        """Candidates of their own: what is taken of them stays among these. The files `shared` are among them even if
        they are taken here."""
        made = ManifestCandidates(self._remains, self._metadata, self._head, self._listed)
        made._told, made._together = dict(self._told), dict(self._together)
        made._shared = shared
        return made

    def take(self, manifests: Sequence[ManifestFile], entries: tuple[ManifestEntry, ...]) -> None:
        """Takes the live entries of a manifest, or of several together."""
        told = self._told if len(manifests) == 1 else self._together
        told |= {one.path: () for one in manifests} | {manifests[0].path: entries}

    def is_told(self, path: str) -> bool:
        """Whether the entries of a lost manifest have been taken."""
        return path in self._told or path in self._together

    def of_head(self, without: Collection[str]) -> list[Sequence[ManifestEntry] | None]:
        """The live entries of each of the head's manifests but those at `without`; None of one that is not told."""
        return [self._live(one) for one in self._listed if one.path not in without]

    def of_snapshot(self, snapshot: Snapshot, within: Collection[str]) -> list[Sequence[ManifestEntry] | None] | None:
        """As `of_head`, of the other manifests of a snapshot that has those at `within`; None if it has them not."""
        if snapshot is self._head:
            return self.of_head(within)
        listed = self._remains.manifests(snapshot) or ()
        others = [self._by_itself(one) for one in listed if one.path not in within]
        return others if len(others) == len(listed) - len(within) else None

    def are_read(self, snapshot: Snapshot, without: Collection[str]) -> bool:
        """Whether the manifests of a snapshot but those at `without` can be read, so that nothing of them is told."""
        listed = self._listed if snapshot is self._head else self._remains.manifests(snapshot) or ()
        return all(self._remains.entries(one) is not None for one in listed if one.path not in without)

    @cached_property
    def lineage(self) -> frozenset[int]:
        """The ids of the head and its ancestors, as far as they have not expired."""
        parents = {one.snapshot_id: one.parent_snapshot_id for one in self._metadata.snapshots}
        found = set[int]()
        id: int | None = self._head.snapshot_id
        while id is not None and id in parents and id not in found:
            found.add(id)
            id = parents[id]
        return frozenset(found)

    @cached_property
    def _of_others(self) -> frozenset[int]:
        """The ids of snapshots that are no ancestors of the head. Those before an ancestor that has expired may be."""
        ancestors = [one for one in self._metadata.snapshots if one.snapshot_id in self.lineage]
        oldest = min(ancestors, key=lambda one: one.sequence_number)
        is_whole = all(one.parent_snapshot_id is None or one.parent_snapshot_id in self.lineage for one in ancestors)
        others = (one for one in self._metadata.snapshots if one.snapshot_id not in self.lineage)
        return frozenset(one.snapshot_id for one in others if is_whole or one.sequence_number > oldest.sequence_number)

    def before(self, lost: ManifestFile) -> Set[ContentKey] | None:
        """The live files of its kind in the parent of the snapshot that wrote it, of which are all that it did not add;
        None if they are not known."""
        if not lost.existing_files_count:
            return frozenset()
        wrote = self._metadata.snapshot_or_none(lost.added_snapshot_id)
        if wrote is None:
            return None
        if wrote.parent_snapshot_id is None:
            return frozenset()
        listed = self._remains.manifests(self._metadata.snapshot_or_none(wrote.parent_snapshot_id))
        if listed is None:
            return None
        read = [self._by_itself(one) for one in listed if (one.content, one.spec_id) == (lost.content, lost.spec_id)]
        return None if None in read else {entry.file.key for live in read for entry in live or ()}

    def choices(
        self,
        lost: ManifestFile,
        pool: Sequence[ManifestEntry],
        again: Sequence[ManifestEntry],
        *,
        with_bytes: bool,
    ) -> Iterator[Sequence[Sequence[Unit]]]:
        """What sets are made of, the surest first: of files named by the id of the manifest's commit and files that
        other manifests name; of all of the pool; as writers that were killed leave whole groups of files, of all files
        of each write, unless some of a write are missing; and of those of `again` with what manifests name, since a
        commit that adds removed files writes none. The last two are told from others by their bytes."""
        commit = _commit(lost)
        if commit is not None and any(commit in entry.file.file_path for entry in pool):
            yield [[(one,)] for one in pool if _is_named(one, commit)]
        yield [[(one,)] for one in pool]
        if with_bytes:
            known = [[(one,)] for one in pool if one.snapshot_id is not None]
            writes: dict[str, Unit] = {}
            for entry in pool:
                if entry.snapshot_id is None:
                    named = _UUID.search(entry.file.file_path.rpartition("/")[2])
                    write = entry.file.file_path if named is None else named[0]
                    writes[write] = (*writes.get(write, ()), entry)
            if writes.keys().isdisjoint(writes_with_gaps(self._remains.file_names)):
                yield [*known, *([files] for files in writes.values())]
            if again:
                yield [*known, *([(one,)] for one in again)]

    def are_named(self, lost: ManifestFile, entries: Sequence[ManifestEntry]) -> bool:
        """Whether other manifests name all these files, or their own names have the id of the manifest's commit."""
        commit, known = _commit(lost), self._remains.known
        others = {key for key in (one.file.key for one in entries) if key in known and known[key].entry.snapshot_id}
        return all(one.file.key in others or (commit is not None and commit in one.file.file_path) for one in entries)

    def pool(
        self, lost: ManifestFile, paths: Collection[str], before: Set[ContentKey] | None
    ) -> Iterator[ManifestEntry]:
        """The files that may have been live in the manifest, which stands for those at `paths`, with what is known of
        their entries; `before` is as the method gives it. Raises StorageError."""
        spec, of_others = self._metadata.specs_by_id()[lost.spec_id], self._of_others
        elsewhere, may_list = self._elsewhere(lost, paths), self._may_list(lost)
        for key, known in self._remains.known.items():
            entry = known.entry
            is_own = (entry.file.content == Content.DATA) == (lost.content == ManifestContent.DATA)
            if not is_own or entry.file.spec_id != lost.spec_id or key in elsewhere or self._removals(known):
                continue
            if (entry.sequence_number or 0) > lost.sequence_number or not may_list(entry.file):
                continue
            may_be_added = entry.snapshot_id in (None, lost.added_snapshot_id) and lost.added_files_count
            may_exist = entry.snapshot_id != lost.added_snapshot_id and (before is None or key in before)
            if may_be_added or (may_exist and lost.existing_files_count and entry.snapshot_id not in of_others):
                yield replace(entry, status=EntryStatus.EXISTING)
        if lost.added_files_count or before is None:
            for file in self._remains.unnamed(lost.content, spec, self._places()):
                if file.key not in elsewhere and may_list(file):
                    yield ManifestEntry(EntryStatus.EXISTING, None, None, None, file)

    def added_again(self, lost: ManifestFile, paths: Collection[str]) -> Iterator[ManifestEntry]:
        """Files that the branch had removed before the manifest was written, whose commit may have added them again."""
        if not lost.added_files_count:
            return
        elsewhere, may_list = self._elsewhere(lost, paths), self._may_list(lost)
        for key, known in self._remains.known.items():
            file = known.entry.file
            is_own = (file.content == Content.DATA) == (lost.content == ManifestContent.DATA)
            if not is_own or file.spec_id != lost.spec_id or key in elsewhere or not may_list(file):
                continue
            if 0 < max(self._removals(known), default=0) < lost.sequence_number:
                again = replace(file, first_row_id=None)
                yield ManifestEntry(EntryStatus.EXISTING, lost.added_snapshot_id, None, None, again)

    def _removals(self, known: KnownFile) -> Sequence[int]:
        """The sequence numbers of the branch's snapshots that have removed a file since its entry was added; 0 in
        format version 1."""
        removals = (self._numbers[id] for id in known.deleted_by & self.lineage)
        return [number for number in removals if number >= (known.entry.file_sequence_number or 0)]

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        """The sequence numbers of snapshots."""
        return {one.snapshot_id: one.sequence_number for one in self._metadata.snapshots}

    def _may_list(self, lost: ManifestFile) -> Callable[[ContentFile], bool]:
        """A function: whether the manifest list's bounds, and the live data files, admit a file."""
        metadata = self._metadata
        spec = metadata.specs_by_id()[lost.spec_id]
        fields = spec.partition_type(metadata.schema(), metadata.schemas[::-1]).fields
        summaries = list(zip(fields, lost.partitions or (), strict=False))
        live = {file.file_path for file in self._data()}

        def admits(file: ContentFile) -> bool:
            if file.is_deletion_vector and file.referenced_data_file not in live:
                return False
            for (field, summary), value in zip(summaries, file.partition, strict=False):
                if value is None:
                    if not summary.contains_null:
                        return False
                elif value == value and excluded_value(field.type, [value], summary.lower_bound, summary.upper_bound):
                    return False
            return True

        return admits

    def _elsewhere(self, lost: ManifestFile, paths: Collection[str]) -> set[ContentKey]:
        """Files that are live in other manifests of the head, or were in the snapshot that wrote the manifest."""
        wrote = self._metadata.snapshot_or_none(lost.added_snapshot_id)
        others = [one for one in self._remains.manifests(wrote) or () if one.path not in paths]
        read = (*self.of_head(paths), *map(self._by_itself, others))
        return {entry.file.key for live in read for entry in live or ()} - self._shared

    def _live(self, manifest: ManifestFile) -> Sequence[ManifestEntry] | None:
        """The live entries of one of the head's manifests; None if it is lost and not told."""
        together = self._together.get(manifest.path)
        return self._by_itself(manifest) if together is None else together

    def _by_itself(self, manifest: ManifestFile) -> Sequence[ManifestEntry] | None:
        """The live entries of a manifest; None if it is lost and not told, or told only with others, which another
        snapshot may lack."""
        if manifest.path in self._told:
            return self._told[manifest.path]
        entries = self._remains.entries(manifest)
        return None if entries is None else [entry for entry in entries if entry.is_live]

    def _data(self) -> Iterator[ContentFile]:
        """The live data files, as far as they are known."""
        data = (one for one in self._listed if one.content == ManifestContent.DATA)
        return (entry.file for one in data for entry in self._live(one) or ())

    def _places(self) -> Mapping[str, tuple[int, tuple[object, ...]]]:
        """Spec id and partition of the live data files, and of those of other manifests, which deletes may name."""
        named = (known.entry.file for known in self._remains.known.values())
        files = (*(file for file in named if file.content == Content.DATA), *self._data())
        return {file.file_path: (file.spec_id, file.partition) for file in files}


def _commit(manifest: ManifestFile) -> str | None:
    """The id of the commit that wrote it, which is in its name."""
    found = _UUID.match(manifest.path.rpartition("/")[2])
    return None if found is None else found[0]


def _is_named(entry: ManifestEntry, commit: str) -> bool:
    """Whether another manifest names a candidate, with who added it, or its own name has the commit's id."""
    return entry.snapshot_id is not None or commit in entry.file.file_path
