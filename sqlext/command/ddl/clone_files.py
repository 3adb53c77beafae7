"""When a shallow clone no more needs the files of its source, and may be treated as any table."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.clone_tag import is_clone
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError
from sqlext.properties import GC_ENABLED


def require_collectable(environment: Environment, catalog: str, table: LoadedTable) -> None:
    """Raises AnalysisError TABLE_PROPERTY_REFUSED if a snapshot of the clone names a file that is not its own: with
    `gc.enabled` other engines would delete that file when the snapshot expires. Reads all manifests of the table; any
    other table passes.

    Files that a snapshot has removed count too, since an expiry deletes these.
    """
    if not is_clone(table.metadata):
        return
    owns = environment.catalogs.opened.of(catalog).catalog.owned_by(table)
    for snapshot_id, path in _files(environment, catalog, table):
        if not owns(path):
            raise AnalysisError(
                "TABLE_PROPERTY_REFUSED",
                name=GC_ENABLED.name,
                value="true",
                reason=f"the snapshot {snapshot_id} of the clone names {path}, which is a file of another table",
                way_out="CALL rewrite_data_files with the option rewrite-all, commit once more, and CALL"
                " expire_snapshots, until no snapshot names such a file",
            )


def _files(environment: Environment, catalog: str, table: LoadedTable) -> Iterator[tuple[int, str]]:
    """The files of all snapshots, with the id of the snapshot."""
    io, manifests, metadata = environment.catalogs.catalog(catalog).io, environment.scans.manifests, table.metadata
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        if snapshot.manifest_list:
            yield snapshot.snapshot_id, snapshot.manifest_list
        for manifest in manifests.manifests(io, snapshot):
            if manifest.path in seen:
                continue
            seen.add(manifest.path)
            yield snapshot.snapshot_id, manifest.path
            for entry in manifests.entries(io, manifest, metadata):
                yield snapshot.snapshot_id, entry.file.file_path
