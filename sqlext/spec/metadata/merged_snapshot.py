"""Snapshots that merge a branch into another one: which snapshot they merged is told by their summary.

With it the snapshots of a table are a graph as in Git: a merge has two parents, the snapshot before it on its branch
and the merged one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlext.spec.metadata.snapshot import Snapshot

MERGED_SNAPSHOT = "sqlext.merged-snapshot-id"
"""Key of the snapshot summary: the id of the snapshot, the head of another branch, whose changes this one has."""


def merged_by(snapshot: Snapshot) -> int | None:
    """The id of the snapshot that this one merged; None if it merged none."""
    text = snapshot.summary.get(MERGED_SNAPSHOT, "")
    return int(text) if text.isascii() and text.isdigit() else None


@dataclass(frozen=True, slots=True)
class MergeBases:
    """The newest common ancestors of two snapshots: several if each side merged what the other had not.

    `are_certain`: no newer one can have expired.
    """

    snapshots: tuple[Snapshot, ...]
    are_certain: bool


def merge_bases(snapshots: Iterable[Snapshot], one: Snapshot, other: Snapshot) -> MergeBases:
    """What both `one` and `other` hold, by the graph of the table's `snapshots`."""
    known = {snapshot.snapshot_id: snapshot for snapshot in snapshots}
    sides = [_reach(known, one), _reach(known, other)]
    common = sides[0] & sides[1]
    behind = {id for shared in common for id in _parents(known[shared])}
    newest = sorted(common - behind, key=lambda id: known[id].timestamp_ms, reverse=True)
    expired = [any(id not in known for own in side - common for id in _parents(known[own])) for side in sides]
    return MergeBases(tuple(known[id] for id in newest), not all(expired))


def _reach(known: Mapping[int, Snapshot], start: Snapshot) -> set[int]:
    """The snapshot and its known ancestors."""
    found: set[int] = set()
    left = [start.snapshot_id]
    while left:
        id = left.pop()
        if id in known and id not in found:
            found.add(id)
            left += _parents(known[id])
    return found


def _parents(snapshot: Snapshot) -> list[int]:
    return [id for id in (snapshot.parent_snapshot_id, merged_by(snapshot)) if id is not None]
