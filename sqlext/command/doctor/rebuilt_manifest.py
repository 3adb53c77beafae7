"""A lost manifest, told from the files that it must have listed.

What its manifest list says of it, and the totals of its snapshots, tell how many files, rows and bytes it had, and of
which partitions. It is told if one set of files fits, of those that other manifests name in its history, or none does.
It is written as a new manifest of a new snapshot: its own bytes, whose number every list repeats, cannot be told, nor
which files it had removed, so that earlier snapshots stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlext.command.doctor.matching_sets import Unit, matching_sets
from sqlext.command.doctor.table_remains import TableRemains
from sqlext.command.doctor.told_entries import ToldEntries, equality_deletes_apply_alike, told_entries, with_row_ids
from sqlext.scan.checks.manifest_checks import excluded_value
from sqlext.scan.checks.totals import told_totals, totals_of
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import (
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    summarise_partitions,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_SIZE = "total-files-size"
_MOST_SETS = 200
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class RebuiltManifest:
    """The live entries of a lost manifest; without `keeps_row_ids` some of its rows get new ones."""

    manifest: ManifestFile
    entries: tuple[ManifestEntry, ...]
    keeps_row_ids: bool = True


@dataclass(frozen=True, slots=True)
class UntoldManifest:
    """A lost manifest that cannot be told, the reason, and the data files that it may have listed, which no other
    manifest names."""

    manifest: ManifestFile
    reason: str
    candidates: tuple[str, ...] = ()


def rebuilt_manifests(
    remains: TableRemains,
    metadata: TableMetadata,
    head: Snapshot,
    listed: Sequence[ManifestFile],
    lost: Collection[str],
) -> list[RebuiltManifest | UntoldManifest]:
    """What can be told of those manifests of `head`, which lists `listed`, that are at the locations `lost`. Raises
    StorageError."""
    telling = _Telling(remains, metadata, head, listed)
    # Deletes are placed by the data files that they are of.
    waiting = sorted((one for one in listed if one.path in lost), key=lambda one: one.content)
    answers: dict[str, RebuiltManifest | UntoldManifest] = {}
    progress = True
    while progress:
        progress = False
        for manifest in waiting:
            if isinstance(answers.get(manifest.path), RebuiltManifest):
                continue
            answer = answers[manifest.path] = telling.tell(manifest)
            if isinstance(answer, RebuiltManifest):
                telling.told[manifest.path] = answer
                progress = True
    return [answers[one.path] for one in listed if one.path in answers]


class _Telling:
    """The search for the files of lost manifests of one head; what is `told` of one tells more of the others."""

    def __init__(
        self, remains: TableRemains, metadata: TableMetadata, head: Snapshot, listed: Sequence[ManifestFile]
    ) -> None:
        self._remains = remains
        self._metadata = metadata
        self._head = head
        self._listed = listed
        self.told: dict[str, RebuiltManifest] = {}

    def tell(self, lost: ManifestFile) -> RebuiltManifest | UntoldManifest:
        counts = (lost.added_files_count, lost.existing_files_count, lost.added_rows_count, lost.existing_rows_count)
        if None in counts:
            return UntoldManifest(lost, "its manifest list does not count its files")
        files, rows = (sum(count or 0 for count in pair) for pair in (counts[:2], counts[2:]))
        if not files:
            return RebuiltManifest(lost, ())
        totals, pool = self._totals(lost), list(self._pool(lost))
        size = totals.get(_SIZE)
        found: list[ToldEntries] = []
        is_cut = False
        for slots in self._choices(lost, pool, by_writes=size is not None):
            matching = matching_sets(slots, (files, rows, size or 0), with_bytes=size is not None, most=_MOST_SETS)
            fitting = (self._fitting(lost, one, totals) for one in matching.sets)
            found, is_cut = [one for one in fitting if one is not None], matching.is_cut
            if len(found) == 1 and not is_cut:
                return self._rebuilt(lost, found[0], pool)
        reason = (
            "several sets of files have its counts" if found or is_cut else "no files are found that have its counts"
        )
        return UntoldManifest(lost, reason, _candidates(pool))

    def _rebuilt(
        self, lost: ManifestFile, told: ToldEntries, pool: Sequence[ManifestEntry]
    ) -> RebuiltManifest | UntoldManifest:
        others = [self._live(one) for one in self._listed if one.path != lost.path]
        known = [entry for live in others for entry in live or ()]
        if told.uncertain and (None in others or not equality_deletes_apply_alike(told, known, self._metadata)):
            reason = "the sequence numbers of its files are not told, by which equality deletes apply or not"
            return UntoldManifest(lost, reason, _candidates(pool))
        entries, keeps_row_ids = with_row_ids(lost, told, self._metadata.specs_by_id()[lost.spec_id])
        return RebuiltManifest(lost, entries, keeps_row_ids)

    # what it must have been

    def _totals(self, lost: ManifestFile) -> Mapping[str, int]:
        """The totals of its live files, by those of a snapshot whose other manifests are known; none if no snapshot
        tells them."""
        for snapshot in (self._head, *self._metadata.snapshots[::-1]):
            listed = self._listed if snapshot is self._head else self._remains.manifests(snapshot) or ()
            others = [self._live(one) for one in listed if one.path != lost.path]
            told = told_totals(snapshot)
            if len(others) < len(listed) and None not in others and _SIZE in told:
                known = totals_of(entry.file for live in others for entry in live or ())
                return {name: count - known[name] for name, count in told.items()}
        return {}

    def _fitting(
        self, lost: ManifestFile, files: Sequence[ManifestEntry], totals: Mapping[str, int]
    ) -> ToldEntries | None:
        """The entries of a set of files with the right sums; None if it fits not in other ways."""
        counted = totals_of(entry.file for entry in files)
        if any(counted[name] != count for name, count in totals.items()):
            return None
        deleted = [entry.file.referenced_data_file for entry in files if entry.file.is_deletion_vector]
        if len(set(deleted)) < len(deleted):
            return None
        if not lost.deleted_files_count and lost.partitions:
            # Summaries are also of files that the manifest says are removed.
            metadata, spec = self._metadata, self._metadata.specs_by_id()[lost.spec_id]
            partitions = (entry.file.partition for entry in files)
            made = summarise_partitions(partitions, spec, metadata.schema(), metadata.schemas[::-1])
            bounds = [(one.contains_null, one.lower_bound, one.upper_bound) for one in lost.partitions]
            if made is not None and bounds != [(one.contains_null, one.lower_bound, one.upper_bound) for one in made]:
                return None
        snapshot = self._metadata.snapshot_or_none(lost.added_snapshot_id)
        return told_entries(lost, files, None if snapshot is None else snapshot.operation)

    # what it may have had

    def _choices(
        self, lost: ManifestFile, pool: Sequence[ManifestEntry], *, by_writes: bool
    ) -> Iterator[Sequence[Sequence[Unit]]]:
        """What sets are made of, the surest first: of files named by the id of the manifest's commit and files that
        other manifests name; of all; and, as writers that were killed leave whole groups of files, of all files of each
        write, which are told from others by their bytes."""
        commit = _UUID.match(lost.path.rpartition("/")[2])
        if commit is not None and any(commit[0] in entry.file.file_path for entry in pool):
            known = self._remains.known
            yield [[(one,)] for one in pool if commit[0] in one.file.file_path or one.file.key in known]
        yield [[(one,)] for one in pool]
        if by_writes:
            writes: dict[str, list[ManifestEntry]] = {}
            for entry in pool:
                named = _UUID.search(entry.file.file_path.rpartition("/")[2])
                writes.setdefault(entry.file.file_path if named is None else named[0], []).append(entry)
            yield [[tuple(files)] for files in writes.values()]

    def _pool(self, lost: ManifestFile) -> Iterator[ManifestEntry]:
        """The files that may have been live in the manifest, with what is known of their entries."""
        metadata, spec = self._metadata, self._metadata.specs_by_id()[lost.spec_id]
        elsewhere, before, may_list = self._elsewhere(lost), self._before(lost), self._may_list(lost)
        snapshots = {one.snapshot_id for one in metadata.snapshots}
        for key, known in self._remains.known.items():
            entry = known.entry
            is_own = (entry.file.content == Content.DATA) == (lost.content == ManifestContent.DATA)
            if not is_own or entry.file.spec_id != lost.spec_id or key in elsewhere or known.deleted_by & self._lineage:
                continue
            if (entry.sequence_number or 0) > lost.sequence_number or not may_list(entry.file):
                continue
            if entry.snapshot_id is not None and entry.snapshot_id != lost.added_snapshot_id:
                is_of_another = entry.snapshot_id in snapshots and entry.snapshot_id not in self._lineage
                if not lost.existing_files_count or is_of_another or (before is not None and key not in before):
                    continue
            elif entry.snapshot_id is not None and not lost.added_files_count:
                continue
            yield replace(entry, status=EntryStatus.EXISTING)
        if lost.added_files_count or before is None:
            for file in self._remains.unnamed(lost.content, spec, self._places()):
                if file.key not in elsewhere and may_list(file):
                    yield ManifestEntry(EntryStatus.EXISTING, None, None, None, file)

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

    def _elsewhere(self, lost: ManifestFile) -> set[ContentKey]:
        """Files that are live in other manifests of the head, or were in the snapshot that wrote the manifest."""
        wrote = self._metadata.snapshot_or_none(lost.added_snapshot_id)
        others = (*self._listed, *(self._remains.manifests(wrote) or ()))
        return {entry.file.key for one in others if one.path != lost.path for entry in self._live(one) or ()}

    def _before(self, lost: ManifestFile) -> set[ContentKey] | None:
        """The live files of its kind in the parent of the snapshot that wrote it, of which are all that it did not add;
        None if they are not known."""
        if not lost.existing_files_count:
            return set()
        wrote = self._metadata.snapshot_or_none(lost.added_snapshot_id)
        if wrote is None:
            return None
        if wrote.parent_snapshot_id is None:
            return set()
        listed = self._remains.manifests(self._metadata.snapshot_or_none(wrote.parent_snapshot_id))
        if listed is None:
            return None
        read = [self._live(one) for one in listed if (one.content, one.spec_id) == (lost.content, lost.spec_id)]
        return None if None in read else {entry.file.key for live in read for entry in live or ()}

    def _live(self, manifest: ManifestFile) -> Sequence[ManifestEntry] | None:
        """The live entries of a manifest; None if it is lost and not told."""
        if manifest.path in self.told:
            return self.told[manifest.path].entries
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

    @cached_property
    def _lineage(self) -> frozenset[int]:
        """The head and its ancestors, as far as they have not expired."""
        parents = {one.snapshot_id: one.parent_snapshot_id for one in self._metadata.snapshots}
        found = set[int]()
        id: int | None = self._head.snapshot_id
        while id is not None and id in parents and id not in found:
            found.add(id)
            id = parents[id]
        return frozenset(found)


def _candidates(pool: Iterable[ManifestEntry]) -> tuple[str, ...]:
    """Data files that no manifest names, as their entries do not say who added them."""
    return tuple(
        entry.file.file_path for entry in pool if entry.snapshot_id is None and entry.file.content == Content.DATA
    )
