"""The mark in a metadata file that a transaction of several tables of a warehouse folder wrote."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.metadata_file import version_number
from sqlext.errors import CorruptionError
from sqlext.spec.metadata.table_metadata import TableMetadata

MARK = "sqlext-transaction"
# How long a transaction may take from its first marked file to its outcome, before other writers abort it.
_PATIENCE_MS = 10_000


@dataclass(frozen=True, slots=True)
class Mark:
    """The transaction that wrote a metadata file; `base` is the name of the previous version's file.

    `base` has no folder, since the author of the file could name any.
    """

    transaction: uuid.UUID
    base: str
    begun_ms: int

    def to_json(self) -> Mapping[str, Any]:
        return {"id": str(self.transaction), "base": self.base, "begun-ms": self.begun_ms}


def mark_of(table: LoadedTable) -> Mark | None:
    """The mark of a metadata file; None without one. Raises CorruptionError for an invalid one."""
    obj = table.metadata.extra.get(MARK)
    if obj is None:
        return None
    try:
        mark = Mark(uuid.UUID(obj["id"]), str(obj["base"]), int(obj["begun-ms"]))
        if "/" in mark.base or version_number(mark.base) is None:
            raise ValueError(f"{mark.base} is no metadata file")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        path = table.metadata_location
        raise CorruptionError("CORRUPT_FILE", path=path, kind="transaction mark", reason=error) from error
    return mark


def unmarked(metadata: TableMetadata) -> TableMetadata:
    """The metadata without mark, for the next version: a mark concerns one file only."""
    if MARK not in metadata.extra:
        return metadata
    return replace(metadata, extra={name: value for name, value in metadata.extra.items() if name != MARK})


def is_overdue(mark: Mark, now_ms: int) -> bool:
    """Whether other writers may abort the transaction, if it has no outcome."""
    return now_ms - mark.begun_ms > _PATIENCE_MS
