"""A dropped table that can be restored."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlext.catalog.identifier import TableIdentifier

UNDROP_RETENTION = "undrop-retention"
"""Catalog setting: how long a dropped table can be restored."""


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """Name, and time of the drop in milliseconds since 1970. A name may have been dropped several times."""

    identifier: TableIdentifier
    dropped_at_ms: int


def system_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
