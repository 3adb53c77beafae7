"""Work on many files, several at a time, since a store takes its time to answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeAlias, TypeVar

_THREADS = 8
# Items for each thread that are begun before the first one's result is taken.
_AHEAD = 4

T = TypeVar("T")
R = TypeVar("R")

Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""A function as `in_threads`, or `map`, which takes one item after the other in the thread of the caller."""


def in_threads(function: Callable[[T], R], items: Iterable[T], threads: int = _THREADS) -> Iterator[R]:
    """The results of `function` in the order of `items`, of which a few are worked on ahead. Raises its errors."""
    waiting = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        begun = deque(pool.submit(function, item) for item in islice(waiting, threads * _AHEAD))
        try:
            while begun:
                result = begun.popleft().result()
                begun.extend(pool.submit(function, item) for item in islice(waiting, 1))
                yield result
        finally:
            for one in begun:
                one.cancel()
