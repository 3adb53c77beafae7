"""Who waits how long for a commit, by the simulated clock: many writers that append to one table at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import pytest

from simulator.files import ROWS
from simulator.memory import pure_answers_kept
from simulator.statements import Change, Create, Statement
from simulator.world import Process, World
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.loop.attempt_queue import AttemptQueue

TABLE = TableIdentifier(("db",), "t")
WRITERS, EACH = 12, 5


@dataclass
class Timed(Change):
    """An append that tells how long it took, and how many others landed meanwhile; `all_landed` has each that did."""

    all_landed: list[Statement] = field(default_factory=list)
    took_ms: int = 0
    overtaken_by: int = 0

    def run(self, process: Process) -> None:
        begun_ms, before = process.clock(), len(self.all_landed)
        super().run(process)
        self.took_ms, self.overtaken_by = process.clock() - begun_ms, len(self.all_landed) - before
        self.all_landed.append(self)


def appends(seed: int, *, are_threads: bool) -> Sequence[Timed]:
    """By writers that have nothing else to do. Threads of one process have a queue."""
    ROWS.clear()
    with pure_answers_kept():
        world = World(seed)
        world.policy = "any"
        setup = Process(world, "setup", seed)
        setup.catalog.create_namespace(TABLE.namespace, {})
        setup.execute(Create("s0", TABLE))
        landed: list[Statement] = []
        statements = []
        queue = AttemptQueue(world.wait_for)
        for number in range(WRITERS):
            process = Process(world, f"p{number}", seed)
            if are_threads:
                process.queue = queue
            own = [Timed(f"p{number}.{one}", TABLE, ids=frozenset({one}), all_landed=landed) for one in range(EACH)]
            process.statements = list(own)
            statements += own
            world.processes.append(process)
        world.run()
        world.close()
    assert [one.outcome for one in statements] == ["acknowledged"] * (WRITERS * EACH)
    return statements


@pytest.mark.parametrize("seed", range(2))
def test_a_thread_is_overtaken_once_by_each_other_at_most(seed: int) -> None:
    """By those before it in the line; and by the first of all, which have met no line yet."""
    told = appends(seed, are_threads=True)

    assert max(one.overtaken_by for one in told) <= WRITERS
    assert max(one.took_ms for one in told) <= 3 * median(one.took_ms for one in told)


@pytest.mark.parametrize("seed", range(2))
def test_the_slowest_of_processes_waits_no_more_than_twenty_times_the_median(seed: int) -> None:
    told = appends(seed, are_threads=False)

    assert max(one.took_ms for one in told) <= 20 * median(one.took_ms for one in told)
