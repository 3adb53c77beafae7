"""`SELECT … FROM table CHANGES FROM … TO …` (Spark 4.2 and later), as a query on the change feed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.command.changelog.changes import ChangeFeed
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.frame_options import require_changes_options
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.lowering.changes import lower_changes, lower_clause

_NET_CHANGES = "netchanges"


class ChangesClause:
    """CHANGES clauses as SQL text for Spark."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed

    def sql(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{"sql": …} for the changes of `table` between two bounds, each as in `table_changes`.

        `from` and `to` are the bounds, {} for none; `from_inclusive` and `to_inclusive` tell whether a bound's
        snapshot, or exact time, is included. `mode` is Spark's deduplicationMode, of which only netChanges makes a
        difference, since the feed has no rows that were merely moved. With `updates` an update is a pre- and a
        postimage, else a delete and an insert. Raises as `ChangeFeed.sql`, and AnalysisError UNKNOWN_OPTION.
        """
        require_changes_options(arguments["options"])
        handle, metadata = self._feed.table(tuple(arguments["table"]))
        schema = metadata.schema()
        start = self._last_before(handle, metadata, arguments["from"], inclusive=arguments["from_inclusive"])
        end = self._last_up_to(handle, metadata, arguments["to"], inclusive=arguments["to_inclusive"])
        net = str(arguments["mode"]).lower() == _NET_CHANGES
        steps = self._feed.steps(handle, metadata, start, end, net=net)
        known = {one.snapshot_id: one.timestamp_ms for one in metadata.snapshots}
        committed = {step.snapshot_id: known[step.snapshot_id] for step in steps if step.snapshot_id in known}
        text = lower_clause(lower_changes(steps, schema), schema, committed, updates=bool(arguments["updates"]))
        return {"sql": text}

    def _last_before(
        self, handle: TableHandle, metadata: TableMetadata, bound: Mapping[str, Any], *, inclusive: bool
    ) -> Snapshot | None:
        """The newest snapshot before the feed; None if the feed begins with the first."""
        if not bound:
            return None
        if "timestamp" in bound:
            found = self._at(handle, metadata, _last_moment(int(bound["timestamp"]), inclusive=not inclusive))
            if found is None:
                self._require_beginning(handle, metadata)
            return found
        snapshot = self._feed.snapshot(handle, metadata, bound)
        assert snapshot is not None
        return self._parent(handle, metadata, snapshot) if inclusive else snapshot

    def _last_up_to(
        self, handle: TableHandle, metadata: TableMetadata, bound: Mapping[str, Any], *, inclusive: bool
    ) -> Snapshot | None:
        """The newest snapshot in the feed; None if the feed is empty."""
        if not bound:
            return self._feed.head(handle)
        if "timestamp" in bound:
            return self._at(handle, metadata, _last_moment(int(bound["timestamp"]), inclusive=inclusive))
        snapshot = self._feed.snapshot(handle, metadata, bound)
        assert snapshot is not None
        return snapshot if inclusive else self._parent(handle, metadata, snapshot)

    def _at(self, handle: TableHandle, metadata: TableMetadata, milliseconds: int) -> Snapshot | None:
        try:
            return self._feed.snapshot(handle, metadata, {"at_timestamp": milliseconds})
        except NotFoundError:
            return None

    def _parent(self, handle: TableHandle, metadata: TableMetadata, snapshot: Snapshot) -> Snapshot | None:
        """The snapshot's parent; None for the first. Raises AnalysisError CHANGES_EXPIRED if the parent is expired."""
        if snapshot.parent_snapshot_id is None:
            return None
        parent = metadata.snapshot_or_none(snapshot.parent_snapshot_id)
        if parent is None:
            raise self._expired(handle, snapshot, snapshot.parent_snapshot_id)
        return parent

    def _require_beginning(self, handle: TableHandle, metadata: TableMetadata) -> None:
        """Raises AnalysisError CHANGES_EXPIRED if an ancestor of the head is expired."""
        oldest = self._feed.head(handle)
        while oldest is not None:
            oldest = self._parent(handle, metadata, oldest)

    def _expired(self, handle: TableHandle, snapshot: Snapshot, parent_id: int) -> AnalysisError:
        return AnalysisError("CHANGES_EXPIRED", name=handle.full_name, start=parent_id, end=snapshot.snapshot_id)


def _last_moment(microseconds: int, *, inclusive: bool) -> int:
    """The last whole millisecond, the unit of snapshot timestamps, up to or before a time in microseconds."""
    return microseconds // 1000 if inclusive else -(-microseconds // 1000) - 1
