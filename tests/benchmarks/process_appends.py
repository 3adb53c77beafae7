"""Appends of files to one table by processes of one machine, without SQL: how many land in a second.

Each process has one or more threads, each of which appends one file after the other. The files are not there.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.group.group_committer import GroupCommitter
from sqlext.commit.group.host_committer import HostCommitter
from sqlext.commit.group.host_socket import MeetingPlace
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.transaction import CommitOutcome, commit
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField
from sqlext.storage.file_io import LocalFileIO

SECONDS = 10
WAYS = ("none", "process", "host")
SHAPES = ((1, 1), (1, 8), (8, 1), (2, 8))
_TABLE = TableIdentifier(("db",), "t")


def process_appends(bench: Bench) -> Iterator[Result]:
    """Seconds for each commit, by the value of the catalog's `group-commit`; a table without it for each."""
    if bench.system.name != "sqlext":
        return
    for processes, threads in SHAPES:
        for way in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                yield _measured(Path(folder), processes, threads, way)


def _measured(folder: Path, processes: int, threads: int, way: str) -> Result:
    catalog = _catalog(folder)
    catalog.create_namespace(_TABLE.namespace, {})
    location = catalog.default_table_location(_TABLE)
    table = CreateTable(
        schema=Schema((NestedField(1, "id", LongType()),)), spec=UNPARTITIONED, sort_order=UNSORTED, properties={},
        format_version=2, location=location, initial=None,
    )  # fmt: skip
    commit(catalog, _TABLE, table, base=None, clock=_now_ms, rng=random.Random(1), sleep=time.sleep)
    context = multiprocessing.get_context("spawn")
    begin, end, told = context.Barrier(processes), context.Barrier(processes), context.SimpleQueue()
    started = [
        context.Process(target=_append, args=(str(folder), number, threads, way, begin, end, told))
        for number in range(processes)
    ]
    for process in started:
        process.start()
    of_each = [told.get() for _ in started]
    for process in started:
        process.join()
    landed, cpu = sum(count for count, _, _ in of_each), sum(seconds for _, seconds, _ in of_each)
    snapshot = catalog.load_table(_TABLE).metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary["total-data-files"] == str(landed)
    slowest = max(seconds for _, _, seconds in of_each)
    mode = f"{way}: {landed / SECONDS:.0f} a second, the slowest {slowest:.1f} s"
    case = f"{processes} processes with {threads} threads"
    return Result("process_appends", case, "sqlext", mode, Cost(SECONDS / landed, cpu / landed), "")


def _append(folder: str, number: int, threads: int, way: str, begin: Barrier, end: Barrier, told: Any) -> None:
    """In a process of its own; tells how many have landed, its CPU seconds, and the seconds of the slowest."""
    catalog = _catalog(Path(folder))
    first, append = catalog.load_table(_TABLE), _appender(catalog, Path(folder), number, way)
    landed, slowest, lock = [0], [0.0], threading.Lock()

    def write(thread: int) -> None:
        table, finish, serial = first, time.monotonic() + SECONDS, 0
        while (before := time.monotonic()) < finish:
            path = f"{first.metadata.location}/data/{number}-{thread}-{serial}.parquet"
            table = append(AppendFiles([ContentFile(Content.DATA, path, "PARQUET", 0, (), 1, 900)]), table).table
            serial += 1
            with lock:
                landed[0] += 1
                slowest[0] = max(slowest[0], time.monotonic() - before)

    begin.wait()
    cpu = time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(threads)))
    cpu = time.process_time() - cpu
    end.wait()  # who commits for the others is there until all have landed
    told.put((landed[0], cpu, slowest[0]))


def _appender(
    catalog: WarehouseCatalog, folder: Path, number: int, way: str
) -> Callable[[AppendFiles, LoadedTable], CommitOutcome]:
    rng, queue = random.Random(number), AttemptQueue()
    match way:
        case "process":
            group = GroupCommitter(catalog, clock=_now_ms, rng=rng, queue=queue)
            return lambda action, base: group.commit(_TABLE, action, base=base)
        case "host":

            def place() -> MeetingPlace:
                return MeetingPlace.of(str(folder), {"XDG_RUNTIME_DIR": str(folder)})

            host = HostCommitter(catalog, place, clock=_now_ms, rng=rng, queue=queue)
            return lambda action, base: host.commit(_TABLE, action, base=base)
    return lambda action, base: commit(
        catalog, _TABLE, action, base=base, clock=_now_ms, rng=rng, sleep=time.sleep, queue=queue
    )


def _catalog(folder: Path) -> WarehouseCatalog:
    return WarehouseCatalog("lake", str(folder / "warehouse"), LocalFileIO())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
