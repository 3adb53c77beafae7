"""Wall and CPU seconds of a piece of work; CPU is that of the whole process tree: Python, JVM, Python workers, and the
children they have reaped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that some work took, by the clock and by the processors."""

    wall: float
    cpu: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)


def tree_cpu_seconds() -> float:
    """CPU seconds that this process and all its descendants, dead ones included, have used so far."""
    this = psutil.Process()
    total = 0.0
    for process in [this, *this.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(work: Callable[[], object]) -> Cost:
    """Runs `work` once."""
    cpu, wall = tree_cpu_seconds(), time.monotonic()
    work()
    return Cost(time.monotonic() - wall, tree_cpu_seconds() - cpu)


def least(costs: list[Cost]) -> Cost:
    """The least wall and the least CPU of several runs, which need not be of one run: noise only ever adds."""
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs))
