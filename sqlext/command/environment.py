"""What every command works with: catalogs, scans, and the clock, randomness and sleep of the commit loop."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from sqlext.catalog.catalog import LoadedTable
from sqlext.spark.catalogs import Catalogs, TableVersion, handle_of
from sqlext.spark.scan_bridge import ScanBridge
from sqlext.transaction.action import Action
from sqlext.transaction.transaction import CommitOutcome, commit


@dataclass(frozen=True, slots=True)
class Environment:
    """Injected into every command by the session."""

    catalogs: Catalogs
    scans: ScanBridge
    clock: Callable[[], int]
    rng: random.Random
    sleep: Callable[[float], None]

    def version(self, catalog: str, table: LoadedTable) -> TableVersion:
        """A loaded table as scans see it."""
        return self.catalogs.version(handle_of(catalog, table))

    def commit(self, catalog: str, table: LoadedTable, action: Action) -> CommitOutcome:
        """Commits `action` on a table, from the version it was planned on."""
        return commit(
            self.catalogs.catalog(catalog),
            table.identifier,
            action,
            base=table,
            clock=self.clock,
            rng=self.rng,
            sleep=self.sleep,
        )
