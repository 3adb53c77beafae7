"""The time of day, which everything else takes as a parameter."""

from __future__ import annotations

import time


def system_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
