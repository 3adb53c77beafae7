"""A run of a streaming query: what it knows of its progress in a table, from its first batch on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlext.commit.action import Action
from sqlext.commit.actions.staged_batch import StagedBatch
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.spec.metadata.snapshot import Snapshot

# A run that is not among them claims its table anew with its next batch.
_REMEMBERED_RUNS = 1_000

RunId: TypeAlias = tuple[str, str]
"""The table's UUID, and the run's id."""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A run once it has claimed the table.

    `progress` is what the table has of the query, as far as the run knows, and `plans` are the fingerprints of batches
    that came since. `key` is the table's primary key when the run began. `staged` is the batch that an earlier run had
    written and not committed. `committed_ms`: when a batch of it landed last, in milliseconds since 1970.
    """

    query_id: str
    progress: StreamProgress
    key: tuple[int, ...]
    plans: Mapping[int, str] = field(default_factory=dict)
    staged: StagedBatch | None = None
    empty_batches: int = 0
    committed_ms: int | None = None

    def begins(self, batch_id: int, plan: str) -> QueryRun:
        """The run with a batch of that fingerprint; no batch but this one can have been staged."""
        return replace(self, plans={**self.plans, batch_id: plan}, staged=None)

    def advance(
        self, batch_id: int, action: Action | None = None, landed: Callable[[Snapshot | None], None] | None = None
    ) -> AdvanceStream:
        """The action that commits the batch: `action` together with the progress. See `AdvanceStream` for `landed`."""
        return AdvanceStream(self.query_id, self.progress, self.progress.after(batch_id, self.plans), action, landed)

    def landed(self, batch_id: int, now_ms: int) -> QueryRun:
        """The run once the batch is in the table."""
        progress = self.progress.after(batch_id, self.plans)
        return replace(self, progress=progress, plans={}, empty_batches=0, committed_ms=now_ms)

    def is_empty_for(self, batches: int) -> bool:
        """Whether so many batches have had nothing to commit, if this one has nothing either; 0: never."""
        return 0 < batches <= self.empty_batches + 1

    def passed_over(self) -> QueryRun:
        """The run after a batch that had nothing to commit."""
        return replace(self, empty_batches=self.empty_batches + 1)


class QueryRuns:
    """The runs of an application's queries, by the tables they write: those whose batches came last. Thread-safe.

    Each query has a thread of its own, and no other thread puts its run in: so what it reads here is its newest.
    """

    def __init__(self) -> None:
        # Guards the order and the number of the runs, which are values themselves.
        self._lock = threading.Lock()
        self._runs: OrderedDict[RunId, QueryRun] = OrderedDict()

    def of(self, id: RunId) -> QueryRun | None:
        """None for a run that has not claimed the table, or is remembered no more."""
        with self._lock:
            return self._runs.get(id)

    def put(self, id: RunId, run: QueryRun) -> QueryRun:
        """Remembers the run as it is now; gives it back."""
        with self._lock:
            self._runs[id] = run
            self._runs.move_to_end(id)
            while len(self._runs) > _REMEMBERED_RUNS:
                self._runs.popitem(last=False)
        return run
