"""A table that was dropped and can be brought back."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlext.catalog.identifier import TableIdentifier

UNDROP_RETENTION = "undrop-retention"
"""The setting of a catalog that says for how long."""


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """Its name, and when it was dropped, in milliseconds since 1970. One name may have been dropped several times."""

    identifier: TableIdentifier
    dropped_at_ms: int


def system_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
