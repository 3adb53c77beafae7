"""Sets of files that have a given number of files, of rows, and of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlext.spec.manifests.manifest import ManifestEntry

Sums: TypeAlias = tuple[int, int, int]
"""A number of files, of rows, and of bytes; these are 0 throughout where they are not known."""
Unit: TypeAlias = tuple[ManifestEntry, ...]
"""Files that are taken together or not at all."""

# Of tuples, some hundred bytes each; what takes more is not told apart by sums.
_MOST_STATES = 400_000
_NOTHING: Sums = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class MatchingSets:
    """The sets that match; with `is_cut` there may be further ones."""

    sets: tuple[tuple[ManifestEntry, ...], ...]
    is_cut: bool = False


def sums_of(unit: Unit, *, with_bytes: bool) -> Sums:
    """The sums of a unit's files."""
    size = sum(entry.file.content_bytes for entry in unit) if with_bytes else 0
    return len(unit), sum(entry.file.record_count for entry in unit), size


def matching_sets(slots: Sequence[Sequence[Unit]], needed: Sums, *, with_bytes: bool, most: int) -> MatchingSets:
    """The sets with the sums `needed` of one unit or none of each slot; up to `most` of them."""
    valued = [[(unit, sums_of(unit, with_bytes=with_bytes)) for unit in slot] for slot in slots]
    before = [0]
    for slot in valued:
        before.append(before[-1] + max((sums[0] for _, sums in slot), default=0))
    # What the slots from each one on can add up to, as far as those before it can add the rest.
    reached: list[set[Sums]] = [{_NOTHING}]
    states = 0
    for place in range(len(valued) - 1, -1, -1):
        least = needed[0] - before[place]
        found = set()
        for sums in reached[-1]:
            for made in (sums, *(_added(sums, own) for _, own in valued[place])):
                if made[0] >= least and all(map(int.__le__, made, needed)):
                    found.add(made)
        states += len(found)
        if states > _MOST_STATES:
            return MatchingSets((), is_cut=True)
        reached.append(found)
    reached.reverse()
    if needed not in reached[0]:
        return MatchingSets(())
    sets: list[tuple[ManifestEntry, ...]] = []
    waiting: list[tuple[int, Sums, tuple[Unit, ...]]] = [(0, needed, ())]
    while waiting:
        place, rest, chosen = waiting.pop()
        if place == len(valued):
            if len(sets) == most:
                return MatchingSets(tuple(sets), is_cut=True)
            sets.append(tuple(entry for unit in chosen for entry in unit))
            continue
        for unit, own in [((), _NOTHING), *valued[place]]:
            left = _added(rest, own, -1)
            if left in reached[place + 1]:
                waiting.append((place + 1, left, (*chosen, unit) if unit else chosen))
    return MatchingSets(tuple(sets))


def _added(sums: Sums, other: Sums, sign: int = 1) -> Sums:
    return sums[0] + sign * other[0], sums[1] + sign * other[1], sums[2] + sign * other[2]
