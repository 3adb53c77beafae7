"""Changes of rows that are stored with their commit: by the code that stores a table's changelogs, but for what
compares the rows, which a simulation has in memory."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.files import changelog_file
from simulator.statements import Change, Rows, live_rows_at
from simulator.world import Process
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action, StagedChange
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.commit.snapshot.changelog_storage import remove_changelog, write_changelog_manifests
from sqlext.errors import SqlextError
from sqlext.spec.metadata.metadata_update import apply_updates
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import CHANGELOG_ID, LOOKUP, StoredChangelog, changelog_folder
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass
class RecordedChange(Change):
    """A change whose snapshot tells what it took and brought."""

    changelog_ids: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Not the process's: what it does besides stays what it is.
        self.changelog_ids = random.Random(f"changelogs of {self.name}")

    def _commit(self, process: Process, action: Action, base: LoadedTable | None) -> None:
        assert base is not None
        recorder = SimulatedRecorder(process, base.metadata, self.changelog_ids)
        super()._commit(process, RecordedAction(action, recorder), base)


@dataclass
class SimulatedRecorder:
    """As `Recorder`."""

    process: Process
    metadata: TableMetadata
    ids: random.Random

    def record(self, change: StagedChange, snapshot: Snapshot) -> Mapping[str, str]:
        if snapshot.operation == "append":
            return {}
        metadata = apply_updates(change.start, change.updates, now_ms=snapshot.timestamp_ms)
        parent = snapshot.parent_snapshot_id
        before = Counter() if parent is None else self._rows(metadata, metadata.snapshot(parent))
        after = self._rows(metadata, snapshot)
        id, io = str(uuid.UUID(int=self.ids.getrandbits(128), version=4)), self.process.io
        changes = [(*row, "-D") for row in sorted((before - after).elements())]
        changes += [(*row, "+I") for row in sorted((after - before).elements())]
        try:
            location = f"{changelog_folder(metadata)}/00000-{id}.parquet"
            files = [changelog_file(io, location, changes)] if changes else []
            write_changelog_manifests(io, metadata, id, files)
        except SqlextError:
            remove_changelog(io, metadata, id)
            raise
        return StoredChangelog(id, LOOKUP).summary()

    def discard(self, entries: Mapping[str, str]) -> None:
        remove_changelog(self.process.io, self.metadata, entries[CHANGELOG_ID])

    def _rows(self, metadata: TableMetadata, snapshot: Snapshot) -> Rows:
        live, stored = live_rows_at(self.process, metadata, snapshot)
        return Counter(stored[path][1][at] for path, positions in live.items() for at in positions)
