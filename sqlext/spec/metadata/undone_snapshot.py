"""Snapshots that undo another one: which they undo is told by their summary."""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.spec.metadata.snapshot import Snapshot

UNDONE_SNAPSHOT = "sqlext.undone-snapshot-id"
"""Key of the snapshot summary: the id of the snapshot whose changes of rows this one reverses."""


def undoing(snapshot: Snapshot) -> int | None:
    """The id of the snapshot that this one undoes; None if it undoes none."""
    text = snapshot.summary.get(UNDONE_SNAPSHOT, "")
    return int(text) if text.isascii() and text.isdigit() else None


def undone_by(history: Iterable[Snapshot], snapshot_id: int) -> int | None:
    """The snapshot by which another one is undone, in a branch's `history`, newest first; None if it is not.

    A snapshot that is itself undone undoes nothing.
    """
    undone: dict[int, int] = {}
    for one in history:
        if one.snapshot_id == snapshot_id:
            break
        target = undoing(one)
        if target is not None and one.snapshot_id not in undone:
            undone.setdefault(target, one.snapshot_id)
    return undone.get(snapshot_id)


def not_undoable(history: Iterable[Snapshot], snapshot_id: int) -> str | None:
    """The reason why a snapshot of a branch's `history`, newest first, cannot be undone, with the way out; None if it
    can, as far as the history tells."""
    chain = list(history)
    found = next((one for one in chain if one.snapshot_id == snapshot_id), None)
    if found is None:
        return (
            "it is not in the history of the branch that is written, or has expired. CALL system.ancestors_of lists the"
            " history of main"
        )
    if found.operation == "replace":
        return "it only rewrote files, and changed no row. There is nothing to undo"
    by = undone_by(chain, snapshot_id)
    return None if by is None else f"it is undone by snapshot {by}. Undo that one to have its changes again"
