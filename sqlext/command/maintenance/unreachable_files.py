"""Files that only expired snapshots needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sqlext.catalog.changelog_files import changelog_files
from sqlext.command.maintenance.file_places import FilePlaces
from sqlext.command.maintenance.snapshot_files import SnapshotFiles
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import changelog_ids
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each


@dataclass(frozen=True, slots=True)
class UnreachableFiles:
    """Locations of files; `content` has the kind of each content file."""

    content: Mapping[str, Content]
    manifests: AbstractSet[str]
    manifest_lists: AbstractSet[str]
    statistics: AbstractSet[str]
    changelogs: AbstractSet[str]

    @property
    def in_order(self) -> Iterable[AbstractSet[str]]:
        """The files in the order to delete them in: what lists others comes after these, so that another call finds
        what a killed one has left."""
        return self.content.keys(), self.changelogs, self.statistics, self.manifests, self.manifest_lists


NOTHING = UnreachableFiles({}, frozenset(), frozenset(), frozenset(), frozenset())


def unreachable_files(
    io: FileIO, manifests: ManifestCache, before: TableMetadata, after: TableMetadata, each: Each
) -> UnreachableFiles:
    """Files that snapshots of `before` need and no snapshot of `after` does; `each` reads one or several at a time.

    A location may be spelled with another scheme in another snapshot, as engines do; files are equal by their paths.
    A file of an expired snapshot that cannot be read is passed over, with the files that it lists. Raises
    NotFoundError, CorruptionError or StorageError if a file of a remaining snapshot cannot be read.
    """
    gone = before.snapshots_not_in(after)
    if not gone:
        return NOTHING
    # What expired snapshots alone list is read once.
    of_gone = SnapshotFiles(io, ManifestCache(0), each, lost_is_empty=True)
    of_kept = SnapshotFiles(io, manifests, each)
    places = FilePlaces()
    kept = of_kept.listed(after.snapshots)
    listed = of_gone.listed(gone)
    unlisted = _apart(places, listed.manifests, kept.manifests)
    content = of_gone.live([listed.manifests[path] for path in unlisted], before)
    paths = {location: places.of(location).path for location in content}
    still_live = of_kept.live_at(frozenset(paths.values()), kept.manifests.values(), after, places)
    return UnreachableFiles(
        content={location: kind for location, kind in content.items() if paths[location] not in still_live},
        manifests=unlisted,
        manifest_lists=_apart(places, listed.manifest_lists, kept.manifest_lists),
        statistics=_apart(places, before.statistics_files(), after.statistics_files()),
        changelogs=_changelogs(io, before, gone, after.snapshots),
    )


def _apart(places: FilePlaces, locations: Iterable[str], kept: Iterable[str]) -> frozenset[str]:
    """The locations that are none of `kept`, which may be spelled in another way."""
    paths = {place.path for location in kept for place in places.needed_for(location)}
    return frozenset(location for location in locations if places.of(location).path not in paths)


def _changelogs(
    io: FileIO, metadata: TableMetadata, gone: Collection[Snapshot], kept: Collection[Snapshot]
) -> frozenset[str]:
    ids = changelog_ids(gone) - changelog_ids(kept)
    return frozenset(file.path for id, file in changelog_files(io, metadata) if id in ids) if ids else frozenset()
