"""The check of all that the metadata of a table names: manifest lists, manifests, statistics and content files.

Every metadata object is read anew, not from a cache, which may hold what a damaged file held before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlext.errors import AnalysisError, SqlextError, StorageError, UnsupportedError
from sqlext.scan.checks.delete_checks import repeated_vectors, unplaced_vectors
from sqlext.scan.checks.entry_shape import require_entry_shape, require_list_shape
from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.scan.checks.manifest_checks import (
    ManifestHeader,
    duplicate_findings,
    entry_findings,
    list_entry_findings,
    row_id_findings,
)
from sqlext.scan.checks.metadata_checks import metadata_findings
from sqlext.scan.checks.totals import change_findings, total_findings, totals_of
from sqlext.scan.deletes.dangling_deletes import dangling_deletes
from sqlext.scan.deletes.deletion_vector_file import read_deletion_vector
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests import puffin
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    decode_manifest_list,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import CHANGELOG_ID, StoredChangelog, changelogs_table
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each, in_threads
from sqlext.storage.location import same_place

CHECKSUM_FOUND, CHECKSUM_EXPECTED = "other bytes than those that were written", "the bytes of its checksum"


@dataclass(frozen=True, slots=True)
class TableCheck:
    """What a check has found. `lost_lists` are snapshots whose manifest list cannot be read, `lost_manifests` locations
    of manifests that cannot be read, `lost_files` content files that are missing, short or damaged, `miscounted`
    manifests of which lists say something wrong, `wrong_totals` snapshots whose summaries do."""

    findings: tuple[Finding, ...]
    lost_lists: frozenset[int] = frozenset()
    lost_manifests: frozenset[str] = frozenset()
    lost_files: frozenset[ContentKey] = frozenset()
    miscounted: frozenset[str] = frozenset()
    wrong_totals: frozenset[int] = frozenset()


def check_table(io: FileIO, metadata: TableMetadata, location: str, each: Each = in_threads) -> TableCheck:
    """Checks the metadata of the file at `location`, and what it names, each object by `each`: all metadata objects by
    their content, content files by their existence and size. Raises StorageError, UnsupportedError for encryption."""
    return _Checking(io, metadata, location, each).run()


def check_changelogs(io: FileIO, metadata: TableMetadata, each: Each = in_threads) -> TableCheck:
    """Checks the table's stored changelogs in the same way. One that is missing is allowed: its changes are computed.
    Raises as `check_table`."""
    table = changelogs_table(metadata)
    named = [one for one in metadata.snapshots if CHANGELOG_ID in one.summary and StoredChangelog.of(one) is None]
    invalid = [
        Finding(
            Check.REFERENCE,
            one.manifest_list,
            f"{CHANGELOG_ID} {one.summary[CHANGELOG_ID]} in the summary",
            "the id of a changelog with its producer and span",
            Severity.WARNING,
            one.snapshot_id,
        )
        for one in named
    ]
    if not table.snapshots:
        return TableCheck(tuple(invalid))
    checked = _Checking(io, table, "", each).of_objects()
    lists = {one.manifest_list for one in table.snapshots}
    found = (
        replace(one, severity=Severity.NOTICE, expected="a stored changelog, without which its changes are computed")
        if one.check == Check.MISSING and one.path in lists
        else one
        for one in checked.findings
    )
    return replace(checked, findings=(*invalid, *found))


@dataclass(slots=True)
class _Manifest:
    """A manifest that was read: all entries, and the totals of the live ones."""

    entries: Sequence[ManifestEntry]
    totals: Counter[str]

    @property
    def live(self) -> Iterable[ManifestEntry]:
        return (entry for entry in self.entries if entry.is_live)


class _Checking:
    """One check."""

    def __init__(self, io: FileIO, metadata: TableMetadata, location: str, each: Each) -> None:
        self._io = io
        self._each = each
        self._metadata = metadata
        self._location = location
        self._findings: list[Finding] = []
        self._lists: dict[int, tuple[ManifestFile, ...]] = {}
        # Lists may differ in what they say of one manifest.
        self._manifests: dict[ManifestFile, _Manifest | None] = {}
        self._lost_lists: set[int] = set()
        self._lost_manifests: set[str] = set()
        self._lost_files: set[ContentKey] = set()
        self._miscounted: set[str] = set()
        self._wrong_totals: set[int] = set()

    def run(self) -> TableCheck:
        self._findings += metadata_findings(self._metadata, self._location)
        return self.of_objects()

    def of_objects(self) -> TableCheck:
        """What is wrong with the objects that the metadata names."""
        for snapshot in reversed(self._metadata.snapshots):
            self._read_list(snapshot)
        newest = {one: id for id, listed in reversed(self._lists.items()) for one in listed}
        read = self._each(lambda one: self._read_manifest(one, newest[one]), newest)
        for manifest, (found, content) in zip(newest, read, strict=True):
            self._findings += found
            self._manifests[manifest] = content
            if content is None:
                self._lost_manifests.add(manifest.path)
        self._check_snapshots()
        self._check_files(newest)
        return TableCheck(
            tuple(dict.fromkeys(self._findings)),
            frozenset(self._lost_lists),
            frozenset(self._lost_manifests),
            frozenset(self._lost_files),
            frozenset(self._miscounted),
            frozenset(self._wrong_totals),
        )

    # metadata objects

    def _read_list(self, snapshot: Snapshot) -> None:
        path, id = snapshot.manifest_list, snapshot.snapshot_id
        if snapshot.embedded_manifests or "key-id" in snapshot.extra:
            try:
                self._lists[id] = ManifestCache(0).manifests(self._io, snapshot)
            except (SqlextError, OSError) as error:
                self._lose_list(Finding(Check.UNREADABLE, path, str(error), "a manifest", snapshot_id=id))
            return
        data = _read(self._io, path)
        if not isinstance(data, bytes):
            self._lose_list(Finding(data.check, path, data.found, "the manifest list", snapshot_id=id))
            return
        try:
            listed = tuple(decode_manifest_list(data, path))
            for manifest in listed:
                require_list_shape(manifest)
            self._findings += _damage(path, avro_file.checksum_state(data), id)
            self._lists[id] = listed
        except Exception as error:  # on a damaged file nearly any may be raised
            self._lose_list(Finding(Check.UNREADABLE, path, _reason(error), "a manifest list", snapshot_id=id))

    def _lose_list(self, finding: Finding) -> None:
        assert finding.snapshot_id is not None
        self._lost_lists.add(finding.snapshot_id)
        self._findings.append(finding)

    def _read_manifest(self, manifest: ManifestFile, snapshot_id: int) -> tuple[list[Finding], _Manifest | None]:
        path, metadata = manifest.path, self._metadata
        data = _read(self._io, path)
        if not isinstance(data, bytes):
            return [Finding(data.check, path, data.found, "the manifest", snapshot_id=snapshot_id)], None
        try:
            header, _ = avro_file.decode_header(data)
            entries = decode_manifest(data, manifest, schema=metadata.schema(), specs=metadata.specs_by_id())
            for entry in entries:
                require_entry_shape(entry)
            known = ManifestHeader.of(header)
            state = avro_file.checksum_state(data)
        except Exception as error:  # on a damaged file nearly any may be raised
            finding = Finding(Check.UNREADABLE, path, _reason(error), "a manifest", snapshot_id=snapshot_id)
            return [finding], None
        found = list(_damage(path, state, snapshot_id))
        try:
            of_list = list(list_entry_findings(manifest, len(data), known, entries, metadata))
            of_entries = list(entry_findings(manifest, entries, metadata))
        except (TypeError, ValueError, ArithmeticError) as error:
            # Partition values that are of no type of the table's. The files may still be read.
            of_list, of_entries = [], [Finding(Check.PARTITION_VALUE, path, _reason(error), "values of its spec")]
        if of_list:
            self._miscounted.add(path)
        found += [replace(one, snapshot_id=snapshot_id) for one in (*of_list, *of_entries)]
        totals = totals_of(entry.file for entry in entries if entry.is_live)
        return found, _Manifest(entries, totals)

    # snapshots

    def _check_snapshots(self) -> None:
        heads = {one.snapshot_id for one in self._metadata.refs.values()}
        for snapshot in self._metadata.snapshots:
            listed = self._lists.get(snapshot.snapshot_id)
            if listed is None:
                continue
            self._findings += self._of_list(snapshot, listed)
            read = [(one, self._manifests[one]) for one in listed]
            known = [(one, found) for one, found in read if found is not None]
            if len(known) == len(read):
                totals = sum((found.totals for _, found in known), Counter[str]())
                wrong = list(total_findings(snapshot, totals))
                if wrong:
                    self._wrong_totals.add(snapshot.snapshot_id)
                self._findings += wrong
                own = [
                    entry
                    for one, found in known
                    if one.added_snapshot_id == snapshot.snapshot_id
                    for entry in found.entries
                    if entry.snapshot_id == snapshot.snapshot_id
                ]
                self._findings += change_findings(snapshot, own)
            if snapshot.snapshot_id in heads:
                self._check_head(snapshot, known, is_whole=len(known) == len(read))

    def _of_list(self, snapshot: Snapshot, listed: Sequence[ManifestFile]) -> Iterator[Finding]:
        path, id = snapshot.manifest_list, snapshot.snapshot_id
        repeated = [name for name, count in Counter(one.path for one in listed).items() if count > 1]
        for name in repeated:
            yield Finding(Check.DUPLICATE, path, f"the manifest {name} twice", "each manifest once", snapshot_id=id)
        for one in listed:
            if one.sequence_number > snapshot.sequence_number:
                found = f"{one.path} of sequence number {one.sequence_number}"
                expected = f"at most {snapshot.sequence_number}, the snapshot's"
                yield Finding(Check.SEQUENCE_NUMBER, path, found, expected, snapshot_id=id)
            lacks_ids = one.content == ManifestContent.DATA and one.first_row_id is None
            if lacks_ids and snapshot.first_row_id is not None:
                found = f"{one.path} without first_row_id"
                yield Finding(Check.ROW_ID, path, found, "one, from format version 3 on", snapshot_id=id)

    def _check_head(
        self, snapshot: Snapshot, known: Sequence[tuple[ManifestFile, _Manifest]], *, is_whole: bool
    ) -> None:
        id, path = snapshot.snapshot_id, snapshot.manifest_list
        live = [(one.path, entry) for one, found in known for entry in found.live]
        self._findings += duplicate_findings(live, id, path)
        if self._metadata.next_row_id is not None:
            self._findings += row_id_findings(live, id, self._metadata.next_row_id)
        deletes = [entry for _, entry in live if entry.file.content != Content.DATA]
        for name in repeated_vectors(deletes):
            found = f"two deletion vectors of {name}"
            self._findings.append(Finding(Check.DELETION_VECTOR, path, found, "one at most", snapshot_id=id))
        for key in unplaced_vectors(deletes):
            found = "its entry lacks the data file or the place"
            self._findings.append(Finding(Check.DELETION_VECTOR, key[0], found, "both", snapshot_id=id))
        if not is_whole or id not in {one.snapshot_id for one in self._metadata.refs.values() if one.type == "branch"}:
            # A delete may apply to files of the manifests that are lost; and what is tagged stays as it is.
            return
        data = (entry for _, entry in live if entry.file.content == Content.DATA)
        specs = self._metadata.specs_by_id()
        dangling = {entry.file.key: reason for entry, reason in dangling_deletes(data, deletes, specs)}
        self._findings += [
            Finding(Check.DANGLING_DELETE, file, reason, "a data file to apply to", Severity.NOTICE, id)
            for (file, _), reason in dangling.items()
        ]

    # content files

    def _check_files(self, newest: Mapping[ManifestFile, int]) -> None:
        files: dict[ContentKey, tuple[ContentFile, int]] = {}
        for key, found in self._manifests.items():
            for entry in () if found is None else found.live:
                files.setdefault(entry.file.key, (entry.file, newest[key]))
        sizes = self._sizes({file.file_path for file, _ in files.values()} | set(self._metadata.statistics_files()))
        for file, id in files.values():
            finding = _size_finding(file.file_path, sizes[file.file_path], file.file_size_in_bytes, "file", id)
            if finding is not None:
                self._findings.append(finding)
            # A location that cannot be read here may be one of another engine's.
            if finding is not None and finding.check != Check.UNREADABLE:
                self._lost_files.add(file.key)
        for one in (*self._metadata.statistics, *self._metadata.partition_statistics):
            path, told = str(one["statistics-path"]), one.get("file-size-in-bytes")
            finding = _size_finding(path, sizes[path], told, "file of statistics", one.get("snapshot-id"))
            if finding is not None:
                self._findings.append(replace(finding, severity=Severity.WARNING))
        for one in self._metadata.statistics:
            data = _read(self._io, str(one["statistics-path"]))
            if isinstance(data, bytes):
                damage = _damage(str(one["statistics-path"]), puffin.checksum_state(data), one.get("snapshot-id"))
                self._findings += [replace(finding, severity=Severity.WARNING) for finding in damage]
        there = [
            (file, id) for file, id in files.values() if file.is_deletion_vector and file.key not in self._lost_files
        ]
        self._check_vectors(there)

    def _check_vectors(self, vectors: Collection[tuple[ContentFile, int]]) -> None:
        def read(one: tuple[ContentFile, int]) -> Finding | None:
            file, id = one
            try:
                read_deletion_vector(self._io, file)
            except StorageError:
                raise
            except (SqlextError, OSError) as error:
                found = _reason(error)
                return Finding(Check.DELETION_VECTOR, file.file_path, found, "its deletion vector", snapshot_id=id)
            return None

        for (file, _), finding in zip(vectors, self._each(read, vectors), strict=True):
            if finding is not None:
                self._findings.append(finding)
                self._lost_files.add(file.key)
        for path, id in {file.file_path: id for file, id in vectors}.items():
            data = _read(self._io, path)
            # Why it cannot be read is told by its vectors.
            self._findings += _damage(path, puffin.checksum_state(data), id) if isinstance(data, bytes) else ()

    def _sizes(self, paths: Collection[str]) -> Mapping[str, int | str | None]:
        """The size of each file; None if it is missing, and why it cannot be read as text. One listing tells those in
        the table's folder."""
        listed = {same_place(one.path): one.size for one in self._io.list(self._metadata.location)}
        elsewhere = [path for path in paths if same_place(path) not in listed]

        def size(path: str) -> int | str | None:
            try:
                return self._io.size(path)
            except FileNotFoundError:
                return None
            except (AnalysisError, UnsupportedError) as error:
                return str(error)

        asked = dict(zip(elsewhere, self._each(size, elsewhere), strict=True))
        return {path: listed.get(same_place(path), asked.get(path)) for path in paths}


