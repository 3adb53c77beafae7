"""The dependencies of all commands: catalogs, scans, and the clock, randomness and sleep of the commit loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.care_tasks import CareTasks
from sqlext.command.plan.planning import Planning
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue, Place
from sqlext.commit.loop.transaction import CommitOutcome, commit
from sqlext.errors import StaleRead
from sqlext.properties import COMMIT_RETRY_TOTAL_TIMEOUT_MS
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.session_catalogs import Catalogs, TableVersion, handle_of
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spark.session.refused_commits import RefusedCommits
from sqlext.spark.session.work_progress import WorkProgress
from sqlext.spec.metadata.idempotent_batch import BatchRun


@dataclass(frozen=True, slots=True)
class Rerun:
    """The state of a rerun: the conflict that ended the last run, the number of earlier runs, and the time of the first
    conflict.

    `turn` is its place in the queue of the process's reruns on the table, None if it does not queue. `reserved` has
    what is before the values of identity columns that only this statement gives, by field id.
    """

    conflict: StaleRead
    times: int
    first_ms: int
    turn: Place | None = None
    reserved: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class StatementBatch:
    """The run of an idempotent batch that a statement is, and whether a commit of the statement has recorded it.

    It is the statement's own, and used by its thread alone.
    """

    run: BatchRun
    is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class StatementCommit:
    """A commit of `action`, planned on the version `table` of a catalog's table."""

    catalog: str
    table: LoadedTable
    action: Action
    destination: Destination
    is_append: bool


@dataclass(frozen=True, slots=True)
class Environment:
    """Injected into every command by the session. `overtaken` is None except in a rerun.

    `planning` has the session's settings for plans, as of the start of the statement, and the options of its write.
    `batch` is None for a statement that is no idempotent batch. `refused` has the last refused commit of each session.
    `progress` is told how far long work of the statement is. `committed`, which a statement in a transaction of its own
    has, is called with its commits.
    """

    catalogs: Catalogs
    scans: ScanBridge
    clock: Callable[[], int]
    rng: random.Random
    sleep: Callable[[float], None]
    transactions: OpenTransactions
    queue: AttemptQueue
    groups: GroupCommitters
    care: CareTasks
    overtaken: Rerun | None = None
    planning: Planning = field(default_factory=Planning)
    batch: StatementBatch | None = None
    refused: RefusedCommits = field(default_factory=RefusedCommits)
    progress: WorkProgress = field(default_factory=WorkProgress)
    committed: Callable[[StatementCommit], None] | None = None

    def within(self, session: str) -> Environment:
        """The environment of a statement of `session`: with the catalogs of its transaction, if one is open."""
        return replace(self, catalogs=self.transactions.catalogs_of(session))

    @property
    def is_in_transaction(self) -> bool:
        """Whether what the statement commits stays uncommitted: in the transaction of its session, or in a trial."""
        return self.catalogs.transaction is not None

    def planned_by(self, settings: Mapping[str, str]) -> Environment:
        """The environment with these session settings for plans. Raises as `Planning.of`."""
        return replace(self, planning=Planning.of(settings)) if settings else self

    def writing_in(self, tasks: int | None) -> Environment:
        """The environment of a write in at most `tasks` tasks; None: as many as Spark chooses."""
        return replace(self, planning=replace(self.planning, tasks=tasks))

    def version(self, catalog: str, table: LoadedTable, branch: str | None = None) -> TableVersion:
        """A loaded table at the head of a branch."""
        return self.catalogs.version(replace(handle_of(catalog, table), branch=branch))

    def plans_all_files(self, version: TableVersion) -> bool:
        """Whether the driver may plan all data files of a table version, by `sqlext.plan.planned-files`."""
        return self.scans.data_file_count(version) <= self.planning.thresholds.planned_files

    def commit(
        self, catalog: str, table: LoadedTable, action: Action, destination: Destination = MAIN
    ) -> CommitOutcome:
        """Commits `action`, planned on `table`, to the table; possibly in a group commit with other statements.

        A recorded action is committed alone, since its record describes one snapshot. While a rerun of the process has
        its turn on the table, other commits wait.
        """
        with self.in_turn(table):
            return self.commit_in_turn(catalog, table, action, destination)

    def create(self, catalog: Catalog, identifier: TableIdentifier, action: Action) -> LoadedTable:
        """Commits `action`, which makes a table, under a name that has none. Raises as `commit`."""
        return commit(catalog, identifier, action, base=None, clock=self.clock, rng=self.rng, sleep=self.sleep).table

    def statements_run_again(self, table: LoadedTable) -> bool:
        """Whether another statement of the process has its turn for a rerun on the table."""
        own = None if self.overtaken is None else self.overtaken.turn
        return self.queue.is_behind_others(own or statement_turn(table))

    @contextmanager
    def in_turn(self, table: LoadedTable) -> Iterator[None]:
        """The block commits to the table once no other rerun of the process has its turn, and ends the statement's own
        turn. In a transaction nobody meets what is committed, so no turn is taken or ended."""
        if self.is_in_transaction:
            yield
            return
        own = None if self.overtaken is None else self.overtaken.turn
        turn = own or statement_turn(table)
        try:
            if own is None and self.queue.is_behind_others(turn):
                self.queue.take_turn(turn, longest_wait_s(table))
            yield
        finally:
            self.queue.leave(turn)

    def commit_in_turn(
        self, catalog: str, table: LoadedTable, action: Action, destination: Destination
    ) -> CommitOutcome:
        """As `commit`, in a block of `in_turn`."""
        to = self.catalogs.catalog(catalog)
        group = None if isinstance(action, RecordedAction) else self.catalogs.group_commit(catalog)
        if group is not None:
            return self.groups.of(to, group).commit(table.identifier, action, base=table, destination=destination)
        return commit(
            to,
            table.identifier,
            action,
            base=table,
            destination=destination,
            clock=self.clock,
            rng=self.rng,
            sleep=self.sleep,
            manifests=self.scans.manifests,
            queue=self.queue,
        )


def statement_turn(table: LoadedTable) -> Place:
    """A place in the queue of reruns on the table, which is separate from that of its commits."""
    return Place(f"statements on {table.metadata.table_uuid}")


def longest_wait_s(table: LoadedTable) -> float:
    """The longest time of a commit to the table, in seconds."""
    return COMMIT_RETRY_TOTAL_TIMEOUT_MS.of(table.metadata.properties) / 1000
