"""A dropped table that can be restored."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.catalog.identifier import TableIdentifier

UNDROP_RETENTION = "undrop-retention"
"""Catalog setting: how long a dropped table can be restored."""


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """Name, and time of the drop in milliseconds since 1970. A name may have been dropped several times."""

    identifier: TableIdentifier
    dropped_at_ms: int
