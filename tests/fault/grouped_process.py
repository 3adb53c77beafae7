"""Real processes that commit together, one of them for the others."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fault.writing_process import POINTS, TABLE, FaultyIO, LocalProcess
from simulator.statements import Change, Files
from small_tables import serves
from sqlext.commit.group.host_committer import HostCommitter
from sqlext.commit.group.host_socket import MeetingPlace
from sqlext.commit.group.small_files import SmallFiles


class GroupedProcess(LocalProcess):
    """A process whose changes go through the committer of the machine."""

    def __init__(
        self,
        options: Mapping[str, str],
        runtime: Path,
        seed: object = 0,
        io: FaultyIO | None = None,
        small: SmallFiles | None = None,
    ) -> None:
        super().__init__(options, seed, io)
        self.committer = HostCommitter(
            self.catalog,
            lambda: MeetingPlace.of("settings", {"XDG_RUNTIME_DIR": str(runtime)}),
            clock=self.clock,
            rng=self.rng,
            small=small,
        )

    def change(self, statement: Change) -> None:
        """Errors as of a commit."""
        base = self.catalog.load_table(TABLE)
        action = statement.planned(self, base, Files(self, statement.name))  # type: ignore[arg-type]
        self.committer.commit(TABLE, action, base=base)


def write_together_until_killed(options: Mapping[str, str], runtime: Path, run: int, sender: Any) -> None:
    """Tells each statement's name before it begins, and again when it is acknowledged."""
    process = GroupedProcess(options, runtime, f"run {run}")
    for number in itertools.count():
        kind = ("append", "upsert")[number % 2]
        statement = Change(f"{run}.{number}", TABLE, kind=kind, ids=frozenset((run * 1000 + number,)))
        sender.send(statement.name)
        process.change(statement)
        sender.send(statement.name)


def serve_and_be_killed(folder: Path, runtime: Path, point: str, befalls: Callable[[Any], Any], ready: Any) -> None:
    """Commits for others, until the fault point comes in a change of theirs."""
    io = FaultyIO()
    process = GroupedProcess({"warehouse": str(folder)}, runtime, "serving", io)
    process.change(Change("first", TABLE, kind="append", ids=frozenset((1,))))
    assert serves(process.committer)
    io.point, io.left, io.befalls = POINTS[point], 1, befalls
    ready.set()
    while True:
        time.sleep(60)


def serve_fork_and_be_killed(folder: Path, runtime: Path, sender: Any) -> None:
    """Leaves a child behind that has inherited all open files, and tells its number."""
    process = GroupedProcess({"warehouse": str(folder)}, runtime, "serving")
    process.change(Change("first", TABLE, kind="append", ids=frozenset((1,))))
    child = os.fork()
    if child == 0:
        time.sleep(120)
        os._exit(0)
    sender.send(child)
    os.kill(os.getpid(), signal.SIGKILL)
