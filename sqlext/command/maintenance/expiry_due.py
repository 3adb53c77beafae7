"""When an expiry of snapshots is worth a commit."""

from __future__ import annotations

from bisect import bisect_left

from sqlext.catalog.clone_tag import snapshots_may_expire
from sqlext.commit.actions.snapshot_expiry import UNASKED
from sqlext.properties import MAX_SNAPSHOT_AGE_MS
from sqlext.spec.metadata.table_metadata import TableMetadata

# An expiry costs a commit, so it waits until so many snapshots are old enough, or this part of all of them.
_FEWEST = 20
_PART = 10


def expiry_is_due(metadata: TableMetadata, now_ms: int) -> bool:
    """Whether enough snapshots have expired.

    Snapshots are taken to be in the order of their times, which clocks of other writers may disturb a little.
    """
    if not snapshots_may_expire(metadata):
        return False
    enough = max(2, min(_FEWEST, len(metadata.snapshots) // _PART))
    before_ms = now_ms - MAX_SNAPSHOT_AGE_MS.of(metadata.properties)
    # Most commits are told so by a few times of snapshots alone.
    if bisect_left(metadata.snapshots, before_ms, key=lambda one: one.timestamp_ms) < enough:
        return False
    return len(UNASKED.expired(metadata, metadata.location, now_ms).snapshot_ids) >= enough
