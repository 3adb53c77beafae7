"""The runs of streaming queries: the progress of each in its target table, from its first batch on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlext.commit.action import Action
from sqlext.commit.actions.staged_batch import StagedBatch
from sqlext.commit.actions.stream_progress import KEPT_PLANS, AdvanceStream, StreamProgress
from sqlext.spec.metadata.snapshot import Snapshot

# A run that is no longer remembered claims its table again with its next batch.
_REMEMBERED_RUNS = 1_000

RunId: TypeAlias = tuple[str, str]
"""The table's UUID, and the run's id."""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A run that has claimed its table.

    `progress` is the query's last known progress in the table, and `plans` are the fingerprints of the batches since,
    by batch id. `key` has the identifier field ids of the table when the run began. `staged` is a batch that an earlier
    run staged and did not commit. `committed_ms` is the time of the run's last commit in milliseconds since 1970.
    """

    query_id: str
    progress: StreamProgress
    key: tuple[int, ...]
    plans: Mapping[int, str] = field(default_factory=dict)
    staged: StagedBatch | None = None
    empty_batches: int = 0
    committed_ms: int | None = None

    def begins(self, batch_id: int, plan: str) -> QueryRun:
        """The run with a batch whose plan has the fingerprint `plan`, and without a staged batch."""
        plans = [*self.plans.items(), (batch_id, plan)]
        return replace(self, plans=dict(plans[-KEPT_PLANS:]), staged=None)

    def advance(
        self, batch_id: int, action: Action | None = None, landed: Callable[[Snapshot | None], None] | None = None
    ) -> AdvanceStream:
        """The action that commits the batch's `action` together with the progress. See `AdvanceStream` for `landed`."""
        return AdvanceStream(self.query_id, self.progress, self.progress.after(batch_id, self.plans), action, landed)

    def landed(self, batch_id: int, now_ms: int) -> QueryRun:
        """The run after the commit of the batch at `now_ms`."""
        progress = self.progress.after(batch_id, self.plans)
        return replace(self, progress=progress, plans={}, empty_batches=0, committed_ms=now_ms)

    def is_empty_for(self, batches: int) -> bool:
        """Whether this batch is at least the `batches`th in a row with nothing to commit; never for 0."""
        return 0 < batches <= self.empty_batches + 1

    def passed_over(self) -> QueryRun:
        """The run after a batch with nothing to commit."""
        return replace(self, empty_batches=self.empty_batches + 1)


class QueryRuns:
    """The most recent runs of an application's queries, by target table. Thread-safe.

    Only the query's own thread puts its run, so a run that it reads is the newest.
    """

    def __init__(self) -> None:
        # Guards `_runs`; the runs themselves are immutable.
        self._lock = threading.Lock()
        self._runs: OrderedDict[RunId, QueryRun] = OrderedDict()

    def of(self, id: RunId) -> QueryRun | None:
        """The run; None if it has not claimed the table, or is no longer remembered."""
        with self._lock:
            return self._runs.get(id)

    def put(self, id: RunId, run: QueryRun) -> QueryRun:
        """Replaces the state of the run, and returns it."""
        with self._lock:
            self._runs[id] = run
            self._runs.move_to_end(id)
            while len(self._runs) > _REMEMBERED_RUNS:
                self._runs.popitem(last=False)
        return run
