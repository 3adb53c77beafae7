"""What a table that looks after itself gets after a commit: compaction, and expiry of its snapshots."""

from __future__ import annotations

import logging
from bisect import bisect_left
from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.compaction.compaction import compact_due
from sqlext.command.compaction.compaction_candidates import compacts_itself
from sqlext.command.environment import Environment
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.properties import GC_ENABLED, MAX_SNAPSHOT_AGE_MS, looks_after_itself
from sqlext.spark.session.session_settings import session_id
from sqlext.spark.shim.java_objects import clone_of
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata

_LOG = logging.getLogger("sqlext")
COMPACTION, EXPIRY = "compact", "expire_snapshots"
# So many statements on a table compact all that is due before they end.
_FIRST_COMMITS = 10
_COMPACTION_PAUSE_MS = 2_000
# An expiry costs a commit, so it waits until so many snapshots are old enough, or this part of all of them.
_FEWEST = 20
_PART = 10
# Few, since statements of the session are running.
_THREADS = 2


def care_after_commit(
    environment: Environment, spark: SparkSession, target: Target, trigger_ms: int | None = None
) -> None:
    """Compacts what is due if the table is configured to compact itself, and has snapshots expired in the background if
    enough are due. What takes long to compact is left to the background too.

    `trigger_ms` is the time between the batches of a stream. Failures are logged as warnings, since the commit is done.
    While statements of the process wait for a rerun on the table, compaction is left to the last of them.
    """
    try:
        _compact(environment, spark, target, trigger_ms)
    except Exception as failure:
        _LOG.warning("%s is not compacted: %s", target.name, failure)
    try:
        metadata = target.table.metadata
        is_due = looks_after_itself(metadata.properties) and expiry_is_due(metadata, environment.clock())
        if is_due and not environment.transactions.is_open(session_id(spark)):
            ask_for_expiry(environment, target)
    except Exception as failure:
        _LOG.warning("Snapshots of %s are not expired: %s", target.name, failure)


def _compact(environment: Environment, spark: SparkSession, target: Target, trigger_ms: int | None) -> None:
    if target.destination.wap_id is not None or environment.statements_run_again(target.table):
        return
    metadata, session = target.table.metadata, session_id(spark)
    if not compacts_itself(metadata) or environment.transactions.is_open(session):
        return
    # A process that has committed little may end after this statement, and all work in the background with it.
    is_young = environment.care.counted_commit(metadata.table_uuid) < _FIRST_COMMITS
    most_bytes = None if is_young else environment.planning.thresholds.compacted_at_once_bytes
    if compact_due(environment, spark, target, trigger_ms, most_bytes) is None:
        ask_for_compaction(environment, spark, target, trigger_ms)


def ask_for_compaction(
    environment: Environment, spark: SparkSession, target: Target, trigger_ms: int | None = None
) -> bool:
    """Has what is due compacted in the background; False if that waits or runs, or was asked for a moment ago."""
    branch = target.destination.branch
    kind = COMPACTION if branch == MAIN_BRANCH else f"{COMPACTION} {branch}"
    environment = replace(environment, batch=None, overtaken=None)

    def compact() -> str:
        if environment.transactions.is_open(session_id(spark)):
            return "left to the next commit, as a transaction is open"
        # In a session of its own, so that a transaction that begins meanwhile does not read by it.
        done = compact_due(environment, clone_of(spark), target, trigger_ms)
        return "" if done is None else f"{done.replaced_files} files became {done.added_files}"

    uuid, table = target.table.metadata.table_uuid, _name(target)
    return environment.care.ask(uuid, table, kind, compact, pause_ms=_COMPACTION_PAUSE_MS)


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
    catalog, parts = target.name.catalog, _parts(target)

    def expire() -> str:
        table = environment.catalogs.load(parts)
        done = expire_snapshots(environment, catalog, table, ExpireSnapshots(), _THREADS)
        return f"{done.snapshots} snapshots, {len(done.paths)} files"

    return environment.care.ask(target.table.metadata.table_uuid, _name(target), EXPIRY, expire)


def _parts(target: Target) -> tuple[str, ...]:
    """The name without a branch or metadata table."""
    return (target.name.catalog, *target.table.identifier.namespace, target.table.identifier.name)


def _name(target: Target) -> str:
    return ".".join(_parts(target))
