"""Repairs of a table, each in the order of what is lost by it: a flipped bit is turned back, with nothing lost; an
earlier metadata file becomes the current one; the head of a branch is replaced by what can be read of it.

No file of them is deleted: earlier snapshots name them, and a backup may complete them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_pointer import metadata_number, versions_kept
from sqlext.catalog.transaction_outcomes import outcome_without_flipped_bit
from sqlext.command.doctor.examination import Examination
from sqlext.command.doctor.rebuilt_list import rebuilt_list
from sqlext.command.doctor.rebuilt_manifest import RebuiltManifest, UntoldManifest, rebuilt_manifests
from sqlext.command.doctor.table_from_manifests import with_later_snapshots
from sqlext.command.doctor.table_remains import TableRemains
from sqlext.command.doctor.twin_vectors import twins_among
from sqlext.command.environment import Environment
from sqlext.commit.action import Destination
from sqlext.commit.actions.snapshot_repair import RepairSnapshot
from sqlext.errors import AnalysisError, SqlextError, UnsupportedError
from sqlext.scan.checks.finding import Check
from sqlext.scan.deletes.dangling_deletes import dangling_deletes
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests import puffin
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry, ManifestFile
from sqlext.spec.metadata import metadata_checksum
from sqlext.spec.metadata.metadata_update import with_metadata_log
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata, metadata_beginning
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join, same_place

_DAMAGES = (Check.CHECKSUM, Check.UNREADABLE, Check.DELETION_VECTOR)
_MENDING: Mapping[str, Callable[[bytes], bytes | None]] = {
    ".avro": avro_file.without_flipped_bit,
    ".puffin": puffin.without_flipped_bit,
    ".stats": puffin.without_flipped_bit,
    ".metadata.json": metadata_checksum.without_flipped_bit,
    ".metadata.json.gz": metadata_checksum.without_flipped_bit,
}
_CURRENT = re.compile(rb'"current-snapshot-id"\s*:\s*([0-9]{1,19})\b')
_LOGGED = re.compile(rb'"metadata-file"\s*:\s*"([^"\\]+)"')
_TURNED_BACK = "one bit had changed, and is as it was written; nothing is lost"
_UNTOLD_VECTORS = (
    "not done: each deletion vector of {path} deletes rows that the other does not. Go back to an earlier snapshot with"
    " CALL rollback_to_snapshot"
)
# Files that may have been those of a manifest.
_MOST_SHOWN = 20
# Of the text of a damaged metadata file, from which the log is read as far as it goes.
_MOST_TEXT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done about the object `path`, or about the snapshot `snapshot_id`, and what is lost by it."""

    path: str
    done: str
    snapshot_id: int | None = None


# flipped bits


def turn_back_bits(catalog: Catalog, examination: Examination) -> Iterator[Repair]:
    """Writes metadata objects anew of which one bit has changed since they were written, as their checksums prove.

    Only the table's own files are written, and of a table whose current metadata file is damaged that file alone,
    since what it names may be another's. Raises StorageError.
    """
    table, damaged = examination.table, examination.damaged
    owns = None if table is None or damaged is not None else catalog.owned_by(table)
    for path in dict.fromkeys(one.path for one in examination.findings if one.check in _DAMAGES):
        mend = next((mend for ending, mend in _MENDING.items() if path.endswith(ending)), None)
        if mend is None or not (path == damaged if owns is None else owns(path)):
            continue
        try:
            mended = mend(catalog.io.read(path))
        except (FileNotFoundError, AnalysisError, UnsupportedError):
            # Damage of the object that names it has changed the path, to none that can be.
            continue
        if mended is not None:
            catalog.io.replace(path, mended)
            yield Repair(path, _TURNED_BACK)


def turn_back_outcome(catalog: Catalog, outcome: str) -> Repair:
    """Writes the outcome of a transaction anew, if one bit of it has changed. Raises StorageError."""
    with suppress(FileNotFoundError):
        mended = outcome_without_flipped_bit(catalog.io.read(outcome))
        if mended is not None:
            catalog.io.replace(outcome, mended)
            return Repair(outcome, _TURNED_BACK)
    return Repair(outcome, "not done: restore it from a backup, or write `committed` or `aborted` into it")


# metadata files


def restore_metadata(
    environment: Environment, catalog: Catalog, identifier: TableIdentifier, damaged: str
) -> Repair | None:
    """Makes the newest earlier version that can be read the current one; None if there is no such version.

    Raises as `Catalog.replace_damaged`.
    """
    for location in _earlier(catalog.io, damaged):
        version = _version(catalog, identifier, location)
        if version is None:
            continue
        found = with_later_snapshots(catalog.io, version.metadata, _current_snapshot_id(catalog.io, damaged))
        now_ms = max(environment.clock(), found.last_updated_ms)
        restored = with_metadata_log(
            replace(found, last_updated_ms=now_ms),
            location,
            version.metadata.last_updated_ms,
            versions_kept(version.metadata),
        )
        made = catalog.replace_damaged(identifier, damaged, restored)
        return Repair(
            damaged,
            f"{location} is the current version again, as {made.metadata_location};"
            f" {_told_later(found, version.metadata) or _lost_commits(catalog.io, damaged, found)}",
        )
    return None


