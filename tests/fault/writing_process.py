"""Real processes that run the simulator's statements on real files, and that something befalls at a fault point."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fault.looked_up_change import LookedUpChange
from simulator.faults import CHANGELOG_POINTS
from simulator.statements import Change, Compact, Create, Drop, Replace, Rows, Statement, live_rows
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.errors import CommitStateUnknown, SqlextError, StorageError, ValidationConflict
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.storage.file_io import FolderIO, LocalFileIO
from sqlext.testing.file_kind import kind_of
from sqlext.testing.watched_io import WatchedIO

# A fork of a process that has threads may hang.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["fault.writing_process", "sqlext.commit.group.host_committer", "psycopg"])


class FaultyIO(WatchedIO):
    """Local files; `befalls` runs in place of the `nth` effect of an operation on a kind of file."""

    def __init__(
        self,
        point: tuple[str, str] | None = None,
        nth: int = 1,
        befalls: Callable[[Callable[[], Any]], Any] | None = None,
    ) -> None:
        super().__init__(LocalFileIO(), self._at)
        self.point = point
        self.left = nth
        self.befalls = befalls

    @property
    def is_reached(self) -> bool:
        return self.left == 0

    def _at(self, operation: str, location: str, effect: Callable[[], Any]) -> Any:
        if self.befalls is not None and (operation, kind_of(location)) == self.point:
            self.left -= 1
            if self.left == 0:
                return self.befalls(effect)
        return effect()


class LocalProcess:
    """What a statement needs of the process that runs it."""

    def __init__(self, options: Mapping[str, str], seed: object = 0, io: FolderIO | None = None) -> None:
        self.catalog = open_catalog("lake", options)
        if io is not None:
            self.catalog._io = io  # type: ignore[attr-defined]
        self.io = self.catalog.io
        self.manifests = ManifestCache()
        self.queue = AttemptQueue()
        self.rng = random.Random(f"process {seed}")

    def with_namespace(self) -> LocalProcess:
        """Itself, once the namespace of its tables is there."""
        if not self.catalog.namespace_exists(TABLE.namespace):
            self.catalog.create_namespace(TABLE.namespace, {})
        return self

    def clock(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def run(self, statement: Statement) -> str:
        """How it ended: acknowledged, refused or unknown."""
        try:
            statement.run(self)  # type: ignore[arg-type]
        except CommitStateUnknown as error:
            statement.error = error
            return "unknown"
        except SqlextError as error:
            statement.error = error
            return "refused"
        return "acknowledged"

    def rows(self, statement: Statement) -> Rows | None:
        """The rows of the statement's table; None where there is none."""
        if not self.catalog.table_exists(statement.table):
            return None
        table = self.catalog.load_table(statement.table)
        live, stored = live_rows(self, table, "main")  # type: ignore[arg-type]
        return Counter(stored[path][1][at] for path, positions in live.items() for at in positions)


def refuse(effect: Callable[[], Any]) -> None:
    raise StorageError("STORAGE_FAILURE", operation="Writing", path="it", reason="No space left on device")


def lose_the_answer(effect: Callable[[], Any]) -> None:
    effect()
    raise TimeoutError("no answer")


