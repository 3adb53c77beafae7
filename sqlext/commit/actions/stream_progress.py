"""The progress of a streaming query, as a property of its target table.

A batch's commit changes the property together with the rows, so it survives expiry, rollback, rename and the loss of a
branch (docs/decisions/0004).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlext.commit.action import Action, CommitContext, StagedChange, Staging
from sqlext.errors import CorruptionError, ValidationConflict
from sqlext.spec.metadata.metadata_update import SetProperties
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stream_state import PROGRESS_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

_VERSION = 1
KEPT_PLANS = 16


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """The last committed batch (None: none yet), and the query's run that wrote last.

    `plans` maps the newest batch ids to fingerprints of what they were planned to read.
    """

    run_id: str
    batch_id: int | None = None
    plans: Mapping[int, str] = field(default_factory=dict)

    def taken_over(self, run_id: str) -> StreamProgress:
        """The progress with another run as the writer."""
        return replace(self, run_id=run_id)

    def after(self, batch_id: int, plans: Mapping[int, str]) -> StreamProgress:
        """The progress after a batch; `plans` are those of it and of empty batches before it."""
        known = sorted({**self.plans, **plans}.items())
        return replace(self, batch_id=batch_id, plans=dict(known[-KEPT_PLANS:]))

    def encode(self) -> str:
        """The value of the property."""
        plans = {str(batch): plan for batch, plan in self.plans.items()}
        return json.dumps({"version": _VERSION, "run": self.run_id, "batch": self.batch_id, "plans": plans})

    @classmethod
    def of(cls, metadata: TableMetadata, query_id: str, name: str) -> StreamProgress | None:
        """The query's progress; None if it has written nothing. Raises CorruptionError for a value that does not
        parse."""
        text = metadata.properties.get(PROGRESS_PREFIX + query_id)
        if text is None:
            return None
        try:
            value = json.loads(text)
            if value["version"] != _VERSION:
                raise ValueError(f"its version is {value['version']}")
            run, batch, plans = value["run"], value["batch"], value["plans"]
            known = {int(number): str(plan) for number, plan in plans.items()}
            return cls(str(run), None if batch is None else int(batch), known)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CorruptionError("STREAM_PROGRESS_UNREADABLE", name=name, query=query_id, reason=error) from None


@dataclass(frozen=True, slots=True)
class AdvanceStream:
    """Commits a batch of a streaming query, or without `action` a run's claim, if the progress is `expected`.

    `landed` is called with the snapshot, or None, after the commit.

    Raises `ValidationConflict` STREAM_FENCED if the progress differs, because another run has written.
    """

    query_id: str
    expected: StreamProgress | None
    progress: StreamProgress
    action: Action | None = None
    landed: Callable[[Snapshot | None], None] | None = None

    def begin(self, context: CommitContext) -> Staging:
        return _Staging(self, context, None if self.action is None else self.action.begin(context))


class _Staging:
    def __init__(self, advance: AdvanceStream, context: CommitContext, inner: Staging | None) -> None:
        self._advance = advance
        self._name = context.name
        self._inner = inner

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a stream needs a table")
        advance = self._advance
        there = StreamProgress.of(base, advance.query_id, self._name)
        if there == advance.progress:
            # An attempt without an answer has succeeded: no other run writes this progress.
            return StagedChange(base, (), (AssertTableUUID(base.table_uuid),))
        if there != advance.expected:
            other = "nobody" if there is None else there.run_id
            raise ValidationConflict("STREAM_FENCED", name=self._name, query=advance.query_id, run=other)
        moved = SetProperties({PROGRESS_PREFIX + advance.query_id: advance.progress.encode()})
        if self._inner is None:
            return StagedChange(base, (moved,), (AssertTableUUID(base.table_uuid),))
        change = self._inner.stage(base)
        return StagedChange(change.start, (*change.updates, moved), change.requirements, change.snapshot)

    def finish(self, landed: Snapshot | None) -> None:
        if self._inner is not None:
            self._inner.finish(landed)
        if self._advance.landed is not None:
            self._advance.landed(landed)

    def abandon(self) -> None:
        if self._inner is not None:
            self._inner.abandon()
