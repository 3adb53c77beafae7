"""Wall and CPU seconds of a piece of work; CPU is that of the whole process tree: Python, JVM, Python workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

_SAMPLE_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that some work took, by the clock and by the processors."""

    wall: float
    cpu: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)

    def less(self, wall: float) -> Cost:
        """Without so many seconds by the clock that are not the work's."""
        return Cost(self.wall - wall, self.cpu)


class ProcessTree:
    """CPU seconds of this process and its descendants, each counted to where it was last seen.

    What the kernel adds up for reaped children is left out: Spark's Python daemon lets the kernel reap its workers,
    whose seconds would then vanish from the sum in mid-work.
    """

    def __init__(self) -> None:
        self._seconds: dict[psutil.Process, float] = {}

    def sample(self) -> float:
        """The sum so far; it never decreases."""
        this = psutil.Process()
        for process in [this, *this.children(recursive=True)]:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            self._seconds[process] = times.user + times.system
        return sum(self._seconds.values())


def measured(work: Callable[[], object]) -> Cost:
    """Runs `work` once; the last half second of a process that ends during it may be missing."""
    tree, ended = ProcessTree(), threading.Event()
    cpu, wall = tree.sample(), time.monotonic()
    sampler = threading.Thread(target=_sample_until, args=(tree, ended))
    sampler.start()
    try:
        work()
        wall = time.monotonic() - wall
    finally:
        ended.set()
        sampler.join()
    return Cost(wall, tree.sample() - cpu)


def _sample_until(tree: ProcessTree, ended: threading.Event) -> None:
    while not ended.wait(_SAMPLE_EVERY_S):
        tree.sample()


def least(costs: list[Cost]) -> Cost:
    """The least wall and the least CPU of several runs, which need not be of one run: noise only ever adds."""
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs))


def middle(costs: list[Cost]) -> Cost:
    """The median wall and the median CPU: of works done in turns, whose minutes are equally noisy."""
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


@dataclass(slots=True)
class Memory:
    """Bytes by which this process's resident memory grew at its largest."""

    grown: int = 0


@contextmanager
def peak_memory() -> Iterator[Memory]:
    """Measures the peak over what is held at the beginning; of this process alone, by Linux's own high-water mark."""
    found = Memory()
    Path("/proc/self/clear_refs").write_text("5")
    before = _high_water_mark()
    yield found
    found.grown = _high_water_mark() - before


def _high_water_mark() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("the kernel tells no high-water mark")
