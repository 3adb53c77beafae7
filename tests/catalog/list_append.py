"""Processes whose transactions append to lists and read them; a list is a property of a table of its own."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Mapping, Sequence
from itertools import count
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from catalog.bank import Opener
from catalog.history import Outcome, Recorded
from small_tables import SCHEMA, UNPARTITIONED, UNSORTED, Clock
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.commit.property_change import ChangeProperties
from sqlext.commit.table_creation import CreateTable
from sqlext.commit.transaction import commit
from sqlext.errors import CommitConflict, CommitStateUnknown, ValidationConflict

LISTS = ("a", "b", "c", "d", "e", "f")
_LIST = "list"
_PROPERTIES = {
    _LIST: "",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def open_lists(catalog: Catalog) -> None:
    """Makes the tables."""
    catalog.create_namespace(("db",), {})
    for name in LISTS:
        identifier = _table(name)
        location = catalog.default_table_location(identifier)
        action = CreateTable(SCHEMA, UNPARTITIONED, UNSORTED, _PROPERTIES, 2, location)
        commit(catalog, identifier, action, base=None, clock=Clock(), rng=random.Random(name))


def lists(catalog: Catalog) -> dict[str, list[int]]:
    return {name: _values(catalog, name) for name in LISTS}


def run_lists(
    opener: Opener, folder: Path, *, writers: int, transactions: int, kills: int, seed: int, serializable: bool
) -> list[Recorded]:
    """So many transactions, by writers of which some are killed; `folder` is for what they tell."""
    chance = random.Random(seed)
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    processes: list[ForkServerProcess] = []
    numbers = count()

    def start(share: int) -> None:
        number = next(numbers)
        told = folder / f"writer-{number}"
        process = context.Process(target=_write, args=(opener, number, share, seed, serializable, told))
        process.start()
        processes.append(process)

    for _ in range(writers):
        start(transactions // writers)
    for _ in range(kills):
        time.sleep(chance.uniform(0.2, 1))
        living = [process for process in processes if process.is_alive()]
        if not living:
            break
        victim = chance.choice(living)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        start(transactions // writers // 2)
    for process in processes:
        process.join()
    return [one for told in sorted(folder.glob("writer-*")) for one in _told(told)]


def _write(opener: Opener, number: int, share: int, seed: int, serializable: bool, told: Path) -> None:
    catalog, chance = opener(), random.Random(f"{seed} {number}")
    with told.open("a", buffering=1) as file:
        for turn in range(share):
            name = f"{number}.{turn}"
            opened = OpenTransaction(f"{name}-{chance.getrandbits(64)}", lambda *_: None, serializable=serializable)
            try:
                reads, appends = _run(opened.catalog(catalog), chance, number * 1_000_000 + turn * 10)
            except (CommitConflict, ValidationConflict):
                opened.roll_back()
                continue
            file.write(json.dumps([name, reads, appends]) + "\n")
            outcome: Outcome = "landed"
            try:
                opened.commit()
            except ValidationConflict:
                outcome = "refused"
            except CommitStateUnknown:
                outcome = "unknown"
            file.write(json.dumps([name, outcome]) + "\n")
            if outcome != "landed":
                time.sleep(chance.uniform(0, 0.02))


def _run(inside: Any, chance: random.Random, first: int) -> tuple[Mapping[str, list[int]], Mapping[str, list[int]]]:
    """One to four reads and appends; what was read before own appends, and what was appended."""
    reads: dict[str, list[int]] = {}
    appends: dict[str, list[int]] = {}
    for step in range(chance.randint(1, 4)):
        name = chance.choice(LISTS)
        if name not in appends:
            reads.setdefault(name, _values(inside, name))
        if chance.random() < 0.5:
            assert _values(inside, name) == [*reads[name], *appends.get(name, ())]
            continue
        appends.setdefault(name, []).append(first + step)
        table = inside.load_table(_table(name))
        value = ",".join(map(str, [*reads[name], *appends[name]]))
        action = ChangeProperties({_LIST: value}, frozenset())
        commit(inside, _table(name), action, base=table, clock=_now_ms, rng=chance)
        time.sleep(chance.uniform(0, 0.002))
    return reads, appends


def _told(file: Path) -> list[Recorded]:
    begun: dict[str, Sequence[Any]] = {}
    ended: dict[str, Outcome] = {}
    for line in file.read_text().splitlines():
        try:
            name, *rest = json.loads(line)
        except ValueError:
            # The last one of a process that was killed.
            continue
        if len(rest) == 2:
            begun[name] = rest
        else:
            ended[name] = rest[0]
    return [Recorded(name, reads, appends, ended.get(name, "unknown")) for name, (reads, appends) in begun.items()]


def _table(name: str) -> TableIdentifier:
    return TableIdentifier(("db",), name)


def _values(catalog: Catalog, name: str) -> list[int]:
    text = catalog.load_table(_table(name)).metadata.properties[_LIST]
    return [int(value) for value in text.split(",") if value]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
