"""`SELECT … FROM table CHANGES FROM … TO …`, a clause of Spark from 4.2 on, as a query on the change feed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.command.changelog.changes import ChangeFeed
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.lowering.changes import lower_changes, lower_clause

_NET_CHANGES = "netchanges"


class ChangesClause:
    """Answers what the clause is as SQL."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed

    def sql(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{"sql": …} for the changes of `table` between two bounds, each a place as `table_changes` takes it.

        `from` and `to` are the bounds, {} for none; `from_inclusive` and `to_inclusive` whether the snapshot at the
        bound, or the very moment, is told too. `mode` is Spark's deduplicationMode: no row is told that was moved, so
        only netChanges differs. With `updates` the two sides of an update are told as such, else as a delete and an
        insert. Errors as of `ChangeFeed.sql`.
        """
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
        """The newest snapshot whose changes are not told; None where all are."""
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
        """The newest snapshot whose changes are told; None where there is none."""
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
        """AnalysisError CHANGES_EXPIRED where it is not known any more."""
        if snapshot.parent_snapshot_id is None:
            return None
        parent = metadata.snapshot_or_none(snapshot.parent_snapshot_id)
        if parent is None:
            raise self._expired(handle, snapshot, snapshot.parent_snapshot_id)
        return parent

    def _require_beginning(self, handle: TableHandle, metadata: TableMetadata) -> None:
        """AnalysisError CHANGES_EXPIRED where a snapshot before the oldest has gone."""
        oldest = self._feed.head(handle)
        while oldest is not None:
            oldest = self._parent(handle, metadata, oldest)

    def _expired(self, handle: TableHandle, snapshot: Snapshot, parent_id: int) -> AnalysisError:
        return AnalysisError("CHANGES_EXPIRED", name=handle.full_name, start=parent_id, end=snapshot.snapshot_id)


def _last_moment(microseconds: int, *, inclusive: bool) -> int:
    """The last millisecond up to a moment, or before it; snapshots have whole ones."""
    return microseconds // 1000 if inclusive else -(-microseconds // 1000) - 1
