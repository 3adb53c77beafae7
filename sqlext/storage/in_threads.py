"""Work on many files: several at a time in a store, which takes its time to answer."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from sqlext.storage.file_io import FileIO
from sqlext.storage.location import is_object

_THREADS = 8
_MOST_DECODERS = 4
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


def each_decoded(io: FileIO, locations: Sequence[str]) -> Each:
    """How files that Arrow or numpy decodes are read: several at a time, also on a local disk, as these let other
    threads run while they work: on a local disk as many as there are processors, of which each holds a file's columns.
    A single file is read in the thread of the caller."""
    if len(locations) < 2 or not io.takes_threads:
        return map
    if is_object(locations[0]):
        return in_threads
    return partial(in_threads, threads=min(_MOST_DECODERS, max(2, os.cpu_count() or 1)))


def each_below(location: str, threads: int = _THREADS) -> Each:
    """How small files of a table at `location` are read or deleted: in a store in so many threads, and on a local disk
    in that of the caller.

    What takes time on a local disk is Python itself, which runs one thread at a time. Eight threads take twice the CPU
    time of one then, and statements that run beside them wait for each of the eight.
    """
    return partial(in_threads, threads=threads) if is_object(location) else map
