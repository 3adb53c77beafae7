"""Orphan files: those in a table's folders that no version of the table needs, such as what killed writers left."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.metadata_file import version_number
from sqlext.catalog.owned_files import own_folders
from sqlext.command.environment import Environment
from sqlext.command.maintenance.file_deletion import deleted, deletes_in
from sqlext.command.maintenance.file_places import FilePlaces, NeededFiles
from sqlext.command.maintenance.needed_files import needed_files
from sqlext.command.maintenance.other_tables import (
    folders_of_other_tables,
    is_in_one_of,
    metadata_files_around,
    unknown_metadata_files,
)
from sqlext.commit.loop.same_table import require_same_table
from sqlext.errors import AnalysisError, NotFoundError, UnsupportedError
from sqlext.properties import GC_ENABLED
from sqlext.spark.session.work_progress import WorkProgress
from sqlext.spec.metadata.stored_changelog import changelog_folder, changelog_id
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.allowed_locations import ALLOWED_LOCATIONS, is_within
from sqlext.storage.file_io import FileIO, FileStatus
from sqlext.storage.in_threads import Each, each_below
from sqlext.storage.location import is_below, metadata_location, same_place

LEAST_AGE_MS = 24 * 60 * 60 * 1000
"""A younger file may be one of a statement or stream that is still running."""
DEFAULT_AGE_MS = 3 * LEAST_AGE_MS
"""Iceberg's default."""
# Unfinished files of killed processes (`storage.file_io`).
_TEMPORARY = re.compile(r"\.sqlext-[0-9a-f]{32}\.tmp")


