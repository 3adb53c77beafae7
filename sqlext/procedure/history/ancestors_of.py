"""ancestors_of: a snapshot and its ancestors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.errors import NotFoundError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.metadata.snapshot_line import ancestors


def ancestors_of(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: snapshots and their times in milliseconds, newest first, by default from main's head.

    Raises NotFoundError SNAPSHOT_NOT_FOUND.
    """
    name, snapshot_id = invocation.arguments["table"], invocation.arguments["snapshot_id"]
    metadata = invocation.load(name).metadata
    first = metadata.current_snapshot() if snapshot_id is None else metadata.snapshot_or_none(snapshot_id)
    if first is None and snapshot_id is not None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=snapshot_id, name=name)
    return [(one.snapshot_id, one.timestamp_ms) for one in ancestors(metadata, first)]


ANCESTORS_OF = Procedure(
    "ancestors_of",
    (Parameter("table", "string"), Parameter("snapshot_id", "bigint", required=False)),
    (("snapshot_id", "long"), ("timestamp", "long")),
    ancestors_of,
)
