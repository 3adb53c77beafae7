"""Repair of stored changelogs: one that cannot be read gives way to changes that are computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sqlext.catalog.catalog import Catalog
from sqlext.command.doctor.examination import Examination
from sqlext.command.doctor.repair import Repair
from sqlext.scan.checks.finding import Severity
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import BEGINNING, INPUT, StoredChangelog, manifest_list_location
from sqlext.spec.metadata.table_metadata import TableMetadata


def remove_damaged_changelogs(catalog: Catalog, examination: Examination) -> Iterator[Repair]:
    """Deletes the manifest lists of damaged changelogs, the only files that a repair deletes: a changelog without one
    is missing to its readers, which compute its changes. Raises StorageError, and as `Catalog.owned_by`."""
    table = examination.table
    faults = [one for one in examination.changelogs.findings if one.severity == Severity.ERROR]
    if table is None or not faults:
        return
    owns = catalog.owned_by(table)
    for snapshot in table.metadata.snapshots:
        stored = StoredChangelog.of(snapshot)
        paths = dict.fromkeys(one.path for one in faults if one.snapshot_id == snapshot.snapshot_id)
        if stored is None or not paths:
            continue
        path = manifest_list_location(table.metadata, stored.id)
        if not _can_be_computed(table.metadata, snapshot, stored):
            done = "not done: its changes cannot be computed, since the snapshot before them has expired"
        elif not owns(path):
            done = f"not done: delete {path}, and its changes are computed"
        else:
            with suppress(FileNotFoundError):
                catalog.io.delete(path)
            done = f"{path} is deleted, so that the changes are computed; {_lost(stored)}"
        for one in paths:
            yield Repair(one, done)


def _can_be_computed(metadata: TableMetadata, snapshot: Snapshot, stored: StoredChangelog) -> bool:
    """Whether the snapshots are known between which the changes lie."""
    if stored.span is not None:
        since, until = stored.span
        known = since == BEGINNING or metadata.snapshot_or_none(since) is not None
        return known and metadata.snapshot_or_none(until) is not None
    parent_id = snapshot.parent_snapshot_id
    return parent_id is None or metadata.snapshot_or_none(parent_id) is not None


def _lost(stored: StoredChangelog) -> str:
    if stored.producer == INPUT:
        return "the rows as they were given are lost, and their net effect is not"
    return "nothing is lost"
