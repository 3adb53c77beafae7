"""Many seeds, in shares that processes take."""

from __future__ import annotations

from collections import Counter

from simulator.simulation import simulate
from simulator.world import CatalogKind

_SHARE = 100


def shares(first: int, count: int) -> list[range]:
    """The seeds from `first` on, in parts."""
    last = first + count
    return [range(start, min(start + _SHARE, last)) for start in range(first, last, _SHARE)]


def simulate_all(seeds: range, catalog: CatalogKind = "folder") -> tuple[Counter[str], list[tuple[int, str]]]:
    """Outcomes of statements, and the seeds that broke an invariant with what they broke."""
    counts: Counter[str] = Counter()
    broken = []
    for seed in seeds:
        outcome = simulate(seed, catalog=catalog)
        counts += outcome.counts
        if outcome.violation is not None:
            broken.append((seed, str(outcome.violation)))
    return counts, broken
