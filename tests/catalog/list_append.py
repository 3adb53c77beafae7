"""Processes whose transactions append to lists and read them. Each list is of a table of its own: a property of it, or
in the summary of its newest snapshot, as a server keeps commits apart by snapshots, and not by properties."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from catalog.bank import Opener
from catalog.history import Outcome, Recorded
from catalog.made_tables import changed, said_last
from small_tables import SCHEMA, UNPARTITIONED, UNSORTED, Clock
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import CommitConflict, CommitStateUnknown, ValidationConflict

LISTS = ("a", "b", "c", "d", "e", "f")
_LIST = "list"
_SHARE_OF_READERS = 0.3
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
    return {name: values(catalog, name) for name in LISTS}


def append(catalog: Any, name: str, values: Sequence[int], clock: Callable[[], int], *, in_snapshot: bool) -> None:
    """Makes `values` the list of that name, by a commit on the table as the catalog has it. Errors as
    `Catalog.commit`."""
    base = catalog.load_table(_table(name))
    text = ",".join(map(str, values))
    if in_snapshot:
        catalog.commit(_table(name), base, changed(base, at_ms=max(clock(), base.metadata.last_updated_ms), list=text))
        return
    action = ChangeProperties({_LIST: text}, frozenset())
    commit(catalog, _table(name), action, base=base, clock=clock, rng=random.Random(text))


def values(catalog: Any, name: str) -> list[int]:
    """The list of that name."""
    table = catalog.load_table(_table(name))
    text = said_last(table).get(_LIST, table.metadata.properties[_LIST])
    return [int(value) for value in text.split(",") if value]


@dataclass(frozen=True)
class Run:
    """How the transactions of a history are; `in_snapshots`: where the lists are kept."""

    writers: int
    transactions: int
    kills: int
    seed: int
    serializable: bool = False
    in_snapshots: bool = False


def run_lists(opener: Opener, folder: Path, run: Run) -> list[Recorded]:
    """So many transactions, by writers of which some are killed; `folder` is for what they tell."""
    chance = random.Random(run.seed)
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    processes: list[ForkServerProcess] = []
    numbers = count()

    def start(share: int) -> None:
        number = next(numbers)
        process = context.Process(target=_write, args=(opener, number, share, run, folder / f"writer-{number}"))
        process.start()
        processes.append(process)

    for _ in range(run.writers):
        start(run.transactions // run.writers)
    for _ in range(run.kills):
        time.sleep(chance.uniform(0.2, 1))
        living = [process for process in processes if process.is_alive()]
        if not living:
            break
        victim = chance.choice(living)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        start(run.transactions // run.writers // 2)
    for process in processes:
        process.join()
    return [one for told in sorted(folder.glob("writer-*")) for one in _told(told)]


def _write(opener: Opener, number: int, share: int, run: Run, told: Path) -> None:
    catalog, chance = opener(), random.Random(f"{run.seed} {number}")
    with told.open("a", buffering=1) as file:
        for turn in range(share):
            name = f"{number}.{turn}"
            opened = OpenTransaction(f"{name}-{chance.getrandbits(64)}", lambda *_: None, serializable=run.serializable)
            inside, first = opened.catalog(catalog), number * 1_000_000 + turn * 10
            try:
                if chance.random() < _SHARE_OF_READERS:
                    reads, appends = _read(inside, chance), {}
                else:
                    reads, appends = _append(inside, chance, first, in_snapshots=run.in_snapshots)
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


def _read(inside: Any, chance: random.Random) -> dict[str, list[int]]:
    """Three lists or more, with time for the others between them."""
    reads: dict[str, list[int]] = {}
    for name in chance.sample(LISTS, chance.randint(3, len(LISTS))):
        reads[name] = values(inside, name)
        time.sleep(chance.uniform(0, 0.01))
    assert reads == {name: values(inside, name) for name in reads}
    return reads


def _append(
    inside: Any, chance: random.Random, first: int, *, in_snapshots: bool
) -> tuple[Mapping[str, list[int]], Mapping[str, list[int]]]:
    """One to four reads and appends; what was read before own appends, and what was appended."""
    reads: dict[str, list[int]] = {}
    appends: dict[str, list[int]] = {}
    for step in range(chance.randint(1, 4)):
        name = chance.choice(LISTS)
        if name not in appends:
            reads.setdefault(name, values(inside, name))
        if chance.random() < 0.5:
            assert values(inside, name) == [*reads[name], *appends.get(name, ())]
            continue
        appends.setdefault(name, []).append(first + step)
        append(inside, name, [*reads[name], *appends[name]], _now_ms, in_snapshot=in_snapshots)
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


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
