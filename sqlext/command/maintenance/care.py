"""What a table that looks after itself gets after a commit: compaction, and expiry of its snapshots."""

from __future__ import annotations

import logging
from bisect import bisect_left

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.compaction.compaction import compact_after_commit
from sqlext.command.environment import Environment
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.properties import GC_ENABLED, MAX_SNAPSHOT_AGE_MS, looks_after_itself
from sqlext.spark.session.session_settings import session_id
from sqlext.spec.metadata.table_metadata import TableMetadata

_LOG = logging.getLogger("sqlext")
EXPIRY = "expire_snapshots"
# An expiry costs a commit, so it waits until so many snapshots are old enough, or this part of all of them.
_FEWEST = 20
_PART = 10
# Few, since statements of the session are running.
_THREADS = 2


def care_after_commit(
    environment: Environment, spark: SparkSession, target: Target, trigger_ms: int | None = None
) -> None:
    """Compacts what is due, as `compact_after_commit`, and has snapshots expired in the background if enough are due.

    Failures are logged as warnings, since the commit is done.
    """
    compact_after_commit(environment, spark, target, trigger_ms)
    try:
        metadata = target.table.metadata
        is_due = looks_after_itself(metadata.properties) and expiry_is_due(metadata, environment.clock())
        if is_due and not environment.transactions.is_open(session_id(spark)):
            ask_for_expiry(environment, target)
    except Exception as failure:
        _LOG.warning("Snapshots of %s are not expired: %s", target.name, failure)


def expiry_is_due(metadata: TableMetadata, now_ms: int) -> bool:
    """Whether enough snapshots have expired.

    Snapshots are taken to be in the order of their times, which clocks of other writers may disturb a little.
    """
    if not GC_ENABLED.of(metadata.properties):
        return False
    enough = max(2, min(_FEWEST, len(metadata.snapshots) // _PART))
    before_ms = now_ms - MAX_SNAPSHOT_AGE_MS.of(metadata.properties)
    # Most commits are told so by a few times of snapshots alone.
    if bisect_left(metadata.snapshots, before_ms, key=lambda one: one.timestamp_ms) < enough:
        return False
    return len(ExpireSnapshots().expired(metadata, metadata.location, now_ms).snapshot_ids) >= enough


def ask_for_expiry(environment: Environment, target: Target) -> bool:
    """Has the table's snapshots expired in the background; False if that was asked for a short time ago."""
    catalog, identifier = target.name.catalog, target.table.identifier
    parts = (catalog, *identifier.namespace, identifier.name)

    def expire() -> str:
        table = environment.catalogs.load(parts)
        done = expire_snapshots(environment, catalog, table, ExpireSnapshots(), _THREADS)
        return f"{done.snapshots} snapshots, {len(done.paths)} files"

    return environment.care.ask(target.table.metadata.table_uuid, ".".join(parts), EXPIRY, expire)
