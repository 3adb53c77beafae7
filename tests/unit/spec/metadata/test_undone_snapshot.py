"""What a branch's history tells of snapshots that undo others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.undone_snapshot import UNDONE_SNAPSHOT, not_undoable, undoing, undone_by


def _history(*undone: int | None) -> Sequence[Snapshot]:
    """Snapshots 1, 2, … that undo the ones given, newest first."""
    return [_snapshot(id, {} if of is None else {UNDONE_SNAPSHOT: str(of)}) for id, of in enumerate(undone, 1)][::-1]


def _snapshot(id: int, summary: dict[str, str], operation: str = "overwrite") -> Snapshot:
    return Snapshot(id, id - 1 or None, id, id, "", {"operation": operation, **summary})


@pytest.mark.parametrize(
    ("history", "of", "by"),
    [
        ((None, None), 1, None),
        ((None, None, 1), 1, 3),
        ((None, None, 1), 2, None),
        ((None, 1, 2), 1, None),
        ((None, 1, 2, 3), 1, 2),
        ((None, 1, 2, 1), 1, 4),
        ((None, 1, 2, 1), 2, 3),
        ((None, 1, 2, 3, 4), 2, 3),
        ((2, None), 2, None),
        ((None,), 7, None),
    ],
)
def test_an_undo_counts_until_it_is_undone(history: Sequence[int | None], of: int, by: int | None) -> None:
    assert undone_by(_history(*history), of) == by


def test_what_is_not_undone_again() -> None:
    assert not_undoable(_history(None, None), 2) is None
    assert "undone by snapshot 2" in str(not_undoable(_history(None, 1), 1))
    assert "not in the history" in str(not_undoable(_history(None), 9))
    assert "not in the history" in str(not_undoable((), 9))
    assert "rewrote files" in str(not_undoable([_snapshot(1, {}, "replace")], 1))


@pytest.mark.parametrize("text", ["", "x", "-1", "١"])
def test_a_summary_of_another_engine_undoes_nothing(text: str) -> None:
    assert undoing(_snapshot(1, {UNDONE_SNAPSHOT: text})) is None
