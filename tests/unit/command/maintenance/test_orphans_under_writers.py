"""Orphan files are removed in rounds while others write, compact and expire, and leave files behind as if killed.

Each writer has keys of its own, and tells by its rows how many of its statements have landed (`CountedHistory`). Every
thread has its own environment, as a process has.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from judges.counted_history import CountedHistory
from sqlext.catalog.catalog import LoadedTable
from sqlext.command.compaction.compaction import compact_table
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.command.maintenance.orphan_files import OrphanSearch, remove_orphan_files
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.errors import ValidationConflict
from sqlext.write.data_writer import DataWriter
from unit.command.lake import Lake, name, rows_for
from unit.command.maintenance.random_history import needed, rows_at, stored

WRITERS = 2
# What a file's time may lag behind the clock.
LAG_MS = 50
CREATE = "CREATE TABLE t (id BIGINT, n BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{version}', {more})"
PROPERTIES = (
    "'write.metadata.delete-after-commit.enabled'='true', 'write.metadata.previous-versions-max'='5',"
    " 'commit.manifest.min-count-to-merge'='3'"
)


class Running:
    """When the statements that run have begun: files from before that are of none of them."""

    def __init__(self) -> None:
        self._begun_ms: dict[object, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def statement(self) -> Iterator[None]:
        key = object()
        with self._lock:
            self._begun_ms[key] = time.time() * 1000
        try:
            yield
        finally:
            with self._lock:
                del self._begun_ms[key]

    def all_since_ms(self) -> int:
        with self._lock:
            return int(min(self._begun_ms.values(), default=time.time() * 1000)) - LAG_MS


class Writer:
    """Upserts of its own keys, one after another."""

    def __init__(self, folder: Path, number: int, seed: int) -> None:
        self._lake, self._rng = Lake(folder, seed=seed), random.Random(seed)
        self.history = CountedHistory(number, seed, deletes=False)
        self.count = 0

    def step(self) -> None:
        rows = self.history.statement(self.count + 1)
        while not self._lands(rows):
            pass
        self.count += 1
        if self._rng.random() < 0.2:
            self._killed()

    def _lands(self, rows: Mapping[int, int | None]) -> bool:
        """Whether the statement is not refused because the snapshot that it read has expired."""
        try:
            self._lake.upsert(id=list(rows), n=list(rows.values()))
        except ValidationConflict:
            return False
        return True

    def _killed(self) -> None:
        """A statement that ends between its data file and its commit."""
        target = self._lake.target()
        operation = begin_write(target.written_as, target.version.io, "t", self._lake.environment.rng)
        writer = DataWriter(operation.io, operation.plan, 0, 0)
        for batch in rows_for(target, id=[1], n=[-1]).to_batches():
            writer.write(batch)
        writer.close()


class Keeper:
    """Compactions and expiries."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._lake, self._rng = Lake(folder, seed=seed), random.Random(seed)

    def step(self) -> None:
        if self._rng.random() < 0.6:
            compact_table(self._lake.environment, None, name(), full=self._rng.random() < 0.5)
            return
        expiry = ExpireSnapshots(older_than_ms=10**15, retain_last=self._rng.randint(2, 12))
        try:
            expire_snapshots(self._lake.environment, "lake", self._lake.load(), expiry)
        except ValidationConflict:
            return


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("rounds", [10, pytest.param(500, marks=pytest.mark.long)])
def test_no_file_that_is_needed_is_removed(tmp_path: Path, version: int, rounds: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    lake = Lake(tmp_path, seed=seed - 2)
    lake.create(CREATE.format(version=version, more=PROPERTIES))
    writers = [Writer(tmp_path, number, seed + number) for number in range(WRITERS)]
    for writer in writers:
        writer.step()
    failures: list[BaseException] = []
    ended = threading.Event()
    running = Running()
    threads = [_looped(one.step, running, failures, ended) for one in (*writers, Keeper(tmp_path, seed - 1))]  # type: ignore[attr-defined]
    removed = 0
    try:
        while rounds and not failures:
            kept = lake.commit(CreateReference("slow", "tag", None, or_replace=True)).metadata.refs["slow"].snapshot_id
            gone = _removed(lake, running.all_since_ms())
            removed += gone
            # A round without an orphan shows nothing.
            rounds -= bool(gone)
            rows = values_at(lake.load(), kept)
            for writer in writers:
                writer.history.require_state(rows)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    assert removed > 0
    _removed(lake, 10**15)
    table = lake.load()
    assert stored(table) == needed(table)
    for snapshot in table.metadata.snapshots:
        rows = values_at(table, snapshot.snapshot_id)
        landed = [writer.history.require_state(rows) for writer in writers]
    assert landed == [writer.count for writer in writers]


def values_at(table: LoadedTable, snapshot_id: int) -> dict[int, int]:
    """The rows of a snapshot: `n` by `id`."""
    found = [dict(row) for row in rows_at(table, snapshot_id)]
    values = {row["id"]: row["n"] for row in found}
    assert len(values) == len(found)
    return values


def _looped(
    step: Callable[[], None], running: Running, failures: list[BaseException], ended: threading.Event
) -> threading.Thread:
    def run() -> None:
        try:
            while not ended.is_set():
                with running.statement():
                    step()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def _removed(lake: Lake, older_than_ms: int) -> int:
    return len(remove_orphan_files(lake.environment, "lake", lake.load(), OrphanSearch(older_than_ms)))
