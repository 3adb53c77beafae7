"""The snapshots between two of a table, as the steps of a change feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.stored_changelog import BEGINNING, INPUT, StoredChangelog
from sqlext.spec.metadata.table_metadata import TableMetadata

Pair: TypeAlias = tuple[Snapshot | None, Snapshot]
"""The parent of a snapshot, None for the first, and the snapshot."""


@dataclass(frozen=True, slots=True)
class Span:
    """The changes after `before` up to `after`; `changelog` is the snapshot whose stored changelog has them, if any."""

    before: Snapshot | None
    after: Snapshot
    changelog: Snapshot | None = None

    @property
    def reads_changes_only(self) -> bool:
        """Whether reading it costs as much as its changes, and gives the difference of its ends: by a changelog, or
        because `after` only added files."""
        if self.changelog is None:
            return self.after.operation == "append"
        stored = StoredChangelog.of(self.changelog)
        return stored is not None and stored.producer != INPUT


def history_between(metadata: TableMetadata, start: Snapshot | None, end: Snapshot) -> Sequence[Pair] | None:
    """Each snapshot after `start` up to `end` with its parent, oldest first; None if `start` is no known ancestor of
    `end`."""
    chain = list(ancestors(metadata, end))
    if start is not None:
        if start not in chain:
            return None
        chain = chain[: chain.index(start)]
    before: list[Snapshot | None] = [*chain, start][1:]
    return list(zip(before, chain, strict=True))[::-1]


def changing(history: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs whose rows may differ, so without rewrites of files; the first pair if there is no other."""
    found = [(before, one) for before, one in history if before is None or one.operation != "replace"]
    return found or history[:1]


def changelog_spans(history: Sequence[Pair]) -> list[Span]:
    """The history as spans: of one snapshot each, or of the snapshots that one changelog has together. See
    `changing`."""
    wide = _wide_spans(history)
    told = {one.snapshot_id for _, one in changing(history)}
    spans: list[Span] = []
    number = 0
    while number < len(history):
        before, one = history[number]
        if number in wide:
            number, teller = wide[number]
            spans.append(Span(before, history[number][1], teller))
        elif one.snapshot_id in told:
            stored = StoredChangelog.of(one)
            spans.append(Span(before, one, one if stored is not None and stored.span is None else None))
        number += 1
    return spans


def _wide_spans(history: Sequence[Pair]) -> dict[int, tuple[int, Snapshot]]:
    """Changelogs of several snapshots, by the index of their first: the index of the last, and the snapshot that names
    it."""
    begins = {BEGINNING if before is None else before.snapshot_id: number for number, (before, _) in enumerate(history)}
    ends = {one.snapshot_id: number for number, (_, one) in enumerate(history)}
    wide: dict[int, tuple[int, Snapshot]] = {}
    for _, one in history:
        stored = StoredChangelog.of(one)
        if stored is not None and stored.span is not None:
            first, last = begins.get(stored.span[0]), ends.get(stored.span[1])
            if first is not None and last is not None and first <= last:
                wide[first] = (last, one)
    return wide
