"""Threads that commit to one table: they wait for the commit that is under way, and land together with the next."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from small_tables import (
    ORDERS,
    InterruptedIO,
    Writer,
    data_file,
    equality_deletes,
    files_below,
    ids_read_by_pyiceberg,
    rows_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.catalog_settings import GroupCommit
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.group_committer import GroupCommitter
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.errors import CommitConflict, NotFoundError, ValidationConflict
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.merged_file import merge_data_files

THREADS = 6


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _committer(folder: Path, io: LocalFileIO | None = None) -> GroupCommitter:
    return GroupCommitter(warehouse_catalog(folder, io), clock=_now_ms, rng=random.Random(99))


def _append(table: LoadedTable, *ids: int) -> AppendFiles:
    return AppendFiles((data_file(table.metadata, ids),))


class Gate:
    """Holds the first commit that comes to its metadata file until it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self.versions = 0

    def __call__(self, location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json"):
            self.versions += 1
            if not self.reached.is_set():
                self.reached.set()
                assert self.open.wait(30)
        create()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path), seed=1)
    writer.create()
    return writer


def _waiting(committer: GroupCommitter, count: int) -> None:
    """Until so many changes wait for the commit that is under way."""
    for _ in range(3000):
        if len(committer._tables[ORDERS].waiting) == count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{len(committer._tables[ORDERS].waiting)} wait, not {count}")


def test_what_waits_for_a_commit_lands_with_the_next(tmp_path: Path, writer: Writer) -> None:
    gate = Gate()
    committer = _committer(tmp_path, InterruptedIO(gate))
    base = writer.load()
    with ThreadPoolExecutor(THREADS) as pool:
        first = pool.submit(committer.commit, ORDERS, _append(base, 0), base=base)
        assert gate.reached.wait(30)
        others = [pool.submit(committer.commit, ORDERS, _append(base, n), base=base) for n in range(1, THREADS)]
        _waiting(committer, THREADS - 1)
        gate.open.set()
        outcomes = [one.result(30) for one in (first, *others)]

    table = writer.load()
    assert ids_read_by_pyiceberg(table) == list(range(THREADS))
    assert gate.versions == 2
    assert [one.summary["added-data-files"] for one in table.metadata.snapshots] == ["1", str(THREADS - 1)]
    assert {one.table.metadata_location for one in outcomes[1:]} == {table.metadata_location}
    assert all(one.attempts == 1 for one in outcomes)


def test_each_thread_gets_its_own_error(tmp_path: Path, writer: Writer) -> None:
    gate = Gate()
    committer = _committer(tmp_path, InterruptedIO(gate))
    base = writer.append(1).table
    missing = OverwriteFiles((), (data_file(base.metadata, [5]),), base_snapshot_id=base.metadata.current_snapshot_id)
    replaced = LoadedTable(ORDERS, base.metadata, "file:///unheard-of.metadata.json")
    upsert = RowDelta((data_file(base.metadata, [1]),), (equality_deletes(base.metadata, [1]),))
    with ThreadPoolExecutor(THREADS) as pool:
        pool.submit(committer.commit, ORDERS, _append(base, 0), base=base)
        assert gate.reached.wait(30)
        good = pool.submit(committer.commit, ORDERS, upsert, base=replaced)
        rule = pool.submit(committer.commit, ORDERS, ChangeProperties({"x": "y"}), base=base)
        rule.result(30)
        bad = pool.submit(committer.commit, ORDERS, missing, base=base)
        _waiting(committer, 2)
        gate.open.set()
        assert isinstance(good.result(30), CommitOutcome)
        with pytest.raises(ValidationConflict):
            bad.result(30)

    assert sorted(row["id"] for row in rows_of(writer.load())) == [0, 1]
    assert writer.load().metadata.properties["x"] == "y"


def test_a_table_that_was_dropped_is_an_error_for_each(tmp_path: Path, writer: Writer) -> None:
    committer = _committer(tmp_path)
    base = writer.append(1).table
    file = _append(base, 2)
    writer.catalog.drop_table(ORDERS, purge=False)
    for _ in range(2):
        with pytest.raises((NotFoundError, CommitConflict)):
            committer.commit(ORDERS, file, base=base)
    assert not files_below(tmp_path)


def test_other_processes_commit_in_between(tmp_path: Path, writer: Writer) -> None:
    committer = _committer(tmp_path)
    for number in range(0, 8, 2):
        base = writer.load()
        committer.commit(ORDERS, _append(base, number), base=base)
        writer.append(number + 1)

    assert ids_read_by_pyiceberg(writer.load()) == list(range(8))
    assert len(writer.load().metadata.snapshots) == 8


def test_many_threads_with_changes_of_all_kinds(tmp_path: Path, writer: Writer) -> None:
    before = threading.enumerate()
    committer = _committer(tmp_path)

    def write(thread: int) -> int:
        versions = set()
        for number in range(5):
            base = committer._catalog.load_table(ORDERS)
            key = 1000 + thread
            head = base.metadata.current_snapshot_id
            rows, deletes = data_file(base.metadata, [key]), equality_deletes(base.metadata, [key])
            for action in (_append(base, thread * 5 + number), RowDelta((rows,), (deletes,), base_snapshot_id=head)):
                versions.add(committer.commit(ORDERS, action, base=base).table.metadata_location)
        return len(versions)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, range(THREADS)))
    table = writer.load()
    assert sorted(row["id"] for row in rows_of(table)) == [*range(5 * THREADS), *range(1000, 1000 + THREADS)]
    assert len(table.metadata.metadata_log) < 10 * THREADS
    begun = (one for one in threading.enumerate() if one.name.startswith("group commit") and one not in before)
    assert not [one for one in begun if not _ends(one)]


def _ends(thread: threading.Thread) -> bool:
    thread.join(30)
    return not thread.is_alive()


def test_a_change_that_is_taken_back_leaves_no_files(tmp_path: Path, writer: Writer) -> None:
    gate = Gate()
    committer = _committer(tmp_path, InterruptedIO(gate))
    base = writer.load()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(committer.commit, ORDERS, _append(base, 0), base=base)
        assert gate.reached.wait(30)
        second = pool.submit(committer.commit, ORDERS, _append(base, 1), base=base)
        _waiting(committer, 1)
        (waiting,) = committer._tables[ORDERS].waiting
        # As the interrupt of the thread that waits.
        committer._withdraw(ORDERS, waiting)
        waiting.verdict = KeyboardInterrupt()
        waiting.done.set()
        gate.open.set()
        first.result(30)
        with pytest.raises(KeyboardInterrupt):
            second.result(30)

    assert ids_read_by_pyiceberg(writer.load()) == [0]
    assert len([name for name in files_below(tmp_path) if name.endswith(".parquet")]) == 1


def test_a_catalog_that_takes_the_name_of_another_has_its_own(tmp_path: Path) -> None:
    given: dict[str, Any] = {"clock": _now_ms, "rng": random.Random(1), "sleep": time.sleep, "queue": AttemptQueue()}
    groups = GroupCommitters(**given, merge=merge_data_files)
    first, second = warehouse_catalog(tmp_path), warehouse_catalog(tmp_path)
    assert groups.of(first, GroupCommit()) is groups.of(first, GroupCommit())
    assert groups.of(second, GroupCommit()) is not groups.of(first, GroupCommit())
