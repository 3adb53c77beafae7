"""Gaps in which a busy process does not commit, so that writers of other engines can.

Iceberg's writers try a commit five times, 0.1 to 0.8 s apart; against a process that commits every few milliseconds
each attempt fails. A process that has committed to a table for a second without a pause leaves the last part of each
second to others, if another engine has written a snapshot of the table. Seconds are those of the clock, so that busy
processes on all hosts leave the same part.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from sqlext.commit.snapshot.engine import ENGINE_NAME
from sqlext.properties import COMMIT_PEER_GAP_MS
from sqlext.spec.metadata.table_metadata import TableMetadata

# In a model of an Iceberg writer that takes 60 to 200 ms from reading a table to its commit, beside a commit each 20
# ms, 79 to 100 of 100 statements fail; with a gap of half a second, 0 to 2.
_PERIOD_MS = 1_000
# Long enough for an engine that does weekly maintenance.
_EXPECTED_MS = 8 * 24 * 3600 * 1000
_REMEMBERED_TABLES = 64


@dataclass(frozen=True, slots=True)
class _Run:
    """Commits to one table, each within a period of the one before.

    `seen_ms` and `others_ms` are snapshot timestamps: the newest examined, and the newest of another engine.
    """

    begun_ms: int
    landed_ms: int
    seen_ms: int = -1
    others_ms: int = -_EXPECTED_MS

    def goes_on(self, now_ms: int) -> bool:
        return 0 <= now_ms - self.landed_ms <= _PERIOD_MS


class PeerGaps:
    """The gaps of one process, for each table that it commits to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def wait_ms(self, base: TableMetadata, now_ms: int) -> int:
        """Milliseconds until the end of the current gap; 0 outside a gap."""
        left_ms = _PERIOD_MS - now_ms % _PERIOD_MS
        if left_ms > COMMIT_PEER_GAP_MS.of(base.properties):
            return 0
        with self._lock:
            run = self._runs.get(base.table_uuid)
            if run is None or not run.goes_on(now_ms) or now_ms - run.begun_ms < _PERIOD_MS:
                return 0
            run = self._runs[base.table_uuid] = _looked(run, base)
        return left_ms if now_ms - run.others_ms < _EXPECTED_MS else 0

    def landed(self, table_uuid: str, now_ms: int) -> None:
        """Records a commit of this process."""
        with self._lock:
            run = self._runs.pop(table_uuid, None) or _Run(now_ms, now_ms)
            begun_ms = run.begun_ms if run.goes_on(now_ms) else now_ms
            self._runs[table_uuid] = replace(run, begun_ms=begun_ms, landed_ms=now_ms)
            if len(self._runs) > _REMEMBERED_TABLES:
                self._runs.popitem(last=False)


def _looked(run: _Run, base: TableMetadata) -> _Run:
    """`run` after an examination of the snapshots since `seen_ms`."""
    seen_ms, others_ms = run.seen_ms, run.others_ms
    for snapshot in reversed(base.snapshots):
        if snapshot.timestamp_ms < run.seen_ms:
            break
        seen_ms = max(seen_ms, snapshot.timestamp_ms)
        if snapshot.summary.get("engine-name") != ENGINE_NAME:
            others_ms = max(others_ms, snapshot.timestamp_ms)
            break
    return replace(run, seen_ms=seen_ms, others_ms=others_ms)
