"""A statement that others overtook runs again from the start, on the newest version of its target.

Nothing of the run before is left, so it is as if the statement had come later. Its source is evaluated anew.

A statement that takes longer than others of the process take between two commits would be overtaken for ever. So from
its second rerun on it runs in its turn: the other commits of the process to the table wait until it has landed, or for
ten seconds (`AttemptQueue`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlext.command.environment import Environment, Overtaken, longest_wait_s, statement_turn
from sqlext.errors import StaleRead

T = TypeVar("T")
_RERUNS_AT_ONCE = 1


def run_until_not_overtaken(environment: Environment, table: Sequence[str], run: Callable[[Environment], T]) -> T:
    """What `run` gives, which loads the target `table` by `load_target` and commits by `commit_change`.

    ValidationConflict once the target's `write.conflict.max-reruns` are used up.
    """
    while True:
        turn = None if environment.overtaken is None else environment.overtaken.turn
        try:
            return run(environment)
        except StaleRead as conflict:
            overtaken_by = conflict
        finally:
            if turn is not None:
                environment.queue.leave(turn)
        environment = replace(environment, overtaken=_overtaken(environment, table, overtaken_by))


def _overtaken(environment: Environment, table: Sequence[str], conflict: StaleRead) -> Overtaken:
    """Of the next run, whose turn it is where that has to be waited for."""
    times = 1 if environment.overtaken is None else environment.overtaken.times + 1
    if times <= _RERUNS_AT_ONCE:
        return Overtaken(conflict, times)
    _, loaded = environment.catalogs.locate(tuple(table))
    turn = statement_turn(loaded)
    environment.queue.take_turn(turn, longest_wait_s(loaded))
    return Overtaken(conflict, times, turn)
