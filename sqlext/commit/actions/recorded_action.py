"""An action with a record of its snapshot's changes, made for each attempt before the compare-and-swap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from sqlext.commit.action import Action, CommitContext, StagedChange, Staging
from sqlext.spec.metadata.metadata_update import AddSnapshot, MetadataUpdate
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


class Recorder(Protocol):
    """Makes records of snapshots; entries of the snapshot summary refer to a record."""

    def record(self, change: StagedChange, snapshot: Snapshot) -> Mapping[str, str]:
        """Writes the record of a staged snapshot and returns its summary entries; none if there is nothing to
        record."""

    def discard(self, entries: Mapping[str, str]) -> None:
        """Removes the record of a snapshot that was not committed; a failure leaves orphan files."""


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """`action`, with the record's entries in its snapshot's summary: both are committed atomically."""

    action: Action
    recorder: Recorder

    def begin(self, context: CommitContext) -> Staging:
        return _Staging(self.action.begin(context), self.recorder)


class _Staging:
    def __init__(self, inner: Staging, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self._records: list[Mapping[str, str]] = []

    def stage(self, base: TableMetadata | None) -> StagedChange:
        change = self._inner.stage(base)
        if change.snapshot is None:
            return change
        entries = self._recorder.record(change, change.snapshot)
        if not entries:
            return change
        self._records.append(entries)
        snapshot = replace(change.snapshot, summary={**change.snapshot.summary, **entries})
        return replace(change, updates=tuple(_with(change.updates, snapshot)), snapshot=snapshot)

    def finish(self, landed: Snapshot | None) -> None:
        self._inner.finish(landed)
        self._discard({} if landed is None else landed.summary)

    def abandon(self) -> None:
        self._inner.abandon()
        self._discard({})

    def _discard(self, landed: Mapping[str, str]) -> None:
        for entries in self._records:
            if not entries.items() <= landed.items():
                self._recorder.discard(entries)


def _with(updates: tuple[MetadataUpdate, ...], snapshot: Snapshot) -> Iterator[MetadataUpdate]:
    for update in updates:
        yield replace(update, snapshot=snapshot) if isinstance(update, AddSnapshot) else update