def _current_snapshot_id(io: FileIO, damaged: str) -> int | None:
    """Of main, as far as the damaged file has it."""
    with suppress(FileNotFoundError):
        found = _CURRENT.search(metadata_beginning(io.read(damaged), _MOST_TEXT))
        return None if found is None else int(found[1])
    return None


def _told_later(found: TableMetadata, version: TableMetadata) -> str:
    """Which snapshots manifest lists tell of commits after a version."""
    later = found.snapshots_not_in(version)
    if not later:
        return ""
    parts = [f"manifest lists tell of {len(later)} snapshots after it"]
    if found.current_snapshot_id != version.current_snapshot_id:
        parts.append(f"main is at {found.current_snapshot_id}, as the damaged file has it")
    branches = sorted(found.refs.keys() - version.refs.keys())
    if branches:
        parts.append(f"CALL fast_forward takes what is in {', '.join(branches)}, if it was committed")
    return "; ".join(parts) + "; what else the commits changed is lost"


def _earlier(io: FileIO, damaged: str) -> Sequence[str]:
    """Locations of earlier metadata files, the newest first by their numbers. Of two with one number that comes first
    which is in the log, as far as the damaged text tells it: the other is of a commit that lost its race."""
    folder, number = damaged.rpartition("/")[0], metadata_number(damaged)
    logged: list[str] = []
    with suppress(FileNotFoundError):
        text = metadata_beginning(io.read(damaged), _MOST_TEXT)
        logged += (found.decode("utf-8", "replace") for found in _LOGGED.findall(text))
    places = {same_place(path) for path in logged}
    listed = [join(folder, one.path.rpartition("/")[2]) for one in io.list(folder)]
    found = [*logged, *(path for path in listed if same_place(path) not in places)]
    earlier = [path for path in found if 0 <= metadata_number(path) < number]
    return sorted(earlier, key=lambda path: (metadata_number(path), same_place(path) in places), reverse=True)


def _version(catalog: Catalog, identifier: TableIdentifier, location: str) -> LoadedTable | None:
    """The version of a metadata file; None if it cannot be read, or has other bytes than were written."""
    with suppress(SqlextError, FileNotFoundError):
        data = catalog.io.read(location)
        if metadata_checksum.checksum_state(data) != ChecksumState.WRONG:
            own = LoadedTable(identifier, decode_table_metadata(data, location), location)
            return catalog.load_version(own, location)
    return None


def _lost_commits(io: FileIO, damaged: str, restored: TableMetadata) -> str:
    """What is lost, with the snapshots that the damaged file has, as far as it can be read."""
    with suppress(SqlextError, FileNotFoundError):
        lost = decode_table_metadata(io.read(damaged), damaged).snapshots_not_in(restored)
        told = "with " + ", ".join(f"snapshot {one.snapshot_id}" for one in lost) if lost else "which made no snapshot"
        return f"the commits after it are lost, {told}"
    return "the commits after it are lost, if there were any"


# branches


def repair_branches(
    environment: Environment, catalog_name: str, table: LoadedTable, found: Examination
) -> list[Repair]:
    """Replaces the head of each branch that is damaged by a snapshot of what can be read of it.

    Raises as `Environment.commit`; ValidationConflict if another commit has changed the branch.
    """
    io = environment.catalogs.catalog(catalog_name).io
    remains = TableRemains(io, table.metadata, found.check.lost_manifests)
    repairs = []
    for name, reference in table.metadata.refs.items():
        head = table.metadata.snapshot_or_none(reference.snapshot_id)
        if head is None or reference.type != "branch":
            continue
        planned = _plan(io, table.metadata, head, found, remains)
        if planned is None:
            continue
        action, done = planned
        if action is None:
            repairs.append(Repair(head.manifest_list, done, head.snapshot_id))
            continue
        landed = environment.commit(catalog_name, table, action, Destination(name)).snapshot
        assert landed is not None
        made = f"snapshot {landed.snapshot_id} of branch {name} replaces it: {done}"
        repairs.append(Repair(head.manifest_list, made, head.snapshot_id))
    return repairs


