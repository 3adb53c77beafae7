"""Expiry of snapshots, with the files that only they needed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.command.environment import Environment
from sqlext.command.maintenance.file_deletion import deleted, deletes_in
from sqlext.command.maintenance.unreachable_files import NOTHING, UnreachableFiles, unreachable_files
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.errors import NotFoundError, SqlextError
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.metadata.metadata_update import RemoveSnapshots
from sqlext.spec.metadata.retention import Expired
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.allowed_locations import ALLOWED_LOCATIONS
from sqlext.storage.in_threads import Each, each_below

_LOG = logging.getLogger("sqlext")


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """The files that an expiry has deleted: `paths`, of those that it found `unreachable`; how many snapshots it
    removed; and how many stayed for each consumer alone."""

    unreachable: UnreachableFiles
    paths: frozenset[str]
    snapshots: int
    kept_for: Mapping[str, int] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """In words, for lists of tasks."""
        kept = "".join(f"; {count} kept for consumer {name}" for name, count in self.kept_for.items())
        return f"{self.snapshots} snapshots, {len(self.paths)} files{kept}"

    def content_files(self, kind: Content) -> int:
        """The number of data files, or delete files of a kind."""
        return sum(found == kind and path in self.paths for path, found in self.unreachable.content.items())

    @property
    def manifests(self) -> int:
        return len(self.unreachable.manifests & self.paths)

    @property
    def manifest_lists(self) -> int:
        return len(self.unreachable.manifest_lists & self.paths)

    @property
    def statistics_files(self) -> int:
        return len(self.unreachable.statistics & self.paths)


def expire_snapshots(
    environment: Environment, catalog_name: str, table: LoadedTable, action: ExpireSnapshots, each: Each | None = None
) -> ExpiredFiles:
    """Commits `action`, then deletes those files that no remaining snapshot needs and that are the table's own.

    `each` reads and deletes one or several files at a time; by default it is `each_below` the table's location.

    They are looked for before the commit, so that nothing changes if a file of a remaining snapshot cannot be read.
    Raises NotFoundError SNAPSHOT_NOT_FOUND for one of `action.snapshot_ids`, and as `ExpireSnapshots`,
    `Catalog.owned_by`, `Environment.commit` and `unreachable_files`.
    """
    catalog = environment.catalogs.catalog(catalog_name)
    owns = catalog.owned_by(table)
    if each is None:
        each = each_below(table.metadata.location)
    gone, expected, files = _planned(environment, catalog, table, action, each)
    before, after = table.metadata, environment.commit(catalog_name, table, action).table
    if _ids(after.metadata) != _ids(expected):
        # Other commits came first, or more has expired since.
        before = _base_of(catalog, table, after)
        files = _found_again(environment, catalog, before, after.metadata, each)
    removed: set[str] = set()
    for paths in files.in_order:
        removed |= deleted(catalog.io, paths, each, environment.progress, owns)
    environment.scans.manifests.forget(removed)
    if files != NOTHING and not deletes_in(catalog, table, table.metadata.location):
        _LOG.warning(
            "Files that only expired snapshots of %s needed are left, as files in %s are not the catalog's to delete."
            " Its setting %s may name the folder",
            CatalogNames(catalog.name).table(table.identifier),
            table.metadata.location,
            ALLOWED_LOCATIONS,
        )
    kept_for = {name: len(ids) for name, ids in gone.kept_for.items()}
    return ExpiredFiles(files, frozenset(removed), len(before.snapshots_not_in(after.metadata)), kept_for)


def expirable_files(
    environment: Environment, catalog_name: str, table: LoadedTable, action: ExpireSnapshots
) -> frozenset[str]:
    """The files that `expire_snapshots` would delete. Raises as it."""
    catalog = environment.catalogs.catalog(catalog_name)
    owns = catalog.owned_by(table)
    *_, files = _planned(environment, catalog, table, action, each_below(table.metadata.location))
    return frozenset(path for paths in files.in_order for path in paths if owns(path))


def _planned(
    environment: Environment, catalog: Catalog, table: LoadedTable, action: ExpireSnapshots, each: Each
) -> tuple[Expired, TableMetadata, UnreachableFiles]:
    """What expires now, the table without these snapshots, and the files that nothing needs then."""
    name, before = CatalogNames(catalog.name).table(table.identifier), table.metadata
    for missing in sorted(action.snapshot_ids - _ids(before)):
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=missing, name=name)
    gone = action.expired(before, name, environment.clock())
    expected = RemoveSnapshots(gone.snapshot_ids).apply(before)
    return gone, expected, unreachable_files(catalog.io, environment.scans.manifests, before, expected, each)


def _found_again(
    environment: Environment, catalog: Catalog, before: TableMetadata, after: TableMetadata, each: Each
) -> UnreachableFiles:
    """The unreachable files after the commit; none if they cannot be told, which are then left as orphan files."""
    try:
        return unreachable_files(catalog.io, environment.scans.manifests, before, after, each)
    except (SqlextError, OSError) as failure:
        _LOG.warning("Files of expired snapshots of %s are left as orphan files: %s", after.location, failure)
        return NOTHING


def _base_of(catalog: Catalog, planned_on: LoadedTable, landed: LoadedTable) -> TableMetadata:
    """The version that the commit replaced; `planned_on` if it cannot be read, so that files of newer snapshots that
    have expired already are left as orphan files."""
    log = landed.metadata.metadata_log
    if log and log[-1].metadata_file != planned_on.metadata_location:
        with suppress(SqlextError, OSError):
            return catalog.load_version(landed, log[-1].metadata_file).metadata
    return planned_on.metadata


def _ids(metadata: TableMetadata) -> AbstractSet[int]:
    return {one.snapshot_id for one in metadata.snapshots}