class PrefixMismatch(Enum):
    """What becomes of a file whose path a version needs with another scheme or authority before it."""

    ERROR = "ERROR"
    IGNORE = "IGNORE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """Which files are looked at: those last changed before `older_than_ms` (since 1970) in `location`, by default the
    table's; with `files` only these, in place of a listing.

    Another `location` must be in the table's folder, its data path or its metadata path. The latter two are looked
    through only if they are named, since other tables may have their files there.

    `equal_schemes` and `equal_authorities` are as in `FilePlaces`.
    """

    older_than_ms: int
    location: str | None = None
    files: Sequence[FileStatus] | None = None
    equal_schemes: Mapping[str, str] = field(default_factory=dict)
    equal_authorities: Mapping[str, str] = field(default_factory=dict)
    prefix_mismatch: PrefixMismatch = PrefixMismatch.ERROR


def orphan_files(
    environment: Environment, catalog_name: str, table: LoadedTable, search: OrphanSearch
) -> Sequence[str]:
    """The locations of orphan files that are the table's to delete, sorted; of `v<N>` metadata files only the oldest.

    The files are listed before the versions are read that may need them, and the table is loaded once more at the end:
    a file that is committed meanwhile is no orphan. Files in hidden folders are left out, except partitions and stored
    changelogs.

    Raises UnsupportedError FILES_ARE_SHARED, FOLDER_OF_TWO_TABLES, or UNSUPPORTED_CATALOG_OPERATION for a folder in
    which the catalog deletes nothing, AnalysisError LOCATION_NOT_OF_TABLE or
    PREFIX_MISMATCH, errors of `Catalog.owned_by`, and those of reading if a file of a snapshot cannot be read.
    """
    catalog = environment.catalogs.catalog(catalog_name)
    name = CatalogNames(catalog.name).table(table.identifier)
    if not GC_ENABLED.of(table.metadata.properties):
        raise UnsupportedError("FILES_ARE_SHARED", name=name, operation="Removing orphan files")
    if not table.metadata_location:
        raise UnsupportedError("METADATA_FILE_UNKNOWN", name=name)
    listed = _listed(catalog.io, table.metadata, search, name, environment.progress)
    folder = search.location or table.metadata.location
    if not deletes_in(catalog, table, folder):
        reason = f"files in {folder} are not this catalog's to delete"
        way_out = f"Name the folder in the catalog's setting {ALLOWED_LOCATIONS}."
        raise CatalogNames(catalog.name).unsupported(f"Removing orphan files of {name}", reason, way_out)
    of_metadata = [one.path for one in catalog.io.list(metadata_location(table.metadata))]
    current = _reloaded(catalog, table, name)
    while True:
        try:
            return _orphans(catalog, current, search, listed, of_metadata)
        except NotFoundError:
            newest = _reloaded(catalog, current, name)
            # An expiry meanwhile has deleted files of its snapshots.
            if not current.metadata.snapshots_not_in(newest.metadata):
                raise
            current = newest


def _orphans(
    catalog: Catalog,
    current: LoadedTable,
    search: OrphanSearch,
    listed: Sequence[FileStatus],
    of_metadata: Sequence[str],
) -> Sequence[str]:
    """As `orphan_files`, of the files `listed` and those in the metadata folder."""
    name = CatalogNames(catalog.name).table(current.identifier)
    paths = {one.path for one in listed}.union(of_metadata)
    if search.location is not None or search.files is not None:
        paths |= {*metadata_files_around(catalog.io, current, [one.path for one in listed])}
    unknown = unknown_metadata_files(catalog.io, current, paths, name)
    others = folders_of_other_tables(current, paths)
    owns = catalog.owned_by(current)
    found = [
        one.path
        for one in listed
        if one.modified_ms < search.older_than_ms and owns(one.path) and not is_in_one_of(others, one.path)
        if one.path not in unknown
    ]
    needed = NeededFiles(FilePlaces(search.equal_schemes, search.equal_authorities))
    needed.add(needed_files(catalog.io, current, paths))
    newest = _reloaded(catalog, current, name)
    if newest.metadata_location != current.metadata_location:
        needed.add(needed_files(catalog.io, newest, paths, known=current.metadata.snapshots))
    orphans = _not_needed(found, needed, search.prefix_mismatch, name)
    return sorted(_without_gaps(orphans, of_metadata))


def remove_orphan_files(
    environment: Environment, catalog_name: str, table: LoadedTable, search: OrphanSearch, each: Each | None = None
) -> Sequence[str]:
    """Deletes `orphan_files` and returns those that are gone; `each` is as in `expire_snapshots`. Raises as it."""
    orphans = orphan_files(environment, catalog_name, table, search)
    io = environment.catalogs.catalog(catalog_name).io
    if each is None:
        each = each_below(table.metadata.location)
    gone = set(deleted(io, [path for path in orphans if version_number(path) is None], each, environment.progress))
    for path in sorted((path for path in orphans if version_number(path) is not None), key=_number):
        # A version that is left behind a gap could be made again by a writer that has its predecessor.
        if not deleted(io, [path], map, environment.progress):
            break
        gone.add(path)
    return sorted(gone)


def _reloaded(catalog: Catalog, table: LoadedTable, name: str) -> LoadedTable:
    current = catalog.load_table(table.identifier)
    require_same_table(table.metadata, current.metadata, name)
    return current


def _listed(
    io: FileIO, metadata: TableMetadata, search: OrphanSearch, name: str, progress: WorkProgress
) -> list[FileStatus]:
    """The files to look at, each once, without those in hidden folders. Raises AnalysisError LOCATION_NOT_OF_TABLE."""
    own = own_folders(metadata)
    if search.location is not None and not any(is_within(folder, search.location) for folder in own):
        raise AnalysisError("LOCATION_NOT_OF_TABLE", location=search.location, name=name, folders=", ".join(own))
    folder = metadata.location if search.location is None else search.location
    # Iceberg looks into no other folder whose name begins so.
    partitions = tuple(f"{one.name}=" for spec in metadata.partition_specs for one in spec.fields)
    found: dict[str, FileStatus] = {}
    root = same_place(folder).rstrip("/") + "/"
    for one in progress.counted("list files", io.list(folder) if search.files is None else search.files):
        place = same_place(one.path)
        inner = place.removeprefix(root)
        if inner != place and not _is_hidden(inner, partitions, is_changelog=_is_changelog(metadata, one.path)):
            found.setdefault(place, one)
    return list(found.values())


def _is_changelog(metadata: TableMetadata, path: str) -> bool:
    return changelog_id(path) is not None and is_below(changelog_folder(metadata), path)


def _is_hidden(inner: str, partitions: tuple[str, ...], *, is_changelog: bool) -> bool:
    *folders, file = inner.split("/")
    parts = folders if _TEMPORARY.fullmatch(file) else (*folders, file)
    return not is_changelog and any(part.startswith(("_", ".")) and not part.startswith(partitions) for part in parts)


def _not_needed(
    found: Collection[str], needed: NeededFiles, prefix_mismatch: PrefixMismatch, name: str
) -> Iterator[str]:
    for path in found:
        if path in needed:
            continue
        prefixes = needed.mismatch(path)
        if prefixes is None or prefix_mismatch == PrefixMismatch.DELETE:
            yield path
        elif prefix_mismatch != PrefixMismatch.IGNORE:
            there, here = prefixes[1], prefixes[0]
            raise AnalysisError("PREFIX_MISMATCH", name=name, path=path, listed=here, needed=there)


def _without_gaps(orphans: Iterable[str], of_metadata: Collection[str]) -> Iterator[str]:
    """`orphans` without versions `v<N>` that are newer than the oldest one that stays."""
    paths = set(orphans)
    staying = (version_number(path) for path in of_metadata if path not in paths)
    oldest = min((number for number in staying if number is not None), default=None)
    for path in paths:
        number = version_number(path)
        if number is None or oldest is None or number < oldest:
            yield path


def _number(path: str) -> int:
    return version_number(path) or 0
