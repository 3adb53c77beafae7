"""Copies of a table's metadata in which the locations begin with another prefix, and the list of the files to copy.

Files that name others are written to a staging folder; what is only named by them is listed as it is. Nothing of the
table changes.
"""

from __future__ import annotations

import csv
import uuid
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from itertools import takewhile

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError, NotFoundError, UnsupportedError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.manifests.moved_manifest import (
    ListedFile,
    MovedManifest,
    listed_deletes,
    moved_data_manifest,
    moved_delete_manifest,
    moved_manifest_list,
)
from sqlext.spec.manifests.path_prefix import PathOutsidePrefix, PathPrefix, below
from sqlext.spec.metadata.moved_metadata import moved_metadata
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import in_threads
from sqlext.storage.location import same_place
from sqlext.write.moved_delete_file import moved_position_deletes

_FILE_LIST = "file-list"


@dataclass(frozen=True, slots=True)
class RewrittenPaths:
    """`latest_version` is the name of the newest metadata file, `file_list` the location of the list if there is one.
    The numbers are those of rewritten manifests and of delete files and deletion vectors."""

    latest_version: str
    file_list: str | None
    manifests: int
    delete_files: int


def rewrite_table_path(
    environment: Environment,
    catalog: str,
    table: LoadedTable,
    prefix: PathPrefix,
    *,
    start_version: str | None = None,
    end_version: str | None = None,
    staging: str | None = None,
    file_list: bool = True,
) -> RewrittenPaths:
    """Rewrites the versions after `start_version` up to `end_version`, names of metadata files; by default all that the
    table knows. What the start version has is taken to be copied already.

    The staging folder is by default a new one beside the metadata files. Raises AnalysisError VERSION_NOT_FOUND,
    UnsupportedError TABLE_PATH_NOT_REWRITTEN for a table with files that are not below the prefix, or that cannot be
    rewritten, and for other ones NotFoundError and CorruptionError.
    """
    name = handle_of(catalog, table).full_name
    io = environment.catalogs.catalog(catalog).io
    if staging is None:
        unique = uuid.UUID(int=environment.rng.getrandbits(128), version=4)
        staging = f"{table.metadata_location.rpartition('/')[0]}/copy-table-staging-{unique}"
    versions = _Versions(io, table, name, start_version, end_version)
    copy = _Copy(io, environment.scans.manifests, prefix, staging.rstrip("/"), versions)
    try:
        copy.run()
    except PathOutsidePrefix as outside:
        reason = f"its file {outside.path} is not below {prefix.source}"
        raise UnsupportedError("TABLE_PATH_NOT_REWRITTEN", name=name, reason=reason) from None
    location = below(staging, _FILE_LIST) if file_list else None
    if location is not None:
        copy.stage_at(location, _as_csv(copy.pairs))
    return RewrittenPaths(versions.end.rpartition("/")[2], location, len(copy.manifests), len(copy.delete_files))


class _Versions:
    """Locations of the metadata files to copy."""

    def __init__(self, io: FileIO, table: LoadedTable, name: str, start: str | None, end: str | None) -> None:
        self.name = name
        self._io = io
        self._known = [table.metadata_location, *(one.metadata_file for one in reversed(table.metadata.metadata_log))]
        self.start = None if start is None else self._location(start)
        self.end = table.metadata_location if end is None else self._location(end)
        if self.start is not None and same_place(self.start) not in map(same_place, self._log):
            raise AnalysisError("VERSION_NOT_FOUND", version=start, name=name, place=f"before {end or 'the newest'}")

    @cached_property
    def end_metadata(self) -> TableMetadata:
        return self.metadata(self.end, self.read(self.end))

    @cached_property
    def start_metadata(self) -> TableMetadata | None:
        return None if self.start is None else self.metadata(self.start, self.read(self.start))

    @property
    def to_copy(self) -> list[str]:
        """After the start up to the end, newest first."""
        start = None if self.start is None else same_place(self.start)
        return [self.end, *takewhile(lambda one: same_place(one) != start, self._log)]

    def read(self, location: str) -> bytes:
        """Raises NotFoundError FILE_NOT_FOUND."""
        try:
            return self._io.read(location)
        except FileNotFoundError:
            raise NotFoundError("FILE_NOT_FOUND", path=location, kind="metadata file") from None

    @staticmethod
    def metadata(location: str, data: bytes) -> TableMetadata:
        return decode_table_metadata(data, location)

    @cached_property
    def _log(self) -> list[str]:
        return [one.metadata_file for one in reversed(self.end_metadata.metadata_log)]

    def _location(self, version: str) -> str:
        found = next((one for one in self._known if one.rpartition("/")[2] == version), None)
        if found is None:
            raise AnalysisError("VERSION_NOT_FOUND", version=version, name=self.name, place="in its metadata log")
        return found


@dataclass(frozen=True, slots=True)
class _Listed:
    """What snapshots list: manifests by location, and with their entries the locations of live files."""

    manifests: Mapping[str, ManifestFile] = field(default_factory=dict)
    files: AbstractSet[str] = frozenset()


