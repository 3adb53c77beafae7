"""A least-recently-used cache that is limited by bytes, for the content of immutable files."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ByteCache(Generic[K, V]):
    """Thread-safe. A value larger than the capacity is not cached."""

    def __init__(self, capacity: int) -> None:
        """`capacity` is in bytes, as `load` of `load_once` counts them; 0 caches nothing."""
        self._capacity = capacity
        self._held = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    @property
    def held_bytes(self) -> int:
        return self._held

    def holds(self, key: K) -> bool:
        """Whether the value of `key` is cached now; another thread may evict it."""
        with self._lock:
            return key in self._values

    def find(self, key: K) -> V | None:
        """The value of `key`; None if it is not cached."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def load_once(self, key: K, load: Callable[[], tuple[V, int]]) -> V:
        """The value of `key`, from `load()` -> (value, bytes) if not cached. Two threads may load one key at a time."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        value, weight = load()
        with self._lock:
            self._keep(key, value, weight)
        return value

    def forget(self, is_gone: Callable[[K], bool]) -> None:
        """Forgets the values of keys of which `is_gone` holds."""
        with self._lock:
            for key in [key for key in self._values if is_gone(key)]:
                self._held -= self._values.pop(key)[1]

    def clear(self) -> None:
        """Forgets all values."""
        with self._lock:
            self._values.clear()
            self._held = 0

    def _keep(self, key: K, value: V, weight: int) -> None:
        if weight > self._capacity or key in self._values:
            return
        self._values[key] = (value, weight)
        self._held += weight
        while self._held > self._capacity:
            _, (_, dropped) = self._values.popitem(last=False)
            self._held -= dropped
