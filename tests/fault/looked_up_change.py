"""A simulated statement on real files whose changes are stored with it, as `changelog-producer` = `lookup` asks for: by
the code that does it in a session, and without one, which it needs for changes that are many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from simulator.statements import Change, Rows, live_rows_at
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.changelog_files import changelog_files
from sqlext.command.care_tasks import CareTasks
from sqlext.command.changelog.changelog_recorder import LookupRecorder
from sqlext.command.environment import Environment
from sqlext.commit.action import Action
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spec.metadata.stored_changelog import StoredChangelog, manifest_list_location
from sqlext.storage.location import to_local_path
from sqlext.write.merged_file import merge_data_files


@dataclass
class LookedUpChange(Change):
    """A change whose snapshot tells what it took and brought."""

    def _commit(self, process: Any, action: Action, base: LoadedTable | None) -> None:
        assert base is not None
        environment = _environment(process)
        recorder = LookupRecorder(environment, None, process.catalog.name, base)  # type: ignore[arg-type]
        super()._commit(process, RecordedAction(action, recorder), base)


def _environment(process: Any) -> Environment:
    catalogs = Catalogs(OpenCatalogs(lambda name, options: process.catalog), RememberedMetadata(), process.io)
    catalogs.opened.initialize(process.catalog.name, {})
    given: dict[str, Any] = {name: getattr(process, name) for name in ("clock", "rng", "sleep", "queue")}
    return Environment(
        catalogs,
        ScanBridge(catalogs, process.manifests, PositionDeleteCache()),
        **given,
        transactions=OpenTransactions(catalogs, process.rng),
        groups=GroupCommitters(**given, merge=merge_data_files),
        care=CareTasks(process.clock),
    )


def require_changelogs(process: Any, table: LoadedTable, told: str) -> set[str]:
    """What every stored changelog of the table takes and brings leads from the rows before its snapshot to those after
    it. The changelogs whose files are there and that no snapshot names."""
    metadata = table.metadata
    named = set()
    for snapshot in metadata.snapshots:
        stored = StoredChangelog.of(snapshot)
        if stored is None:
            continue
        named.add(stored.id)
        assert process.io.exists(manifest_list_location(metadata, stored.id)), told
        parent = snapshot.parent_snapshot_id
        rows = Counter() if parent is None else _rows(process, table, parent)
        for id, file in changelog_files(process.io, metadata):
            if id == stored.id and file.path.endswith(".parquet"):
                for change in pq.read_table(to_local_path(file.path)).to_pylist():
                    row = change["id"], change["text"]
                    rows[row] += 1 if change["_row_kind"] in ("+I", "+U") else -1
        assert {row: count for row, count in rows.items() if count} == _rows(process, table, snapshot.snapshot_id), told
    return {id for id, _ in changelog_files(process.io, metadata)} - named


def _rows(process: Any, table: LoadedTable, snapshot_id: int) -> Rows:
    live, stored = live_rows_at(process, table.metadata, table.metadata.snapshot(snapshot_id))
    return Counter(stored[path][1][at] for path, positions in live.items() for at in positions)