class _Copy:
    """One run; `pairs` are the files to copy, from where to where."""

    def __init__(
        self, io: FileIO, manifests: ManifestCache, prefix: PathPrefix, staging: str, versions: _Versions
    ) -> None:
        self._io = io
        self._cache = manifests
        self._prefix = prefix
        self._staging = staging
        self._versions = versions
        self.pairs: set[tuple[str, str]] = set()
        self.manifests: list[str] = []
        self.delete_files: set[tuple[str, int | None]] = set()

    def run(self) -> None:
        end, known = self._versions.end_metadata, self._known()
        self._require_movable(end)
        for location in self._versions.to_copy:
            self._copy_version(location, frozenset(end.statistics_files()))
        start = self._versions.start_metadata
        ids = frozenset(() if start is None else (one.snapshot_id for one in start.snapshots))
        snapshots = [one for one in end.snapshots if one.snapshot_id not in ids]
        listed = self._listed(snapshots)
        self.manifests = [path for path in listed if path not in known.manifests]
        lengths = self._copy_manifests(listed, known)
        for snapshot in snapshots:
            path = snapshot.manifest_list
            self._stage(path, moved_manifest_list(self._read(path, "manifest list"), path, self._prefix, lengths))

    def stage_at(self, location: str, data: bytes) -> None:
        """Writes a file of the staging folder; one of an earlier call is replaced."""
        try:
            self._io.create(location, data)
        except FileExistsError:
            self._io.replace(location, data)

    def _require_movable(self, metadata: TableMetadata) -> None:
        """Raises UnsupportedError TABLE_PATH_NOT_REWRITTEN."""
        if any(spec.fixed_type_field(metadata.schema()) is not None for spec in metadata.partition_specs):
            self._refuse("it is partitioned by values of the type fixed, which Iceberg does not encode as it should")
        if any(one.embedded_manifests for one in metadata.snapshots):
            self._refuse("a snapshot lists its manifests itself, without a manifest list")

    def _refuse(self, reason: str) -> None:
        raise UnsupportedError("TABLE_PATH_NOT_REWRITTEN", name=self._versions.name, reason=reason)

    def _known(self) -> _Listed:
        """What the start version has."""
        start = self._versions.start_metadata
        if start is None:
            return _Listed()
        manifests = self._listed(start.snapshots)
        live = self._cache.live_entries_of(self._io, manifests.values(), start)
        return _Listed(manifests, {entry.file.file_path for entry in live})

    def _listed(self, snapshots: Sequence[Snapshot]) -> dict[str, ManifestFile]:
        found: dict[str, ManifestFile] = {}
        for manifests in in_threads(lambda one: self._cache.manifests(self._io, one), snapshots):
            found.update((manifest.path, manifest) for manifest in manifests)
        return found

    def _copy_version(self, location: str, statistics: AbstractSet[str]) -> None:
        """Stages a metadata file. Its statistics may have been deleted since, unless they are among `statistics`."""
        data = self._versions.read(location)
        metadata = self._versions.metadata(location, data)
        self._stage(location, moved_metadata(data, self._prefix))
        for path in metadata.statistics_files():
            if path in statistics or self._io.exists(path):
                self.pairs.add((path, self._prefix.moved(path)))

    def _copy_manifests(self, listed: Mapping[str, ManifestFile], known: _Listed) -> Mapping[str, int]:
        """Stages the manifests that are not known, and their position deletes. Returns the lengths of all, since
        manifest lists name known ones too."""
        deletes = [one for one in listed.values() if one.content == ManifestContent.DELETES]
        found = in_threads(lambda one: listed_deletes(self._cache.read(self._io, one), one.path), deletes)
        formats: dict[str, str] = {}
        for manifest, files in zip(deletes, found, strict=True):
            for file in files:
                if file.is_live and file.content == Content.POSITION_DELETES:
                    formats[file.path] = file.file_format
                    if manifest.path not in known.manifests:
                        self.delete_files.add((file.path, file.offset))
        sizes = dict(in_threads(lambda one: self._copy_deletes(*one, known), formats.items()))

        def moved(manifest: ManifestFile) -> tuple[str, int, Sequence[ListedFile]]:
            changed = self._moved(manifest, sizes)
            if manifest.path in known.manifests:
                return manifest.path, len(changed.data), ()
            self._stage(manifest.path, changed.data)
            return manifest.path, len(changed.data), changed.files

        lengths: dict[str, int] = {}
        for path, length, told in in_threads(moved, listed.values()):
            lengths[path] = length
            self._list_files(told, known)
        return lengths

    def _moved(self, manifest: ManifestFile, sizes: Mapping[str, int]) -> MovedManifest:
        data = self._cache.read(self._io, manifest)
        if manifest.content == ManifestContent.DATA:
            return moved_data_manifest(data, manifest.path, self._prefix)
        return moved_delete_manifest(data, manifest.path, self._prefix, sizes)

    def _copy_deletes(self, path: str, file_format: str, known: _Listed) -> tuple[str, int]:
        """The location and new size of a file of position deletes, which is staged unless it is known."""
        data = moved_position_deletes(self._read(path, "delete file"), path, file_format, self._prefix)
        if path not in known.files:
            self._stage(path, data)
        return path, len(data)

    def _list_files(self, files: Iterable[ListedFile], known: _Listed) -> None:
        """Adds the files that are copied as they are; a deleted one is not needed."""
        for file in files:
            if file.is_live and file.content != Content.POSITION_DELETES and file.path not in known.files:
                self.pairs.add((file.path, self._prefix.moved(file.path)))

    def _stage(self, path: str, data: bytes) -> None:
        staged = below(self._staging, self._prefix.relative(path))
        self.stage_at(staged, data)
        self.pairs.add((staged, self._prefix.moved(path)))

    def _read(self, path: str, kind: str) -> bytes:
        try:
            return self._io.read(path)
        except FileNotFoundError:
            raise NotFoundError("FILE_NOT_FOUND", path=path, kind=kind) from None


def _as_csv(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Lines of source and target, as Iceberg writes them; a location with a comma or a quote is quoted."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(sorted(pairs))
    return text.getvalue().encode()
