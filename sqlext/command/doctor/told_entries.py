"""The entries of a lost manifest's files: which snapshot added each, and its sequence numbers and row ids, where the
counts in the manifest list, other manifests and the names of the files tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sqlext.command.doctor.matching_sets import matching_sets
from sqlext.scan.deletes.delete_file_index import referenced_data_file, sequence_number
from sqlext.scan.filter.file_filter import partition_key
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec

_NUMBERED = re.compile(
    r"(?P<task>[0-9]{5})-(?P<attempt>[0-9]+)-(?P<write>.+)-(?P<number>[0-9]{5})(?P<deletes>-deletes)?\.[a-z]+"
)
"""Names that writers of sqlext, Iceberg and Flink give; the files of each attempt of a task are numbered from 1."""
_COMPACTION = "replace"


@dataclass(frozen=True, slots=True)
class ToldEntries:
    """Entries with sequence numbers; those of `uncertain` have one of a range, whose ends are given, and in the entry
    the least. `added` are files that the manifest's own snapshot added, `inferred` those whose numbers no manifest
    names."""

    entries: tuple[ManifestEntry, ...]
    added: frozenset[ContentKey]
    inferred: frozenset[ContentKey]
    uncertain: Mapping[ContentKey, tuple[int, int]]


def told_entries(
    lost: ManifestFile, files: Sequence[ManifestEntry], before: Set[ContentKey] | None, operation: str | None
) -> ToldEntries | None:
    """The entries of `files`, whose number and rows are the manifest's, with what is known of them. `before` are the
    files of which it added none, None if they are not known; `operation` is that of the snapshot which wrote the
    manifest, None if it has expired. None if the files are not the manifest's."""
    added = _added(lost, files, before)
    if added is None:
        return None
    of_added = _number_of_added(lost, operation)
    of_existing = lost.min_sequence_number, max(lost.min_sequence_number, lost.sequence_number - 1)
    ranges: dict[ContentKey, tuple[int, int]] = {}
    for entry in files:
        key = entry.file.key
        if entry.sequence_number is not None:
            ranges[key] = entry.sequence_number, entry.sequence_number
        elif key in added.sure:
            ranges[key] = of_added
        elif key in added.possible:
            ranges[key] = lost.min_sequence_number, lost.sequence_number
        else:
            ranges[key] = of_existing
    uncertain = {key: ends for key, ends in ranges.items() if ends[0] < ends[1]}
    least = min((ends[0] for key, ends in ranges.items() if key not in uncertain), default=lost.sequence_number + 1)
    if len(uncertain) == 1 and least > lost.min_sequence_number:
        # Some file has the least number, and no other has.
        uncertain, least = {}, lost.min_sequence_number
    if least < lost.min_sequence_number or (not uncertain and least != lost.min_sequence_number):
        return None
    entries = (_numbered(lost, entry, ranges[entry.file.key], added.sure) for entry in files)
    inferred = _keys(entry for entry in files if entry.sequence_number is None)
    return ToldEntries(tuple(entries), added.sure, inferred, uncertain)


@dataclass(frozen=True, slots=True)
class _Added:
    """The files that the manifest's own snapshot added, and those of which it added some."""

    sure: frozenset[ContentKey]
    possible: frozenset[ContentKey] = frozenset()


def _added(lost: ManifestFile, files: Sequence[ManifestEntry], before: Set[ContentKey] | None) -> _Added | None:
    """None if the counts of added and existing files do not fit."""
    own = [one for one in files if one.snapshot_id == lost.added_snapshot_id]
    untold = [one for one in files if one.snapshot_id is None]
    if before is not None:
        own += [one for one in untold if one.file.key not in before]
        untold = [one for one in untold if one.file.key in before]
    count = (lost.added_files_count or 0) - len(own)
    rows = (lost.added_rows_count or 0) - _rows(own)
    if not 0 <= count <= len(untold):
        return None
    if count in (0, len(untold)):
        if rows != (_rows(untold) if count else 0):
            return None
        return _Added(_keys([*own, *untold] if count else own))
    matching = matching_sets([[(one,)] for one in untold], (count, rows, 0), with_bytes=False, most=1)
    if len(matching.sets) == 1 and not matching.is_cut:
        return _Added(_keys([*own, *matching.sets[0]]))
    return _Added(_keys(own), _keys(untold)) if matching.is_cut else None


def _number_of_added(lost: ManifestFile, operation: str | None) -> tuple[int, int]:
    """The sequence number of files that the manifest's snapshot added, as the ends of a range. It is the snapshot's,
    except in a compaction, whose files keep an older one that all of them share."""
    own, least = lost.sequence_number, lost.min_sequence_number
    if own == least or operation not in (None, _COMPACTION):
        return own, own
    if not lost.existing_files_count and (operation == _COMPACTION or lost.added_files_count == 1):
        return least, least
    return least, own


def _numbered(
    lost: ManifestFile, entry: ManifestEntry, ends: tuple[int, int], added: frozenset[ContentKey]
) -> ManifestEntry:
    # Position deletes apply to the files that they name, if these are not newer.
    number = ends[1] if entry.file.content == Content.POSITION_DELETES else ends[0]
    file_number = lost.sequence_number if entry.file.key in added else number
    return replace(
        entry,
        snapshot_id=lost.added_snapshot_id if entry.snapshot_id is None else entry.snapshot_id,
        sequence_number=number,
        file_sequence_number=file_number if entry.file_sequence_number is None else entry.file_sequence_number,
    )


