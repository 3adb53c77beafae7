"""When a full compaction is due, which stores the changelog with `changelog-producer` = `full-compaction`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlext.properties import CHANGELOG_PRODUCER, FULL_COMPACTION_COMMITS, FULL_COMPACTION_INTERVAL
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.stored_changelog import BEGINNING, FULL_COMPACTION, StoredChangelog
from sqlext.spec.metadata.table_metadata import TableMetadata


def full_compaction_is_due(metadata: TableMetadata, head: Snapshot, now_ms: int, trigger_ms: int | None) -> bool:
    """Whether a full compaction is due after the commit of `head`.

    The table sets a number of commits, or an interval; the default is every commit. `trigger_ms` is the time between
    the batches of the stream that has committed, None if unknown or no stream. If it is known, the interval means as
    many commits as batches fit in it, else a time. Raises AnalysisError INVALID_TABLE_PROPERTY.
    """
    properties = metadata.properties
    if CHANGELOG_PRODUCER.of(properties) != FULL_COMPACTION:
        return False
    chain = list(ancestors(metadata, head))
    untold = _untold(metadata, chain)
    commits, interval_ms = FULL_COMPACTION_COMMITS.of(properties), FULL_COMPACTION_INTERVAL.of(properties)
    if commits is None and interval_ms is not None and trigger_ms is None:
        return bool(untold) and now_ms - _told_ms(chain, untold) >= interval_ms
    if commits is None:
        commits = 1 if interval_ms is None or trigger_ms is None else max(interval_ms // trigger_ms, 1)
    return len(untold) >= commits


def last_told(metadata: TableMetadata, head: Snapshot) -> int:
    """The last snapshot whose changes a full compaction has stored.

    If none is known, the oldest known snapshot, or `BEGINNING` if that is the first one.
    """
    return _last_told(metadata, list(ancestors(metadata, head)))


def _last_told(metadata: TableMetadata, chain: Sequence[Snapshot]) -> int:
    for one in chain:
        stored = StoredChangelog.of(one)
        if stored is not None and stored.span is not None and metadata.snapshot_or_none(stored.span[1]) is not None:
            return stored.span[1]
    return BEGINNING if chain[-1].parent_snapshot_id is None else chain[-1].snapshot_id


def _untold(metadata: TableMetadata, chain: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """Snapshots with changed rows after the last that a full compaction has stored, newest first."""
    start = _last_told(metadata, chain)
    later = itertools.takewhile(lambda one: one.snapshot_id != start, chain)
    return [one for one in later if one.operation != "replace"]


def _told_ms(chain: Sequence[Snapshot], untold: Sequence[Snapshot]) -> int:
    """Time of the last full compaction, or of the first change before one."""
    compacted = (one for one in chain if _is_of_full_compaction(one))
    last = next(compacted, None)
    return untold[-1].timestamp_ms if last is None else last.timestamp_ms


def _is_of_full_compaction(snapshot: Snapshot) -> bool:
    stored = StoredChangelog.of(snapshot)
    return stored is not None and stored.producer == FULL_COMPACTION
