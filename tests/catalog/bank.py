"""A bank of three tables: writers move money between two of them in transactions, and are killed while they do.

Accounts are table properties, so that a writer needs neither Spark nor data files.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from small_tables import SCHEMA, UNPARTITIONED, UNSORTED, Clock
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import ValidationConflict
from sqlext.storage.file_io import LocalFileIO

Opener = Callable[[], Catalog]

ACCOUNTS = tuple(TableIdentifier(("db",), name) for name in ("cash", "loans", "savings"))
DEPOSIT = 1_000
_BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run: balances at its end, how many transfers were told to have landed, how many writers died."""

    balances: tuple[int, ...]
    acknowledged: int
    killed: int


def hasty_clock() -> int:
    """A hundred times as fast as others, so that writers soon take a dead one's transaction for overdue."""
    return time.time_ns() // 10_000


def open_hasty(folder: Path) -> Catalog:
    """A warehouse folder with such a clock."""
    return WarehouseCatalog("lake", str(folder), LocalFileIO(), clock=hasty_clock)


def open_bank(catalog: Catalog) -> None:
    """Makes the accounts."""
    catalog.create_namespace(("db",), {})
    for identifier in ACCOUNTS:
        action = CreateTable(
            schema=SCHEMA,
            spec=UNPARTITIONED,
            sort_order=UNSORTED,
            properties={_BALANCE: str(DEPOSIT)},
            format_version=2,
            location=catalog.default_table_location(identifier),
        )
        commit(catalog, identifier, action, base=None, clock=Clock(), rng=random.Random(str(identifier)))


def run_bank(opener: Opener, folder: Path, *, writers: int, transfers: int, kills: int, seed: int) -> Run:
    """Lets writers make so many transfers each; one of them is killed at a random moment, `kills` times, and begins
    anew. `folder` is for what they tell."""
    chance = random.Random(seed)
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    landed = folder / "landed"
    processes: list[ForkServerProcess] = []

    def start() -> None:
        process = context.Process(target=_transfer, args=(opener, transfers, chance.getrandbits(32), landed))
        process.start()
        processes.append(process)

    for _ in range(writers):
        start()
    killed = 0
    while killed < kills:
        time.sleep(chance.uniform(0.01, 0.3))
        living = [process for process in processes if process.is_alive()]
        if not living:
            break
        victim = chance.choice(living)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        killed += 1
        start()
    for process in processes:
        process.join()
    return Run(balances(opener()), landed.stat().st_size, killed)


def balances(catalog: Catalog) -> tuple[int, ...]:
    return tuple(int(catalog.load_table(one).metadata.properties[_BALANCE]) for one in ACCOUNTS)


def _transfer(opener: Opener, transfers: int, seed: int, landed: Path) -> None:
    catalog, chance, done = opener(), random.Random(seed), 0
    while done < transfers:
        transaction = OpenTransaction(str(chance.getrandbits(64)), lambda location, metadata: None)
        inside = transaction.catalog(catalog)
        amount = chance.randrange(1, 100)
        try:
            for identifier, change in zip(chance.sample(ACCOUNTS, 2), (-amount, amount), strict=True):
                table = inside.load_table(identifier)
                balance = int(table.metadata.properties[_BALANCE]) + change
                action = ChangeProperties({_BALANCE: str(balance)}, frozenset())
                commit(inside, identifier, action, base=table, clock=_now_ms, rng=chance)
            transaction.commit()
        except ValidationConflict:
            transaction.roll_back()
            continue
        done += 1
        # One byte appended: no lock that a writer which is killed would keep.
        with landed.open("ab", buffering=0) as file:
            file.write(b".")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
