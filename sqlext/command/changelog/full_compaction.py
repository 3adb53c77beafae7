"""When all buckets of a table are compacted, so that `changelog-producer` = `full-compaction` stores its changes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlext.command.changelog.change_spans import ancestors
from sqlext.properties import CHANGELOG_PRODUCER, FULL_COMPACTION_COMMITS, FULL_COMPACTION_INTERVAL
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import BEGINNING, FULL_COMPACTION, StoredChangelog
from sqlext.spec.metadata.table_metadata import TableMetadata


def full_compaction_is_due(metadata: TableMetadata, head: Snapshot, now_ms: int, trigger_ms: int | None) -> bool:
    """Whether the changes up to `head`, which has just landed, are to be stored. `trigger_ms` is the time between the
    batches of the stream that it is of, if it is of one and that is known.

    The table says it by a number of commits, or by an interval: that is as many commits as there are batches in it, and
    time where that is not known. With neither it is each commit. AnalysisError INVALID_TABLE_PROPERTY.
    """
    properties = metadata.properties
    if CHANGELOG_PRODUCER.of(properties) != FULL_COMPACTION:
        return False
    chain = ancestors(metadata, head)
    untold = _untold(metadata, chain)
    commits, interval_ms = FULL_COMPACTION_COMMITS.of(properties), FULL_COMPACTION_INTERVAL.of(properties)
    if commits is None and interval_ms is not None and trigger_ms is None:
        return bool(untold) and now_ms - _told_ms(chain, untold) >= interval_ms
    if commits is None:
        commits = 1 if interval_ms is None or trigger_ms is None else max(interval_ms // trigger_ms, 1)
    return len(untold) >= commits


def last_told(metadata: TableMetadata, head: Snapshot) -> int:
    """Up to which snapshot the changes are told by changelogs of full compactions; where none is known, the oldest, or
    `BEGINNING` where the history begins with it."""
    return _last_told(metadata, ancestors(metadata, head))


def _last_told(metadata: TableMetadata, chain: Sequence[Snapshot]) -> int:
    for one in chain:
        stored = StoredChangelog.of(one)
        if stored is not None and stored.span is not None and metadata.snapshot_or_none(stored.span[1]) is not None:
            return stored.span[1]
    return BEGINNING if chain[-1].parent_snapshot_id is None else chain[-1].snapshot_id


def _untold(metadata: TableMetadata, chain: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """The snapshots that have changed rows since what changelogs of full compactions tell, the newest first."""
    start = _last_told(metadata, chain)
    later = itertools.takewhile(lambda one: one.snapshot_id != start, chain)
    return [one for one in later if one.operation != "replace"]


def _told_ms(chain: Sequence[Snapshot], untold: Sequence[Snapshot]) -> int:
    """When the last full compaction has landed; before the first one, when the first change has."""
    compacted = (one for one in chain if _is_of_full_compaction(one))
    last = next(compacted, None)
    return untold[-1].timestamp_ms if last is None else last.timestamp_ms


def _is_of_full_compaction(snapshot: Snapshot) -> bool:
    stored = StoredChangelog.of(snapshot)
    return stored is not None and stored.producer == FULL_COMPACTION