@dataclass(frozen=True, slots=True)
class _Unread:
    """Why there are no bytes of a file."""

    check: Check
    found: str


def _read(io: FileIO, path: str) -> bytes | _Unread:
    """Raises StorageError if the store does not answer, which says nothing about the file."""
    try:
        return io.read(path)
    except FileNotFoundError:
        return _Unread(Check.MISSING, "no file")
    except (AnalysisError, UnsupportedError) as error:
        return _Unread(Check.UNREADABLE, str(error))


def _damage(path: str, state: ChecksumState, snapshot_id: int | None) -> Iterator[Finding]:
    if state == ChecksumState.WRONG:
        yield Finding(Check.CHECKSUM, path, CHECKSUM_FOUND, CHECKSUM_EXPECTED, snapshot_id=snapshot_id)


def _size_finding(path: str, size: int | str | None, told: Any, kind: str, snapshot_id: int | None) -> Finding | None:
    if size is None:
        return Finding(Check.MISSING, path, "no file", f"the {kind}", snapshot_id=snapshot_id)
    if isinstance(size, str):
        return Finding(Check.UNREADABLE, path, size, f"the {kind}", snapshot_id=snapshot_id)
    if told is not None and size != told:
        return Finding(Check.SIZE, path, f"{size} bytes", str(told), snapshot_id=snapshot_id)
    return None


def _reason(error: Exception) -> str:
    if isinstance(error, SqlextError):
        return str(error.parameters.get("reason", error))
    return str(error) or type(error).__name__
