"""The history between two snapshots, in the parts that a change feed tells one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import BEGINNING, INPUT, StoredChangelog
from sqlext.spec.metadata.table_metadata import TableMetadata

Pair: TypeAlias = tuple[Snapshot | None, Snapshot]
"""A snapshot behind the one before it; None: behind nothing."""


@dataclass(frozen=True, slots=True)
class Span:
    """What lies behind `before` up to `after`; `changelog` is the snapshot whose stored changelog tells it."""

    before: Snapshot | None
    after: Snapshot
    changelog: Snapshot | None = None

    @property
    def costs_its_changes(self) -> bool:
        """Whether it is read at the price of what changed, and told as the difference of its ends: by a changelog, or
        by the files that it adds."""
        if self.changelog is None:
            return self.after.operation == "append"
        stored = StoredChangelog.of(self.changelog)
        return stored is not None and stored.producer != INPUT


def history_between(metadata: TableMetadata, start: Snapshot | None, end: Snapshot) -> Sequence[Pair] | None:
    """Each snapshot behind `start` up to `end` with the one before it, oldest first; None where `start` is not behind
    `end`, as far as is known."""
    chain = ancestors(metadata, end)
    if start is not None:
        if start not in chain:
            return None
        chain = chain[: chain.index(start)]
    before: list[Snapshot | None] = [*chain, start][1:]
    return list(zip(before, chain, strict=True))[::-1]


def ancestors(metadata: TableMetadata, end: Snapshot) -> list[Snapshot]:
    """The snapshot and those before it, newest first, as far as they are known."""
    known = {one.snapshot_id: one for one in metadata.snapshots}
    chain: list[Snapshot] = []
    at: Snapshot | None = end
    while at is not None:
        chain.append(at)
        at = None if at.parent_snapshot_id is None else known.get(at.parent_snapshot_id)
    return chain


def changing(history: Sequence[Pair]) -> Sequence[Pair]:
    """Those whose rows may differ: rewrites of files change none. The first one where there is no other."""
    found = [(before, one) for before, one in history if before is None or one.operation != "replace"]
    return found or history[:1]


def told_spans(history: Sequence[Pair]) -> list[Span]:
    """The parts of a history: each one snapshot, or as many as one changelog tells together. See `changing`."""
    wide = _wide_spans(history)
    told = {id(one) for _, one in changing(history)}
    spans: list[Span] = []
    number = 0
    while number < len(history):
        before, one = history[number]
        if number in wide:
            number, teller = wide[number]
            spans.append(Span(before, history[number][1], teller))
        elif id(one) in told:
            stored = StoredChangelog.of(one)
            spans.append(Span(before, one, one if stored is not None and stored.span is None else None))
        number += 1
    return spans


def _wide_spans(history: Sequence[Pair]) -> dict[int, tuple[int, Snapshot]]:
    """By the number of its first snapshot: the number of the last one of a changelog's, and the one that names it."""
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