def _plan(
    io: FileIO, metadata: TableMetadata, head: Snapshot, found: Examination, remains: TableRemains
) -> tuple[RepairSnapshot | None, str] | None:
    """The repair of a head and what it does; None if it needs none, no action if there is none."""
    check, manifests = found.check, None
    if head.snapshot_id in check.lost_lists:
        manifests = rebuilt_list(io, metadata, head)
        if manifests is None:
            way_out = "Go back to an earlier snapshot with CALL rollback_to_snapshot"
            return None, f"not done: its manifests cannot be told from those of its parent. {way_out}"
    listed = ManifestCache(0).manifests(io, head) if manifests is None else manifests
    lost = [one for one in listed if one.path in check.lost_manifests]
    answers = rebuilt_manifests(remains, metadata, head, listed, check.lost_manifests, check.wrong_totals)
    rebuilt = [one for one in answers if isinstance(one, RebuiltManifest)]
    untold = [one for one in answers if isinstance(one, UntoldManifest)]
    live = list(_live(io, metadata, [one for one in listed if one not in lost]))
    live += [entry for one in rebuilt for entry in one.entries]
    gone = [entry.file for entry in live if entry.file.key in check.lost_files]
    kept = [entry for entry in live if entry.file.key not in check.lost_files]
    data = (entry for entry in kept if entry.file.content == Content.DATA)
    deletes = [entry for entry in kept if entry.file.content != Content.DATA]
    dangling = [entry.file.key for entry, _ in dangling_deletes(data, deletes, metadata.specs_by_id())]
    twins = twins_among(io, deletes)
    recounted = head.snapshot_id in check.wrong_totals or any(one.path in check.miscounted for one in listed)
    if manifests is None and not (lost or gone or dangling or twins.covered or recounted):
        return (None, _UNTOLD_VECTORS.format(path=twins.untold[0])) if twins.untold else None
    action = RepairSnapshot(
        head.snapshot_id,
        _operation(gone, [one.manifest for one in untold]),
        frozenset(one.manifest.path for one in untold),
        frozenset((*(file.key for file in gone), *dangling, *twins.covered)),
        manifests,
        _entries_by_manifest(rebuilt),
    )
    told = [*map(_of_rebuilt, rebuilt), *map(_of_untold, untold)]
    told += _told(gone, len(dangling), len(twins.covered), recounted, rebuilt=manifests is not None)
    return action, "; ".join(told)


def _live(io: FileIO, metadata: TableMetadata, manifests: Iterable[ManifestFile]) -> Iterator[ManifestEntry]:
    return ManifestCache(0).live_entries_of(io, manifests, metadata)


def _operation(gone: Iterable[ContentFile], lost: Iterable[ManifestFile]) -> str:
    """Of the snapshot (spec: Snapshots, `operation`): rows go with data files, and come back with delete files."""
    deletes = [file.content != Content.DATA for file in gone] + [bool(one.content) for one in lost]
    if any(deletes):
        return "overwrite"
    return "delete" if deletes else "replace"


def _entries_by_manifest(rebuilt: Iterable[RebuiltManifest]) -> Mapping[str, tuple[ManifestEntry, ...]]:
    """Those that are told together are in the first of their manifests."""
    found: dict[str, tuple[ManifestEntry, ...]] = {}
    for one in rebuilt:
        found |= {manifest.path: () for manifest in one.manifests} | {one.manifests[0].path: one.entries}
    return found


def _of_rebuilt(one: RebuiltManifest) -> str:
    rows = sum(entry.file.record_count for entry in one.entries)
    what = "deletes" if one.manifests[0].content else "rows"
    names = " and ".join(manifest.path for manifest in one.manifests)
    kept = f"{rows} {what} in {len(one.entries)} files of the manifest {names} are kept"
    told = f"{kept}, as other manifests and the files tell them"
    changed = [] if one.keeps_row_ids else ["the ids of some of these rows"]
    changed += [] if one.keeps_numbers else ["sequence numbers, on which no delete depends"]
    said = f"{told}, with nothing lost" if not changed else f"{told}, but new are {' and '.join(changed)}"
    return f"{said}, if its commit added again what had been removed" if one.adds_again else said


def _of_untold(one: UntoldManifest) -> str:
    manifest = one.manifest
    files = _sum(manifest.added_files_count, manifest.existing_files_count)
    rows = _sum(manifest.added_rows_count, manifest.existing_rows_count)
    what = "deletes, whose rows are back," if manifest.content else "rows"
    lost = f"{rows} {what} in {files} files of the manifest {manifest.path} are lost, since {one.reason}"
    if not one.candidates:
        return lost
    shown, more = one.candidates[:_MOST_SHOWN], len(one.candidates) - _MOST_SHOWN
    others = f" and {more} more" if more > 0 else ""
    return f"{lost}; CALL add_files takes those that are known to be the table's of {', '.join(shown)}{others}"


def _told(gone: Iterable[ContentFile], dangling: int, covered: int, recounted: bool, *, rebuilt: bool) -> Iterator[str]:
    if rebuilt:
        yield "its manifests were told from their names and its parent, and have its totals; nothing is lost"
    for file in gone:
        what = "rows" if file.content == Content.DATA else "deletes, whose rows are back,"
        yield f"{file.record_count} {what} of {file.file_path} are lost"
    if dangling:
        yield f"{dangling} delete files that apply to no data file that is left are removed"
    if covered:
        yield f"{covered} deletion vectors are removed, of whose data files a newer one has all rows; nothing is lost"
    if recounted:
        yield "counts and totals are those of its files"


def _sum(*counts: int | None) -> str:
    known = [count for count in counts if count is not None]
    return str(sum(known)) if len(known) == len(counts) else "an unknown number of"
