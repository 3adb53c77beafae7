"""Several changes of rows, of two tables, that a process commits as one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.statements import Change, Statement
from simulator.world import Process
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.commit.loop.pace import RetryPace
from sqlext.errors import SqlextError


@dataclass
class Transaction(Statement):
    """Changes of different tables. Each counts as a statement, and all have one outcome."""

    parts: Sequence[Change] = ()

    def __str__(self) -> str:
        return f"{self.name}: transaction of {', '.join(map(str, self.parts))}"

    def run(self, process: Process) -> None:
        def checks() -> Iterable[int]:
            return RetryPace(process.clock, process.rng, process.sleep, {}, None).status_checks()

        opened = OpenTransaction(f"transaction-{self.name}", lambda *_: None, checks=checks, clock=process.clock)
        inside = _Inside(process, opened.catalog(process.catalog))
        try:
            for part in self.parts:
                part.run(inside)  # type: ignore[arg-type]
        except SqlextError:
            opened.roll_back()
            raise
        opened.commit()

    def of(self, identifier: TableIdentifier) -> Change:
        """The part that changes a table."""
        return next(part for part in self.parts if part.table == identifier)


class _Inside:
    """The process, whose catalog is the transaction's."""

    def __init__(self, process: Process, catalog: Any) -> None:
        self._process = process
        self.catalog = catalog

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)
