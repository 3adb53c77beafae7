"""Times that a busy process leaves to writers of other engines, which do not stand in its line.

Iceberg's writers try a commit five times, and wait 0.1 to 0.8 s in between. Where a process commits every few
milliseconds, each of these attempts meets a newer version of the table. So a process that has committed to a table for
a second without a pause leaves the last part of each second to others, if one of them has a snapshot there. It goes by
the clock, so that busy processes on all hosts leave the same part.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from sqlext.commit.snapshot.engine import ENGINE_NAME
from sqlext.properties import COMMIT_PEER_GAP_MS
from sqlext.spec.metadata.table_metadata import TableMetadata

# In a model of an Iceberg writer that takes 60 to 200 ms from reading a table to its commit, beside a commit each
# 20 ms, 79 to 100 of 100 statements fail; with half of each second left to it, 0 to 2.
_PERIOD_MS = 1_000
# Weekly maintenance by another engine is still expected; an engine that has been given up is not waited for.
_EXPECTED_MS = 8 * 24 * 3600 * 1000
_REMEMBERED_TABLES = 64


@dataclass(frozen=True, slots=True)
class _Run:
    """Commits of one table that came within a period of each other.

    `seen_ms` and `others_ms` are times of the table's snapshots: the newest that was looked at, and the newest of
    another engine.
    """

    begun_ms: int
    landed_ms: int
    seen_ms: int = -1
    others_ms: int = -_EXPECTED_MS

    def goes_on(self, now_ms: int) -> bool:
        return 0 <= now_ms - self.landed_ms <= _PERIOD_MS


class PeerGaps:
    """The gaps of one process, in each table that it commits to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def wait_ms(self, base: TableMetadata, now_ms: int) -> int:
        """How long others have the table for themselves; 0 where a commit may be tried at once."""
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
        """A commit of this process has."""
        with self._lock:
            run = self._runs.pop(table_uuid, None) or _Run(now_ms, now_ms)
            begun_ms = run.begun_ms if run.goes_on(now_ms) else now_ms
            self._runs[table_uuid] = replace(run, begun_ms=begun_ms, landed_ms=now_ms)
            if len(self._runs) > _REMEMBERED_TABLES:
                self._runs.popitem(last=False)


def _looked(run: _Run, base: TableMetadata) -> _Run:
    """With the snapshots since the last look, newest first."""
    seen_ms, others_ms = run.seen_ms, run.others_ms
    for snapshot in reversed(base.snapshots):
        if snapshot.timestamp_ms < run.seen_ms:
            break
        seen_ms = max(seen_ms, snapshot.timestamp_ms)
        if snapshot.summary.get("engine-name") != ENGINE_NAME:
            others_ms = max(others_ms, snapshot.timestamp_ms)
            break
    return replace(run, seen_ms=seen_ms, others_ms=others_ms)
