"""What a table that looks after itself gets after a commit: compaction, and expiry of snapshots and rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target, load_target
from sqlext.command.compaction.compaction import compact_due
from sqlext.command.compaction.compaction_candidates import compacts_itself
from sqlext.command.environment import Environment
from sqlext.command.maintenance.expired_partitions import expire_partitions
from sqlext.command.maintenance.expired_rows import delete_expired_rows
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.command.maintenance.expiry_due import expiry_is_due
from sqlext.commit.actions.snapshot_expiry import UNASKED
from sqlext.properties import (
    PARTITION_EXPIRATION_INTERVAL,
    PARTITION_EXPIRATION_TIME,
    RECORD_EXPIRE_TIME,
    looks_after_itself,
)
from sqlext.spark.query.job_names import named_jobs
from sqlext.spark.session.session_settings import session_id
from sqlext.spark.shim.java_objects import clone_of
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.sql.statements.statement import TableName
from sqlext.storage.in_threads import Each, each_below

_LOG = logging.getLogger("sqlext")
COMPACTION, EXPIRY = "compact", "expire_snapshots"
ROW_EXPIRY, PARTITION_EXPIRY = "expire_rows", "expire_partitions"
# So many statements on a table compact all that is due before they end.
FIRST_COMMITS = 10
COMPACTION_PAUSE_MS = 2_000
# A table that is changed all the time has so much more history than its properties say.
EXPIRY_PAUSE_MS = 5_000
# Few, since statements of the session are running.
_THREADS = 2
_PAUSE_S = 0.0005


def care_for(environment: Environment, spark: SparkSession, name: TableName) -> None:
    """`care_after_commit` for the newest version of the table. A table that is gone since the commit, or cannot be
    loaded, needs none: that too is logged as a warning."""
    try:
        target = load_target(replace(environment, batch=None), spark, name)
    except Exception as failure:
        _LOG.warning("Care for %s failed: %s", name, failure)
        return
    care_after_commit(environment, spark, target)


def care_after_commit(
    environment: Environment, spark: SparkSession, target: Target, trigger_ms: int | None = None
) -> None:
    """Compacts what is due if the table is configured to compact itself, and has rows, partitions and snapshots expired
    in the background if that is due. What takes long to compact is left to the background too.

    `trigger_ms` is the time between the batches of a stream. Failures are logged as warnings, since the commit is done.
    While statements of the process wait for a rerun on the table, compaction is left to the last of them.
    """
    if environment.is_in_transaction:
        return
    metadata = target.table.metadata
    # A process that has committed little may end after this statement, and all work in the background with it.
    is_young = environment.care.counted_commit(metadata.table_uuid) < FIRST_COMMITS
    steps: Sequence[tuple[str, Callable[[], object]]] = (
        ("expire rows", lambda: _ask_for_retention(environment, spark, target, at_once=is_young)),
        ("compact", lambda: _compact(environment, spark, target, trigger_ms, at_once=is_young)),
        ("expire snapshots", lambda: _ask_for_expiry_if_due(environment, target)),
    )
    if target.destination.wap_id is not None or environment.transactions.is_open(session_id(spark)):
        return
    for what, step in steps:
        try:
            step()
        except Exception as failure:
            _LOG.warning("Care for %s, to %s, failed: %s", target.name, what, failure)


def _compact(
    environment: Environment, spark: SparkSession, target: Target, trigger_ms: int | None, *, at_once: bool
) -> None:
    if environment.statements_run_again(target.table) or not compacts_itself(target.table.metadata):
        return
    most_bytes = None if at_once else environment.planning.thresholds.compacted_at_once_bytes
    if compact_due(environment, spark, target, trigger_ms, most_bytes) is None:
        ask_for_compaction(environment, spark, target, trigger_ms)


def _ask_for_expiry_if_due(environment: Environment, target: Target) -> None:
    metadata = target.table.metadata
    if looks_after_itself(metadata.properties) and expiry_is_due(metadata, environment.clock()):
        ask_for_expiry(environment, target)


def _ask_for_retention(environment: Environment, spark: SparkSession, target: Target, *, at_once: bool) -> None:
    """Has rows and partitions of main deleted that are expired by the table's properties, unless they were looked for
    a short time ago."""
    metadata, name = target.table.metadata, TableName(_parts(target))
    properties = metadata.properties
    if not looks_after_itself(properties) or target.destination.branch != MAIN_BRANCH:
        return
    # The deletion is a statement of its own, which no batch and no rerun of this one has anything to do with.
    environment = replace(environment, batch=None, overtaken=None)

    def delete_rows() -> str:
        with named_jobs(spark, _title(target, ROW_EXPIRY)):
            return f"{delete_expired_rows(environment, session(), name) or 0} rows"

    def remove_partitions() -> str:
        with named_jobs(spark, _title(target, PARTITION_EXPIRY)):
            return f"partitions: {', '.join(expire_partitions(environment, session(), name)) or 'none'}"

    def session() -> SparkSession:
        return spark if at_once else clone_of(spark)

    interval_ms = PARTITION_EXPIRATION_INTERVAL.of(properties)
    for age, kind, work in (
        (RECORD_EXPIRE_TIME, ROW_EXPIRY, delete_rows),
        (PARTITION_EXPIRATION_TIME, PARTITION_EXPIRY, remove_partitions),
    ):
        if age.of(properties) is not None:
            environment.care.ask(metadata.table_uuid, _name(target), kind, work, pause_ms=interval_ms, at_once=at_once)


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
        with named_jobs(spark, _title(target, COMPACTION)):
            done = compact_due(environment, clone_of(spark), target, trigger_ms)
        return "" if done is None else done.told

    uuid, table = target.table.metadata.table_uuid, _name(target)
    return environment.care.ask(uuid, table, kind, compact, pause_ms=COMPACTION_PAUSE_MS)


def ask_for_expiry(environment: Environment, target: Target) -> bool:
    """Has the table's snapshots expired in the background; False if that was asked for a short time ago."""
    catalog, parts = target.name.catalog, _parts(target)

    def expire() -> str:
        table = environment.catalogs.load(parts)
        return expire_snapshots(
            environment, catalog, table, UNASKED, _giving_way(environment, table.metadata.location)
        ).told

    uuid = target.table.metadata.table_uuid
    return environment.care.ask(uuid, _name(target), EXPIRY, expire, pause_ms=EXPIRY_PAUSE_MS)


def _giving_way(environment: Environment, location: str) -> Each:
    """`each_below` a location, for work beside statements of the same process.

    A thread of Python that computes gives way to another one after five milliseconds, and a statement asks for its turn
    a hundred times. This one gives way after each file.
    """
    each = each_below(location, _THREADS)

    def with_pauses(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for result in each(function, items):
            yield result
            environment.sleep(_PAUSE_S)

    return with_pauses


def _title(target: Target, kind: str) -> str:
    """The name of the jobs of a task."""
    return f"care of {_name(target)}: {kind}"


def _parts(target: Target) -> tuple[str, ...]:
    """The name without a branch or metadata table."""
    return (target.name.catalog, *target.table.identifier.namespace, target.table.identifier.name)


def _name(target: Target) -> str:
    return path_text(_parts(target))
