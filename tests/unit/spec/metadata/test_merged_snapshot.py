"""The newest common ancestors of two snapshots, in graphs with merges and with expired snapshots."""

from __future__ import annotations

import pytest

from sqlext.spec.metadata.merged_snapshot import MERGED_SNAPSHOT, merge_bases, merged_by
from sqlext.spec.metadata.snapshot import Snapshot


def _graph(text: str) -> dict[int, Snapshot]:
    """Snapshots of `id<parent` and `id<parent+merged`, in order of time."""
    found: dict[int, Snapshot] = {}
    for number, word in enumerate(text.split()):
        id, _, parents = word.partition("<")
        parent, _, merged = parents.partition("+")
        summary = {MERGED_SNAPSHOT: merged} if merged else {}
        found[int(id)] = Snapshot(int(id), int(parent) if parent else None, number, number, "list", summary)
    return found


@pytest.mark.parametrize(
    ("graph", "one", "other", "bases", "certain"),
    [
        # 1 is where main (2, 4, …) and the branch (3, 5, …) parted
        ("1 2<1 3<1", 2, 3, [1], True),
        ("1 3<1", 1, 3, [1], True),
        ("1 2<1 3<1 4<2+3", 4, 3, [3], True),
        ("1 2<1 3<1 4<2+3 6<4 5<3", 6, 5, [3], True),
        # merged again, and back
        ("1 3<1 4<1+3 5<3 6<4+5 7<5", 6, 7, [5], True),
        ("1 2<1 3<1 4<2+3 5<3+4 6<4 7<5", 6, 7, [4], True),
        # the branch went back to before what was merged
        ("1 3<1 5<3 4<1+5 7<3", 4, 7, [3], True),
        # main went back to before the merge
        ("1 2<1 3<1 4<2+3 6<2", 6, 3, [1], True),
        # each merged the other at once
        ("1 2<1 3<1 4<2+3 5<3+2", 4, 5, [3, 2], True),
        # the merge has expired, or what it merged
        ("1 3<1 5<3 6<4", 6, 5, [], True),
        ("1 2<1 4<2+3 5<3", 4, 5, [], False),
        # another branch was merged, and has expired
        ("1 3<1 4<1+9 5<3", 4, 5, [1], True),
        # what was merged has expired, and may be newer than what is left
        ("1 2<1 4<2+3 5<3+2", 4, 5, [2], False),
    ],
)
def test_bases(graph: str, one: int, other: int, bases: list[int], certain: bool) -> None:
    snapshots = _graph(graph)
    found = merge_bases(snapshots.values(), snapshots[one], snapshots[other])
    assert ([base.snapshot_id for base in found.snapshots], found.are_certain) == (bases, certain)
    back = merge_bases(snapshots.values(), snapshots[other], snapshots[one])
    assert back == found


@pytest.mark.parametrize("text", ["", "x", "-1", "²"])
def test_a_summary_that_names_no_snapshot(text: str) -> None:
    assert merged_by(Snapshot(1, None, 1, 1, "list", {MERGED_SNAPSHOT: text})) is None