def kill_before(effect: Callable[[], Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_after(effect: Callable[[], Any]) -> None:
    effect()
    os.kill(os.getpid(), signal.SIGKILL)


TABLE = TableIdentifier(("db",), "t")
PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "1",
    "commit.manifest.min-count-to-merge": "2",
    "commit.status-check.min-wait-ms": "1",
}
OPERATIONS: Mapping[str, Callable[[], Statement]] = {
    "append": lambda: Change("x", TABLE, kind="append", ids=frozenset((1, 7))),
    "overwrite": lambda: Change("x", TABLE, kind="copy", ids=frozenset((1,))),
    "upsert": lambda: Change("x", TABLE, kind="upsert", ids=frozenset((1, 7))),
    "merge": lambda: Change("x", TABLE, kind="merge", ids=frozenset((1, 7))),
    "delete": lambda: Change("x", TABLE, kind="delete", ids=frozenset((1,))),
    "compact": lambda: Compact("x", TABLE),
    "create": lambda: Create("x", TABLE, with_row=True),
    "replace": lambda: Replace("x", TABLE, with_row=True),
    "drop": lambda: Drop("x", TABLE),
}
RECORDED: Mapping[str, Callable[[], Statement]] = {
    "overwrite": lambda: LookedUpChange("x", TABLE, kind="copy", ids=frozenset((1,))),
    "merge": lambda: LookedUpChange("x", TABLE, kind="merge", ids=frozenset((1, 7))),
    "delete": lambda: LookedUpChange("x", TABLE, kind="delete", ids=frozenset((1,))),
}
"""Operations that store what they change with their commit."""
POINTS = {
    "data file": ("create", "data file"),
    "deletion vector": ("create", "deletion vector"),
    "manifest": ("create", "manifest"),
    "manifest list": ("create", "manifest list"),
    "compare-and-swap": ("create", "table metadata"),
    "hint": ("replace", "hint"),
    "trimming": ("delete", "table metadata"),
    "folder": ("delete_folder", "folder"),
}
POINTS_OF_RECORDS = {
    **{name: at for name, at in CHANGELOG_POINTS.items() if at[0] == "create"},
    **{name: POINTS[name] for name in ("manifest list", "compare-and-swap")},
}
FAULTS = {"error": refuse, "lost answer": lose_the_answer, "kill before": kill_before, "kill after": kill_after}


def outcome_under(fault: str, at: tuple[str, str], folder: Path, statement: Statement) -> str:
    """How the statement ends which the fault befalls at that point: as `LocalProcess.run` tells it, or killed."""
    if "kill" not in fault:
        return _run_befallen(folder, statement, at, FAULTS[fault])
    child = processes.Process(target=_run_befallen, args=(folder, statement, at, FAULTS[fault]))
    child.start()
    child.join()
    return "killed" if child.exitcode == -9 else "acknowledged"


def _run_befallen(folder: Path, statement: Statement, at: tuple[str, str], befalls: Callable[[Any], Any]) -> str:
    return LocalProcess({"warehouse": str(folder)}, "child", FaultyIO(at, 1, befalls)).run(statement)


def outcomes_around(at: tuple[str, str], folder: Path, slow: Statement, other: Statement) -> tuple[str, str]:
    """Of two statements: `slow` stands still at that point until `other` has ended."""
    still, go = threading.Event(), threading.Event()

    def stand_still(effect: Callable[[], Any]) -> Any:
        still.set()
        go.wait()
        return effect()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(_run_befallen, folder, slow, at, stand_still)
        future.add_done_callback(lambda _: still.set())
        still.wait()
        others = LocalProcess({"warehouse": str(folder)}, "meanwhile").run(other)
        go.set()
        return future.result(), others


def write_until_killed(options: Mapping[str, str], run: int, sender: Any) -> None:
    """Tells each statement's name before it begins, and again when it is acknowledged; compacts between them."""
    process = LocalProcess(options, f"run {run}")
    for number in itertools.count():
        kind = ("append", "upsert")[number % 2]
        statement = Change(f"{run}.{number}", TABLE, kind=kind, ids=frozenset((run * 1000 + number,)))
        sender.send(statement.name)
        outcome = process.run(statement)
        assert outcome == "acknowledged", statement.error
        sender.send(statement.name)
        if number % 4 == 3:
            compaction = Compact(f"{run}.{number}c", TABLE)
            assert process.run(compaction) == "acknowledged", compaction.error


def race(options: Mapping[str, str], racer: int, rounds: int, start: Any, results: Any) -> None:
    """Appends, upserts the racer's own key and counts, in turns; a count that others overtook is tried again."""
    process = LocalProcess(options, f"racer {racer}")
    answers = []
    start.wait()
    for number in range(rounds):
        own = frozenset((1000 + racer,))
        for letter, kind, ids in (
            ("a", "append", frozenset((1,))),
            ("u", "upsert", own),
            ("n", "update", frozenset((0,))),
        ):
            for attempt in itertools.count():
                statement = Change(f"{letter}{racer}.{number};", TABLE, kind=kind, ids=ids)
                outcome = process.run(statement)
                if not isinstance(statement.error, ValidationConflict):
                    break
                process.sleep(process.rng.uniform(0, 0.1 * 2 ** min(attempt, 4)))
            answers.append((statement.name, outcome, str(statement.error)))
    results.put(answers)
