"""Processes that race each other through one catalog."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from catalog.made_tables import OTHER, changed, create, said_last
from small_tables import ORDERS
from sqlext.catalog.catalog import Catalog, TableCommit
from sqlext.errors import CommitConflict, CommitStateUnknown

Opener = Callable[[], Catalog]
"""Opens one and the same catalog anew, also in another process: it can be pickled."""

Answer = TypeVar("Answer")

TURNS = 5


def count_up(opener: Opener) -> int:
    """Raises a counter some times, each time from what it is at present; answers with the number of times."""
    catalog, acknowledged = opener(), 0
    while acknowledged < TURNS:
        base = catalog.load_table(ORDERS)
        number = int(said_last(base).get("counter", "0")) + 1
        try:
            catalog.commit(ORDERS, base, changed(base, counter=str(number)))
        except (CommitConflict, CommitStateUnknown) as lost:
            _require_conflict(lost)
            continue
        acknowledged += 1
    return acknowledged


def count_both_up(opener: Opener) -> int | str:
    """As `count_up`, the counters of two tables at once, which must be the same whenever one looks."""
    catalog, acknowledged = opener(), 0
    while acknowledged < TURNS:
        bases = {identifier: catalog.load_table(identifier) for identifier in (ORDERS, OTHER)}
        number = int(said_last(bases[ORDERS]).get("counter", "0")) + 1
        changes = [TableCommit(one, base, changed(base, counter=str(number))) for one, base in bases.items()]
        try:
            catalog.commit_tables(changes)
        except (CommitConflict, CommitStateUnknown) as lost:
            _require_conflict(lost)
            continue
        counters = {said_last(base).get("counter") for base in bases.values()}
        # Both were read before the commit, one after the other, and had not changed until it.
        if len(counters) != 1:
            return f"drifted apart: {counters}"
        acknowledged += 1
    return acknowledged


def _require_conflict(lost: CommitConflict | CommitStateUnknown) -> None:
    """That is what a server calls it, too."""
    if not isinstance(lost, CommitConflict) and not isinstance(lost.refusal, CommitConflict):
        raise lost


def create_one(opener: Opener) -> str:
    try:
        create(opener())
    except Exception as error:
        return type(error).__name__
    return "made"


def in_processes(count: int, work: Callable[[Opener], Answer], opener: Opener) -> list[Answer]:
    """What each of `count` processes that run at the same time answers; raises what one of them raises."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(count, context) as processes:
        return [answer.result() for answer in [processes.submit(work, opener) for _ in range(count)]]
