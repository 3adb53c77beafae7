"""Streaming queries and applications that write to a table, and consumers whose position it keeps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simulator.statements import STATEMENT, Files, Rows, Statement
from simulator.world import Process
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.batch_commit import CommitOnce
from sqlext.commit.actions.consumer import Consumer, MoveConsumer
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.commit.loop.transaction import commit
from sqlext.errors import BatchRanBefore, CommitStateUnknown, SqlextError, ValidationConflict
from sqlext.spec.metadata.idempotent_batch import Batch, BatchRun
from sqlext.spec.metadata.stream_state import CONSUMER_PREFIX, PROGRESS_PREFIX

_RUNS = 4


@dataclass
class StreamedBatch(Statement):
    """The first batch of a streaming query, which is started again as often as its commit gives no answer: a row is in
    the table once."""

    row_id: int = 0

    def branch(self) -> str | None:
        return "main"

    def may_change(self) -> frozenset[str]:
        return frozenset((f"property {PROGRESS_PREFIX}{self.name}",))

    def apply(self, rows: Rows) -> Rows:
        return rows + Counter({(self.row_id, self.name): 1})

    def run(self, process: Process) -> None:
        for run in range(_RUNS):
            try:
                self._run(process, f"{self.name} {run}")
                return
            except CommitStateUnknown:
                # Spark starts the query again, which finds its batch in the table or writes it anew.
                self.was_unknown = True
                if run + 1 == _RUNS:
                    raise
            except ValidationConflict as fenced:
                # What an earlier run has sent lands now.
                if fenced.condition != "STREAM_FENCED" or run + 1 == _RUNS:
                    raise

    def _run(self, process: Process, run_id: str) -> None:
        base = process.catalog.load_table(self.table)
        there = StreamProgress.of(base.metadata, self.name, "t")
        if there is not None and there.batch_id is not None:
            return
        claim = StreamProgress(run_id)
        base = self._advance(process, AdvanceStream(self.name, there, claim), base)
        files = Files(process, run_id.replace(" ", "-"))
        with files.removed_on_error():
            append = AppendFiles([files.data(base, self.apply(Counter()))])
        self._advance(process, AdvanceStream(self.name, claim, claim.after(0, {0: "plan"}), append), base)

    def _advance(self, process: Process, action: AdvanceStream, base: LoadedTable) -> LoadedTable:
        return commit(
            process.catalog,
            self.table,
            action,
            base=base,
            destination=Destination(summary=((STATEMENT, self.name),)),
            clock=process.clock,
            rng=process.rng,
            sleep=process.sleep,
            manifests=process.manifests,
            queue=process.queue,
        ).table


@dataclass
class IdempotentBatch(Statement):
    """A batch of an application, which writes it again as often as its commit gives no answer: a row is in the table
    once, also if another process writes the same batch."""

    row_id: int = 0
    application: str = "application"

    def branch(self) -> str | None:
        return "main"

    def may_change(self) -> frozenset[str]:
        return frozenset((f"property {Batch(self.application, 0).property_name}",))

    def apply(self, rows: Rows) -> Rows:
        return rows + Counter({(self.row_id, self.name): 1})

    def run(self, process: Process) -> None:
        """Raises BatchRanBefore if the batch of another process is in the table."""
        for run in range(_RUNS):
            try:
                self._run(process, f"{self.name}-{run}")
                return
            except CommitStateUnknown:
                self.was_unknown = True
                if run + 1 == _RUNS:
                    raise
            except BatchRanBefore:
                # What an earlier run of this process has sent may have landed now, which the next run sees.
                if not self.was_unknown or run + 1 == _RUNS:
                    raise

    def _run(self, process: Process, run: str) -> None:
        base = process.catalog.load_table(self.table)
        batch_run = BatchRun(Batch(self.application, 0), run, process.clock())
        there = batch_run.batch.last_run(base.metadata, "t")
        if there is not None and there.run.startswith(f"{self.name}-"):
            return
        batch_run.require_first(base.metadata, "t")
        files = Files(process, run)
        with files.removed_on_error():
            append = AppendFiles([files.data(base, self.apply(Counter()))])
        self._commit(process, CommitOnce(batch_run, append), base)


@dataclass
class Consume(Statement):
    """Moves a consumer to the head of main."""

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        head = base.metadata.current_snapshot_id
        try:
            self._commit(process, MoveConsumer(self.name, Consumer(head, head, process.clock())), base)
        except SqlextError as error:
            # Who expires snapshots may have come first.
            if error.condition != "CONSUMER_SNAPSHOT_GONE":
                raise

    def may_change(self) -> frozenset[str]:
        return frozenset((f"property {CONSUMER_PREFIX}{self.name}", f"reference sqlext-consumer-{self.name}"))
