"""How far a statement is with work that is none of Spark's jobs, such as files to be deleted or checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from sqlext.storage.in_threads import Each, in_threads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done, how many items of it are done, and of how many; None if that is not known."""

    what: str
    done: int
    total: int | None = None


class WorkProgress:
    """The step that a statement is in. Its threads write it, and another one may read it."""

    def __init__(self) -> None:
        self._now: Step | None = None
        self._lock = Lock()

    @property
    def now(self) -> Step | None:
        """The step; None while the statement does something that it does not count."""
        return self._now

    def counted(self, what: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
        """The items, of which each counts once the next one is asked for."""
        done = 0
        try:
            for item in items:
                self._tell(Step(what, done, total))
                yield item
                done += 1
        finally:
            self._tell(None)

    def each(self, what: str) -> Each:
        """A function as `in_threads` that counts results."""

        def counted(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
            total = len(items) if isinstance(items, Sized) else None
            return self.counted(what, in_threads(function, items), total)

        return counted

    def _tell(self, step: Step | None) -> None:
        with self._lock:
            self._now = step
