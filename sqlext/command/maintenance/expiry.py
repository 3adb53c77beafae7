"""Expiry of snapshots, with the files that only they needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import astuple, dataclass

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.command.environment import Environment
from sqlext.command.maintenance.file_deletion import deleted
from sqlext.command.maintenance.unreachable_files import UnreachableFiles, unreachable_files
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.errors import NotFoundError, SqlextError
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.metadata.metadata_update import RemoveSnapshots
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """Numbers of files, by kind, that an expiry has deleted. Files of stored changelogs are not counted."""

    data_files: int = 0
    position_delete_files: int = 0
    equality_delete_files: int = 0
    manifests: int = 0
    manifest_lists: int = 0
    statistics_files: int = 0

    @property
    def total(self) -> int:
        return sum(astuple(self))


def expire_snapshots(
    environment: Environment, catalog_name: str, table: LoadedTable, action: ExpireSnapshots, threads: int
) -> ExpiredFiles:
    """Commits `action`, then deletes those files in `threads` threads that no remaining snapshot needs and that are the
    table's own.

    They are looked for before the commit, so that nothing changes if a file of a remaining snapshot cannot be read.
    Raises NotFoundError SNAPSHOT_NOT_FOUND for one of `action.snapshot_ids`, and as `ExpireSnapshots`,
    `Catalog.owned_by`, `Environment.commit` and `unreachable_files`.
    """
    catalog = environment.catalogs.catalog(catalog_name)
    name, before = CatalogNames(catalog.name).table(table.identifier), table.metadata
    for missing in sorted(action.snapshot_ids - _ids(before)):
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=missing, name=name)
    owns = catalog.owned_by(table)
    expected = RemoveSnapshots(action.expired(before, name, environment.clock()).snapshot_ids).apply(before)
    files = unreachable_files(catalog.io, environment.scans.manifests, before, expected)
    after = environment.commit(catalog_name, table, action).table
    if _ids(after.metadata) != _ids(expected):
        # Other commits came first, or more has expired since.
        before = _base_of(catalog, table, after)
        files = unreachable_files(catalog.io, environment.scans.manifests, before, after.metadata)
    gone: set[str] = set()
    for paths in files.in_order:
        gone |= deleted(catalog.io, [path for path in paths if owns(path)], threads)
    return _counted(files, gone)


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


def _counted(files: UnreachableFiles, gone: AbstractSet[str]) -> ExpiredFiles:
    content = Counter(kind for path, kind in files.content.items() if path in gone)
    return ExpiredFiles(
        content[Content.DATA],
        content[Content.POSITION_DELETES],
        content[Content.EQUALITY_DELETES],
        len(files.manifests & gone),
        len(files.manifest_lists & gone),
        len(files.statistics & gone),
    )
