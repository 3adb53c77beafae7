"""What a metadata file of a warehouse folder says of the transaction of several tables that wrote it."""

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
# So long a transaction may take from its first marked file to its outcome, before others abort it.
_PATIENCE_MS = 10_000


@dataclass(frozen=True, slots=True)
class Mark:
    """What a table's metadata file says of the transaction that wrote it; `base` is the file of the version before.

    It names no folder, as whoever wrote the file might name any.
    """

    transaction: uuid.UUID
    base: str
    begun_ms: int

    def to_json(self) -> Mapping[str, Any]:
        return {"id": str(self.transaction), "base": self.base, "begun-ms": self.begun_ms}


def mark_of(table: LoadedTable) -> Mark | None:
    """The mark of a metadata file, if it was written by a transaction of several tables. `CorruptionError`."""
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
    """The metadata as the next version has it: a mark says something of one file alone."""
    if MARK not in metadata.extra:
        return metadata
    return replace(metadata, extra={name: value for name, value in metadata.extra.items() if name != MARK})


def is_overdue(mark: Mark, now_ms: int) -> bool:
    """Whether a transaction without an outcome may be aborted."""
    return now_ms - mark.begun_ms > _PATIENCE_MS
