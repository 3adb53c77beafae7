"""What every command works with: catalogs, scans, and the clock, randomness and sleep of the commit loop."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.transaction import CommitOutcome, commit
from sqlext.errors import StaleRead
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.catalogs import Catalogs, TableVersion, handle_of
from sqlext.spark.session.open_transactions import OpenTransactions


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A statement that runs again: what ended its last run, and how many there were."""

    conflict: StaleRead
    times: int


@dataclass(frozen=True, slots=True)
class Environment:
    """Injected into every command by the session. `overtaken`: in a statement that runs again."""

    catalogs: Catalogs
    scans: ScanBridge
    clock: Callable[[], int]
    rng: random.Random
    sleep: Callable[[float], None]
    transactions: OpenTransactions
    queue: AttemptQueue
    groups: GroupCommitters
    overtaken: Overtaken | None = None

    def within(self, session: str) -> Environment:
        """The environment of a statement of that session: in a transaction, if it has one."""
        return replace(self, catalogs=self.transactions.catalogs_of(session))

    def version(self, catalog: str, table: LoadedTable, branch: str | None = None) -> TableVersion:
        """A loaded table as scans see it, at the head of a branch."""
        return self.catalogs.version(replace(handle_of(catalog, table), branch=branch))

    def commit(
        self, catalog: str, table: LoadedTable, action: Action, destination: Destination = MAIN
    ) -> CommitOutcome:
        """Commits `action` on a table, from the version it was planned on; perhaps together with what others commit.

        One that is recorded lands alone: its record is of its own snapshot, behind what is there.
        """
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
            queue=self.queue,
        )
