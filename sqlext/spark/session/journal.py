"""The lowered SQL of the statements this process ran, for golden files and for people who ask."""

from __future__ import annotations

from collections import deque

_RECENT: deque[tuple[int, str]] = deque(maxlen=256)
_COUNT = [0]


def record(sql: str) -> None:
    """Notes one lowered statement; the oldest of more than 256 are dropped."""
    _COUNT[0] += 1
    _RECENT.append((_COUNT[0], sql))


def mark() -> int:
    """A point in time for `lowered_since`."""
    return _COUNT[0]


def lowered_since(point: int) -> list[str]:
    """The statements recorded after `point`, oldest first."""
    return [sql for number, sql in _RECENT if number > point]