def equality_deletes_apply_alike(told: ToldEntries, others: Iterable[ManifestEntry], metadata: TableMetadata) -> bool:
    """Whether equality deletes of a snapshot, which has the files `others` beside these, delete the same rows whichever
    sequence numbers of their ranges the files have."""
    files = [*told.entries, *others]
    deletes = [one for one in files if one.file.content == Content.EQUALITY_DELETES]
    data = [one for one in files if one.file.content == Content.DATA]
    uncertain = [one for one in data if one.file.key in told.uncertain]
    specs = metadata.specs_by_id()

    def ends(entry: ManifestEntry) -> tuple[int, int]:
        number = sequence_number(entry)
        return told.uncertain.get(entry.file.key, (number, number))

    def may_apply(delete: ContentFile, file: ContentFile) -> bool:
        return specs[delete.spec_id].is_unpartitioned or partition_key(delete) == partition_key(file)

    for delete in deletes:
        least, most = ends(delete)
        for one in data if least < most else uncertain:
            first, last = ends(one)
            is_certain = last < least or first >= most
            if not is_certain and may_apply(delete.file, one.file):
                return False
    return True


def has_older_deletes(told: ToldEntries, others: Iterable[ManifestEntry]) -> bool:
    """Whether a data file would be newer than position deletes that name it, and thus were there before it, by a
    number that is inferred; `others` are the other files of the snapshot."""
    files = [*told.entries, *others]
    numbers = {one.file.file_path: one for one in files if one.file.content == Content.DATA}
    for delete in files:
        path = referenced_data_file(delete.file) if delete.file.content == Content.POSITION_DELETES else None
        data = None if path is None else numbers.get(path)
        if data is None or told.inferred.isdisjoint((data.file.key, delete.file.key)):
            continue
        if sequence_number(data) > sequence_number(delete):
            return True
    return False


def with_row_ids(lost: ManifestFile, told: ToldEntries, spec: PartitionSpec) -> tuple[tuple[ManifestEntry, ...], bool]:
    """The entries with the row ids that files which the manifest added inherit, in its order (spec: First Row ID
    Inheritance), and whether all are known. A single file has those that are left, and the files of a write without
    partitions are listed in the order of their numbers."""
    lacking = [one for one in told.entries if one.file.first_row_id is None]
    if lost.content != ManifestContent.DATA or lost.first_row_id is None or not lacking:
        return told.entries, True
    ordered = _in_order(lacking, spec)
    if ordered is None or any(one.file.key not in told.added for one in lacking):
        return told.entries, False
    taken = {one.file.first_row_id: one.file.record_count for one in told.entries if one.file.first_row_id is not None}
    given, start = dict[ContentKey, int](), lost.first_row_id
    for entry in ordered:
        while start in taken:
            start += taken[start]
        given[entry.file.key] = start
        start += entry.file.record_count
    first = lost.first_row_id if len(ordered) > 1 else given[ordered[0].file.key]
    if any(first <= id < start for id in taken):
        # They stood somewhere between the others.
        return told.entries, False
    made = (
        replace(one, file=replace(one.file, first_row_id=given[one.file.key])) if one.file.key in given else one
        for one in told.entries
    )
    return tuple(made), True


def _in_order(files: Sequence[ManifestEntry], spec: PartitionSpec) -> Sequence[ManifestEntry] | None:
    """Files in the order of a manifest; None if it is not told."""
    if len(files) == 1:
        return files
    named = [found for one in files if (found := _NUMBERED.fullmatch(one.file.file_path.rpartition("/")[2]))]
    attempts = {(one["task"], one["attempt"]) for one in named}
    is_one_write = len(named) == len(files) and len({one["write"] for one in named}) == 1
    if not spec.is_unpartitioned or not is_one_write or len(attempts) > len({task for task, _ in attempts}):
        return None
    places = [(one["task"], one["number"]) for one in named]
    return [one for _, one in sorted(zip(places, files, strict=True), key=lambda pair: pair[0])]


def writes_with_gaps(names: Iterable[str]) -> set[str]:
    """The ids of writes of which a file is missing among `names`, by the numbers of the others. Iceberg numbers data
    and delete files together, sqlext each by themselves."""
    numbers: dict[tuple[str, str, str], dict[str | None, set[int]]] = {}
    for one in filter(None, map(_NUMBERED.fullmatch, names)):
        kinds = numbers.setdefault((one["write"], one["task"], one["attempt"]), {})
        kinds.setdefault(one["deletes"], set()).add(int(one["number"]))
    return {
        write
        for (write, _, _), kinds in numbers.items()
        if _has_gap(set().union(*kinds.values())) and any(map(_has_gap, kinds.values()))
    }


def _has_gap(numbers: Set[int]) -> bool:
    return max(numbers) != len(numbers)


def _rows(entries: Iterable[ManifestEntry]) -> int:
    return sum(entry.file.record_count for entry in entries)


def _keys(entries: Iterable[ManifestEntry]) -> frozenset[ContentKey]:
    return frozenset(entry.file.key for entry in entries)
