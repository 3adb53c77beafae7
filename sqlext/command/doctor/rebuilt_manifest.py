"""A lost manifest, told from the files that it must have listed.

What its manifest list says of it, and the totals of its snapshots, tell how many files, rows and bytes it had, and of
which partitions. It is told if one set of files fits, of those that other manifests name in its history, or none does.
It is written as a new manifest of a new snapshot: its own bytes, whose number every list repeats, cannot be told, nor
which files it had removed, so that earlier snapshots stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
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
_NO_SNAPSHOT = -1
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class RebuiltManifest:
    """The live entries of lost manifests, of several if they are told only together. Without `keeps_row_ids` some of
    the rows get new ids, without `keeps_numbers` some files sequence numbers that say as much to all deletes."""

    manifests: tuple[ManifestFile, ...]
    entries: tuple[ManifestEntry, ...]
    keeps_row_ids: bool = True
    keeps_numbers: bool = True


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
    wrong_totals: Collection[int],
) -> list[RebuiltManifest | UntoldManifest]:
    """What can be told of those manifests of `head`, which lists `listed`, that are at the locations `lost`. Totals are
    not relied on if there are snapshots in its history whose totals are wrong, which `wrong_totals` are. Raises
    StorageError."""
    telling = _Telling(remains, metadata, head, listed, wrong_totals)
    # Deletes are placed by the data files that they are of.
    waiting = sorted((one for one in listed if one.path in lost), key=lambda one: one.content)
    rebuilt: list[RebuiltManifest] = []
    untold: dict[str, UntoldManifest] = {}
    tried: Sequence[ManifestFile] = ()
    while waiting != tried:
        tried = waiting
        alone = [(one,) for one in waiting]
        for group in (*alone, *(group for group in _alike(waiting) if len(group) > 1)):
            if not telling.told.isdisjoint(one.path for one in group):
                continue
            answer = telling.tell(group)
            if isinstance(answer, RebuiltManifest):
                rebuilt.append(answer)
            elif len(group) == 1:
                untold[group[0].path] = answer
        waiting = [one for one in waiting if one.path not in telling.told]
    return [*rebuilt, *(untold[one.path] for one in waiting)]


def _alike(manifests: Iterable[ManifestFile]) -> Iterable[tuple[ManifestFile, ...]]:
    """Those of one content and spec together."""
    groups: dict[tuple[ManifestContent, int], tuple[ManifestFile, ...]] = {}
    for one in manifests:
        groups[one.content, one.spec_id] = (*groups.get((one.content, one.spec_id), ()), one)
    return groups.values()


def _as_one(manifests: Sequence[ManifestFile]) -> ManifestFile:
    """What is known of all files of several manifests, as if a later snapshot of no known id had merged them. Their
    counts must be known."""
    if len(manifests) == 1:
        return manifests[0]
    first_ids = [one.first_row_id for one in manifests if one.first_row_id is not None]
    return replace(
        manifests[0],
        sequence_number=max(one.sequence_number for one in manifests) + 1,
        min_sequence_number=min(one.min_sequence_number for one in manifests),
        added_snapshot_id=_NO_SNAPSHOT,
        added_files_count=0,
        added_rows_count=0,
        existing_files_count=sum((one.added_files_count or 0) + (one.existing_files_count or 0) for one in manifests),
        existing_rows_count=sum((one.added_rows_count or 0) + (one.existing_rows_count or 0) for one in manifests),
        deleted_files_count=sum(one.deleted_files_count or 0 for one in manifests),
        partitions=None,
        first_row_id=min(first_ids, default=None),
    )


class _Telling:
    """The search for the files of lost manifests of one head; what is told of one tells more of the others."""

    def __init__(
        self,
        remains: TableRemains,
        metadata: TableMetadata,
        head: Snapshot,
        listed: Sequence[ManifestFile],
        wrong_totals: Collection[int],
    ) -> None:
        self._wrong_totals = wrong_totals
        self._remains = remains
        self._metadata = metadata
        self._head = head
        self._listed = listed
        self._told: dict[str, tuple[ManifestEntry, ...]] = {}

    @property
    def told(self) -> KeysView[str]:
        """The locations of manifests that are told."""
        return self._told.keys()

    def tell(self, manifests: Sequence[ManifestFile]) -> RebuiltManifest | UntoldManifest:
        """Tells a manifest, or all files of several of one content and spec."""
        if any(count is None for one in manifests for count in _counts(one)):
            return UntoldManifest(manifests[0], "its manifest list does not count its files")
        lost, paths = _as_one(manifests), frozenset(one.path for one in manifests)
        answer = self._told_as_one(lost, paths)
        if isinstance(answer, UntoldManifest):
            return answer
        newest = max(manifests, key=lambda one: one.sequence_number).added_snapshot_id
        entries = tuple(
            replace(one, snapshot_id=newest) if one.snapshot_id == _NO_SNAPSHOT else one for one in answer.entries
        )
        self._told |= {one.path: () for one in manifests} | {manifests[0].path: entries}
        return replace(answer, manifests=tuple(manifests), entries=entries)

    def _told_as_one(self, lost: ManifestFile, paths: Collection[str]) -> RebuiltManifest | UntoldManifest:
        added, existing, added_rows, existing_rows = (count or 0 for count in _counts(lost))
        if not added + existing:
            return RebuiltManifest((lost,), ())
        totals, pool = self._totals(paths), list(self._pool(lost, paths))
        size = totals.get(_SIZE)
        needed = added + existing, added_rows + existing_rows, size or 0
        reason = "no files are found that have its counts"
        for slots in self._choices(lost, pool, by_writes=size is not None):
            matching = matching_sets(slots, needed, with_bytes=size is not None, most=_MOST_SETS)
            fitting = (self._fitting(lost, one, totals) for one in matching.sets)
            found = [one for one in fitting if one is not None]
            if len(found) == 1 and not matching.is_cut:
                return self._rebuilt(lost, paths, found[0], pool)
            if found or matching.is_cut:
                reason = "several sets of files have its counts"
        return UntoldManifest(lost, reason, _candidates(pool))

    def _rebuilt(
        self, lost: ManifestFile, paths: Collection[str], told: ToldEntries, pool: Sequence[ManifestEntry]
    ) -> RebuiltManifest | UntoldManifest:
        others = [self._live(one) for one in self._listed if one.path not in paths]
        known = [entry for live in others for entry in live or ()]
        if told.uncertain and (None in others or not equality_deletes_apply_alike(told, known, self._metadata)):
            reason = "the sequence numbers of its files are not told, by which equality deletes apply or not"
            return UntoldManifest(lost, reason, _candidates(pool))
        entries, keeps_row_ids = with_row_ids(lost, told, self._metadata.specs_by_id()[lost.spec_id])
        return RebuiltManifest((lost,), entries, keeps_row_ids, not told.uncertain)

    # what it must have been

    def _totals(self, paths: Collection[str]) -> Mapping[str, int]:
        """The totals of the live files of the manifests `paths`, by those of a snapshot whose other manifests are
        known; none if no snapshot tells them."""
        if not self._lineage.isdisjoint(self._wrong_totals):
            return {}
        for snapshot in (self._head, *self._metadata.snapshots[::-1]):
            listed = self._listed if snapshot is self._head else self._remains.manifests(snapshot) or ()
            others = [self._live(one) for one in listed if one.path not in paths]
            told = told_totals(snapshot)
            if len(others) == len(listed) - len(paths) and None not in others and _SIZE in told:
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
        return told_entries(lost, files, self._before(lost), None if snapshot is None else snapshot.operation)

    # what it may have had

    def _choices(
        self, lost: ManifestFile, pool: Sequence[ManifestEntry], *, by_writes: bool
    ) -> Iterator[Sequence[Sequence[Unit]]]:
        """What sets are made of, the surest first: of files named by the id of the manifest's commit and files that
        other manifests name; of all; and, as writers that were killed leave whole groups of files, of all files of each
        write, which are told from others by their bytes."""
        commit = _UUID.match(lost.path.rpartition("/")[2])
        if commit is not None and any(commit[0] in entry.file.file_path for entry in pool):
            yield [[(one,)] for one in pool if commit[0] in one.file.file_path or one.snapshot_id is not None]
        yield [[(one,)] for one in pool]
        if by_writes:
            known = [[(one,)] for one in pool if one.snapshot_id is not None]
            writes: dict[str, Unit] = {}
            for entry in pool:
                if entry.snapshot_id is None:
                    named = _UUID.search(entry.file.file_path.rpartition("/")[2])
                    write = entry.file.file_path if named is None else named[0]
                    writes[write] = (*writes.get(write, ()), entry)
            yield [*known, *([files] for files in writes.values())]

    def _pool(self, lost: ManifestFile, paths: Collection[str]) -> Iterator[ManifestEntry]:
        """The files that may have been live in the manifest, with what is known of their entries."""
        metadata, spec = self._metadata, self._metadata.specs_by_id()[lost.spec_id]
        elsewhere, before, may_list = self._elsewhere(lost, paths), self._before(lost), self._may_list(lost)
        snapshots = {one.snapshot_id for one in metadata.snapshots}
        for key, known in self._remains.known.items():
            entry = known.entry
            is_own = (entry.file.content == Content.DATA) == (lost.content == ManifestContent.DATA)
            if not is_own or entry.file.spec_id != lost.spec_id or key in elsewhere or known.deleted_by & self._lineage:
                continue
            if (entry.sequence_number or 0) > lost.sequence_number or not may_list(entry.file):
                continue
            may_be_added = entry.snapshot_id in (None, lost.added_snapshot_id) and lost.added_files_count
            is_of_another = entry.snapshot_id in snapshots and entry.snapshot_id not in self._lineage
            may_exist = entry.snapshot_id != lost.added_snapshot_id and (before is None or key in before)
            if may_be_added or (may_exist and lost.existing_files_count and not is_of_another):
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

    def _elsewhere(self, lost: ManifestFile, paths: Collection[str]) -> set[ContentKey]:
        """Files that are live in other manifests of the head, or were in the snapshot that wrote the manifest."""
        wrote = self._metadata.snapshot_or_none(lost.added_snapshot_id)
        others = (*self._listed, *(self._remains.manifests(wrote) or ()))
        return {entry.file.key for one in others if one.path not in paths for entry in self._live(one) or ()}

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


def _counts(manifest: ManifestFile) -> tuple[int | None, int | None, int | None, int | None]:
    """Added and existing files, and their rows."""
    rows = manifest.added_rows_count, manifest.existing_rows_count
    return manifest.added_files_count, manifest.existing_files_count, *rows


def _candidates(pool: Iterable[ManifestEntry]) -> tuple[str, ...]:
    """Data files that no manifest names, as their entries do not say who added them."""
    return tuple(
        entry.file.file_path for entry in pool if entry.snapshot_id is None and entry.file.content == Content.DATA
    )
