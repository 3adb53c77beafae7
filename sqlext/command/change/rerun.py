"""A statement that others overtook runs again from the start, on the newest version of its target.

Nothing of the run before is left, so it is as if the statement had come later. Its source is evaluated anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sqlext.command.environment import Environment, Overtaken
from sqlext.errors import StaleRead

T = TypeVar("T")


def run_until_not_overtaken(environment: Environment, run: Callable[[Environment], T]) -> T:
    """What `run` gives, which loads its target by `load_target` and commits by `commit_change`.

    ValidationConflict once the target's `write.conflict.max-reruns` are used up.
    """
    while True:
        try:
            return run(environment)
        except StaleRead as conflict:
            before = environment.overtaken
            times = 1 if before is None else before.times + 1
            environment = replace(environment, overtaken=Overtaken(conflict, times))
