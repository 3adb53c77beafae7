"""The files that snapshots of a table list: manifest lists, manifests and content files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sqlext.command.maintenance.file_places import FilePlaces
from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.manifests.manifest import ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ListedManifests:
    """Locations of manifest lists, and the manifests in them by location."""

    manifest_lists: frozenset[str]
    manifests: Mapping[str, ManifestFile]


class SnapshotFiles:
    """Reads what snapshots list, one or several files at a time, as `each` does.

    With `lost_is_empty` a manifest list or manifest that is missing or damaged counts as empty. Without, it raises
    NotFoundError or CorruptionError, so that no file is taken for unreachable because its manifest was not read.
    """

    def __init__(self, io: FileIO, manifests: ManifestCache, each: Each, *, lost_is_empty: bool = False) -> None:
        self._io = io
        self._manifests = manifests
        self._each = each
        self._lost_is_empty = lost_is_empty

    def listed(self, snapshots: Collection[Snapshot]) -> ListedManifests:
        """The manifests of all of `snapshots`, each once."""
        found: dict[str, ManifestFile] = {}
        for manifests in self._each(self._of_snapshot, snapshots):
            for manifest in manifests:
                found.setdefault(manifest.path, manifest)
        lists = (snapshot.manifest_list for snapshot in snapshots)
        return ListedManifests(frozenset(path for path in lists if path), found)

    def live(self, manifests: Collection[ManifestFile], metadata: TableMetadata) -> dict[str, Content]:
        """The kind of each content file that is live in one of `manifests`, by location."""

        def of_manifest(manifest: ManifestFile) -> Mapping[str, Content]:
            return self._read(lambda: self._live_of(manifest, metadata), {})

        found: dict[str, Content] = {}
        for files in self._each(of_manifest, manifests):
            found.update(files)
        return found

    def live_at(
        self, paths: AbstractSet[str], manifests: Collection[ManifestFile], metadata: TableMetadata, places: FilePlaces
    ) -> set[str]:
        """Those of `paths`, without scheme and authority, at which a content file is live in one of `manifests`."""

        def of_manifest(manifest: ManifestFile) -> AbstractSet[str]:
            nothing: Mapping[str, Content] = {}
            live = self._read(lambda: self._live_of(manifest, metadata), nothing)
            found = (place.path for location in live for place in places.needed_for(location))
            return {path for path in found if path in paths}

        found: set[str] = set()
        for some in self._each(of_manifest, manifests if paths else ()):
            found |= some
        return found

    def _of_snapshot(self, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        return self._read(lambda: self._manifests.manifests(self._io, snapshot), ())

    def _live_of(self, manifest: ManifestFile, metadata: TableMetadata) -> Mapping[str, Content]:
        columns = self._manifests.columns(self._io, manifest, metadata)
        if columns is None:
            live = self._manifests.live_entries(self._io, manifest, metadata)
            return {entry.file.file_path: entry.file.content for entry in live}
        found: dict[str, Content] = {}
        for part in columns:
            rows = np.flatnonzero(part.is_live).tolist()
            paths = (path.decode() for path in part.file_path.pick(rows) if path is not None)
            found.update(zip(paths, (Content(kind or 0) for kind in part.content.pick(rows)), strict=True))
        return found

    def _read(self, read: Callable[[], R], empty: R) -> R:
        try:
            return read()
        except (NotFoundError, CorruptionError):
            if not self._lost_is_empty:
                raise
            return empty
