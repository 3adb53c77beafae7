"""Random histories of a keyed table, with the rows that each snapshot must keep."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from small_tables import rows_of
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.branch_move import MoveBranch, RollbackToSnapshot
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference, DropReference
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import same_place
from unit.command.lake import Lake

_CREATE = "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) {partitioned} TBLPROPERTIES ({properties})"


class RandomHistory:
    """A table `t` of `lake`; `seed` replays it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lake = Lake(folder)
        properties = {
            "format-version": str(self.rng.choice([2, 3])),
            "commit.manifest.min-count-to-merge": str(self.rng.choice([2, 3, 100])),
        }
        written = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        partitioned = self.rng.choice(["", "PARTITIONED BY (bucket(4, id))"])
        self.lake.create(_CREATE.format(partitioned=partitioned, properties=written))
        self.rows: dict[int, Sequence[Any]] = {}
        """The rows at each snapshot, sorted."""

    def step(self) -> None:
        """One statement; the clock goes on by up to an hour."""
        self.lake.clock.now_ms += self.rng.randrange(3_600_000)
        statement = self.rng.choice(
            [self._append, self._append, self._upsert, self._delete, self._branch, self._roll_back, self._set]
        )
        statement()
        table = self.lake.load()
        for snapshot in table.metadata.snapshots:
            if snapshot.snapshot_id not in self.rows:
                self.rows[snapshot.snapshot_id] = rows_at(table, snapshot.snapshot_id)

    def require_kept(self) -> None:
        """Each snapshot that the table has must give the rows that it had."""
        table = self.lake.load()
        for snapshot in table.metadata.snapshots:
            assert rows_at(table, snapshot.snapshot_id) == self.rows[snapshot.snapshot_id]

    def _append(self) -> None:
        # With keys that are there already: each row is one of the model.
        self.lake.append(id=self._keys(), s=self.rng.choices(["a", "b"], k=2))

    def _upsert(self) -> None:
        self.lake.upsert(id=self._keys(), s=self.rng.choices(["a", "b"], k=2))

    def _delete(self) -> None:
        tasks = self.lake.tasks()
        if tasks:
            task = self.rng.choice(tasks)
            self.lake.delete({task.file.file_path: [self.rng.randrange(task.file.record_count)]})

    def _branch(self) -> None:
        metadata = self.lake.load().metadata
        if not metadata.snapshots:
            return
        names = sorted(metadata.refs.keys() - {"main"})
        if names and self.rng.random() < 0.5:
            name = self.rng.choice(names)
            kind = metadata.refs[name].type
            if kind == "branch" and self.rng.random() < 0.5:
                self.lake.commit(AppendFiles(()), destination=Destination(name))
            else:
                self.lake.commit(DropReference(name, kind))
            return
        at = self.rng.choice(metadata.snapshots).snapshot_id
        kind = self.rng.choice(("branch", "tag"))
        name = f"{kind}{self.rng.randrange(3)}"
        self.lake.commit(CreateReference(name, "branch" if kind == "branch" else "tag", at, if_not_exists=True))

    def _roll_back(self) -> None:
        metadata = self.lake.load().metadata
        head = metadata.current_snapshot()
        parent = None if head is None else head.parent_snapshot_id
        if parent is not None and metadata.snapshot_or_none(parent) is not None:
            self.lake.commit(MoveBranch(RollbackToSnapshot(parent)))

    def _set(self) -> None:
        self.lake.commit(ChangeProperties({"note": str(self.rng.random())}))

    def _keys(self) -> list[int]:
        return self.rng.sample(range(12), 2)


def rows_at(table: LoadedTable, snapshot_id: int) -> Sequence[Any]:
    """The rows of a snapshot, sorted."""
    rows = rows_of(replace(table, metadata=replace(table.metadata, current_snapshot_id=snapshot_id)))
    return sorted((tuple(row.items()) for row in rows), key=repr)


def needed(table: LoadedTable) -> set[str]:
    """The places of the files that the table needs, by reading everything that it names."""
    metadata, folder = table.metadata, table.metadata_location.rpartition("/")[0]
    paths = [table.metadata_location, f"{folder}/version-hint.text"]
    paths += [entry.metadata_file for entry in metadata.metadata_log]
    for snapshot in metadata.snapshots:
        paths.append(snapshot.manifest_list)
        for manifest in ManifestCache(0).manifests(LocalFileIO(), snapshot):
            paths.append(manifest.path)
            live = ManifestCache(0).live_entries(LocalFileIO(), manifest, metadata)
            paths += [entry.file.file_path for entry in live]
    return set(map(same_place, paths))


def stored(table: LoadedTable) -> set[str]:
    """The places of all files below the table's folder."""
    return {same_place(file.path) for file in LocalFileIO().list(table.metadata.location)}
