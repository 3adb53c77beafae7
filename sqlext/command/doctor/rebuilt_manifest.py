"""A lost manifest, told from the files that it must have listed.

What its manifest list says of it, and the totals of its snapshots, tell how many files, rows and bytes it had, and of
which partitions. It is told if one set of files fits, of those that other manifests name in its history, or none does.
Files that none names are told from others by their bytes alone, for which there are only totals: a lost manifest has
what the other ones leave of these; if it is among several, the totals must be right when all are told. It is written as
a new manifest of a new snapshot: its own bytes, whose number every list repeats, cannot be told, nor which files it had
removed, so that earlier snapshots stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sqlext.command.doctor.manifest_candidates import ManifestCandidates
from sqlext.command.doctor.matching_sets import matching_sets
from sqlext.command.doctor.table_remains import TableRemains
from sqlext.command.doctor.told_entries import (
    ToldEntries,
    equality_deletes_apply_alike,
    has_older_deletes,
    told_entries,
    with_row_ids,
)
from sqlext.scan.checks.totals import told_totals, totals_of
from sqlext.spec.manifests.content_file import Content, ContentKey
from sqlext.spec.manifests.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    summarise_partitions,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_NONE_FITS = "no files are found that have its counts"
_SIZE = "total-files-size"
_MOST_SETS = 200
_NO_SNAPSHOT = -1


@dataclass(frozen=True, slots=True)
class RebuiltManifest:
    """The live entries of lost manifests, of several if they are told only together. Without `keeps_row_ids` some of
    the rows get new ids, without `keeps_numbers` some files sequence numbers that say as much to all deletes. With
    `adds_again` there are files which the branch had removed before."""

    manifests: tuple[ManifestFile, ...]
    entries: tuple[ManifestEntry, ...]
    keeps_row_ids: bool = True
    keeps_numbers: bool = True
    adds_again: bool = False


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
    candidates = ManifestCandidates(remains, metadata, head, listed)
    # Deletes are placed by the data files that they are of.
    waiting = sorted((one for one in listed if one.path in lost), key=lambda one: one.content)
    if not waiting:
        return []
    sure = _told(_Telling(candidates, metadata, head, wrong_totals), waiting)
    if not sure.untold:
        if _has_totals(candidates, head, wrong_totals) is not False:
            return [*sure.rebuilt]
        reason = "with the files that fit it the snapshot has other totals than its summary"
        taken = (one for rebuilt in sure.rebuilt for one in rebuilt.entries if one.file.key not in remains.known)
        unnamed = tuple(one.file.file_path for one in taken if one.file.content == Content.DATA)
        first, *more = waiting
        return [UntoldManifest(first, reason, unnamed), *(UntoldManifest(one, reason) for one in more)]
    guessed = candidates.copy()
    by_counts = _Telling(guessed, metadata, head, wrong_totals, by_counts=True)
    others = _told(by_counts, [one.manifest for one in sure.untold])
    if not others.untold and _has_totals(guessed, head, wrong_totals):
        return [*sure.rebuilt, *others.rebuilt]
    rebuilt, untold = sure.rebuilt, sure.untold
    doubtful: list[RebuiltManifest] | None = None
    while doubtful != []:
        doubtful = [
            one
            for one in rebuilt
            if not candidates.are_named(one.manifests[0], one.entries)
            and any(_may_have(candidates, metadata, head, wrong_totals, other, one) for other in untold)
        ]
        rebuilt = [one for one in rebuilt if one not in doubtful]
        untold = [*untold, *(each for one in doubtful for each in _of_another(one))]
    return [*rebuilt, *untold]


def _may_have(
    candidates: ManifestCandidates,
    metadata: TableMetadata,
    head: Snapshot,
    wrong_totals: Collection[int],
    untold: UntoldManifest,
    told: RebuiltManifest,
) -> bool:
    """Whether what is told of one manifest may be files of another: if the right files of the first are gone, those of
    the second fit it that have as many rows and bytes."""
    lost, keys = untold.manifest, frozenset(one.file.key for one in told.entries)
    if (lost.content, lost.spec_id) != (told.manifests[0].content, told.manifests[0].spec_id):
        return False
    sharing = candidates.copy(keys)
    pool = sharing.pool(lost, {lost.path}, sharing.before(lost))
    if keys.isdisjoint(one.file.key for one in pool):
        return False
    answer = _Telling(sharing, metadata, head, wrong_totals).tell((lost,))
    return isinstance(answer, RebuiltManifest) or answer.reason != _NONE_FITS


def _of_another(told: RebuiltManifest) -> Iterator[UntoldManifest]:
    paths = tuple(one.file.file_path for one in told.entries if one.file.content == Content.DATA)
    for manifest in told.manifests:
        shown = paths if manifest is told.manifests[0] else ()
        yield UntoldManifest(manifest, "what fits it may be of another lost manifest", shown)


@dataclass(frozen=True, slots=True)
class _Told:
    rebuilt: list[RebuiltManifest]
    untold: list[UntoldManifest]


def _told(telling: _Telling, lost: Sequence[ManifestFile]) -> _Told:
    """What is told of each manifest by itself, of the rest together, and with it of others."""
    rebuilt: list[RebuiltManifest] = []
    untold: dict[str, UntoldManifest] = {}
    waiting, tried = [*lost], list[ManifestFile]()
    while waiting != tried:
        tried = waiting
        alone = [(one,) for one in waiting]
        for group in (*alone, *(group for group in _alike(waiting) if len(group) > 1)):
            if any(telling.candidates.is_told(one.path) for one in group):
                continue
            if len(group) > 1 and any(untold[one.path].reason == _NONE_FITS for one in group):
                continue
            answer = telling.tell(group)
            if isinstance(answer, RebuiltManifest):
                rebuilt.append(answer)
            elif len(group) == 1:
                untold[group[0].path] = answer
        waiting = [one for one in waiting if not telling.candidates.is_told(one.path)]
    return _Told(rebuilt, [untold[one.path] for one in waiting])


def _has_totals(candidates: ManifestCandidates, head: Snapshot, wrong_totals: Collection[int]) -> bool | None:
    """Whether the files of a head, whose manifests are all known, have the totals of its summary; None if that cannot
    be relied on, or has no bytes."""
    told = told_totals(head)
    if _SIZE not in told or not candidates.lineage.isdisjoint(wrong_totals):
        return None
    counted = totals_of(entry.file for live in candidates.of_head(()) for entry in live or ())
    return all(counted[name] == count for name, count in told.items())


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
    """The search for the files of lost manifests of one head."""

    def __init__(
        self,
        candidates: ManifestCandidates,
        metadata: TableMetadata,
        head: Snapshot,
        wrong_totals: Collection[int],
        *,
        by_counts: bool = False,
    ) -> None:
        """With `by_counts` also files of untold bytes, which no manifest names, are taken: totals must prove it."""
        self.candidates = candidates
        self._by_counts = by_counts
        self._metadata = metadata
        self._snapshots = (head, *metadata.snapshots[::-1]) if candidates.lineage.isdisjoint(wrong_totals) else ()

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
        self.candidates.take(manifests, entries)
        return replace(answer, manifests=tuple(manifests), entries=entries)

    def _told_as_one(self, lost: ManifestFile, paths: Collection[str]) -> RebuiltManifest | UntoldManifest:
        added, existing, added_rows, existing_rows = (count or 0 for count in _counts(lost))
        if not added + existing:
            return RebuiltManifest((lost,), ())
        totals, before = self._totals(paths), self.candidates.before(lost)
        pool = list(self.candidates.pool(lost, paths, before))
        again = list(self.candidates.added_again(lost, paths))
        others = [entry for live in self.candidates.of_head(paths) for entry in live or ()]
        size = totals.get(_SIZE)
        needed = added + existing, added_rows + existing_rows, size or 0
        reason = _NONE_FITS
        for slots in self.candidates.choices(lost, pool, again, with_bytes=size is not None):
            matching = matching_sets(slots, needed, with_bytes=size is not None, most=_MOST_SETS)
            fitting = (self._fitting(lost, one, before, totals) for one in matching.sets)
            found = [one for one in fitting if one is not None and not has_older_deletes(one, others)]
            if len(found) == 1 and not matching.is_cut:
                if size is not None or self._by_counts or self.candidates.are_named(lost, found[0].entries):
                    return self._rebuilt(lost, paths, found[0], pool, {one.file.key for one in again})
                reason = f"its bytes are not told, as {self._why_no_totals(paths)}"
            elif found or matching.is_cut:
                reason = "several sets of files have its counts"
        return UntoldManifest(lost, reason, _unnamed(pool))

    def _rebuilt(
        self,
        lost: ManifestFile,
        paths: Collection[str],
        told: ToldEntries,
        pool: Sequence[ManifestEntry],
        again: Set[ContentKey],
    ) -> RebuiltManifest | UntoldManifest:
        others = self.candidates.of_head(paths)
        known = [entry for live in others for entry in live or ()]
        if told.uncertain and (None in others or not equality_deletes_apply_alike(told, known, self._metadata)):
            reason = "the sequence numbers of its files are not told, by which equality deletes apply or not"
            return UntoldManifest(lost, reason, _unnamed(pool))
        if any(one.file.key in again for one in told.entries):
            # A file may be added with the ids that it had, or get new ones.
            return RebuiltManifest((lost,), told.entries, lost.first_row_id is None, not told.uncertain, True)
        entries, keeps_row_ids = with_row_ids(lost, told, self._metadata.specs_by_id()[lost.spec_id])
        return RebuiltManifest((lost,), entries, keeps_row_ids, not told.uncertain)

    def _totals(self, paths: Collection[str]) -> Mapping[str, int]:
        """The totals of the live files of the manifests `paths`, by those of a snapshot whose other manifests are
        known; none if no snapshot tells them. What is told of others may be wrong, and comes last."""
        for snapshot in sorted(self._snapshots, key=lambda one: not self.candidates.are_read(one, paths)):
            others, told = self.candidates.of_snapshot(snapshot, paths), told_totals(snapshot)
            if others is not None and None not in others and _SIZE in told:
                known = totals_of(entry.file for live in others for entry in live or ())
                return {name: count - known[name] for name, count in told.items()}
        return {}

    def _why_no_totals(self, paths: Collection[str]) -> str:
        if not self._snapshots:
            return "totals in the branch's history are wrong"
        return "other manifests are lost too" if None in self.candidates.of_head(paths) else "no snapshot has totals"

    def _fitting(
        self,
        lost: ManifestFile,
        files: Sequence[ManifestEntry],
        before: Set[ContentKey] | None,
        totals: Mapping[str, int],
    ) -> ToldEntries | None:
        """The entries of a set of files with the right sums; None if something else does not fit."""
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
        return told_entries(lost, files, before, None if snapshot is None else snapshot.operation)


def _counts(manifest: ManifestFile) -> tuple[int | None, int | None, int | None, int | None]:
    """Added and existing files, and their rows."""
    rows = manifest.added_rows_count, manifest.existing_rows_count
    return manifest.added_files_count, manifest.existing_files_count, *rows


def _unnamed(pool: Iterable[ManifestEntry]) -> tuple[str, ...]:
    """Data files that no manifest names, as their entries do not say who added them."""
    return tuple(
        entry.file.file_path for entry in pool if entry.snapshot_id is None and entry.file.content == Content.DATA
    )
