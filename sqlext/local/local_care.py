"""What a table that looks after itself gets after a commit without Spark: compaction, and expiry of snapshots.

Rows and partitions that are due to expire by their age are left to sessions of Spark, and so is a compaction that needs
a query.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from sqlext.command.change.row_level import Target
from sqlext.command.compaction.compaction import compact_due
from sqlext.command.compaction.compaction_candidates import compacts_itself
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import (
    COMPACTION,
    COMPACTION_PAUSE_MS,
    FIRST_COMMITS,
    ask_for_expiry,
)
from sqlext.command.maintenance.expiry_due import expiry_is_due
from sqlext.errors import UnsupportedError
from sqlext.local.sessionless import NO_SESSION
from sqlext.properties import looks_after_itself
from sqlext.spec.metadata.reference import MAIN_BRANCH

_LOG = logging.getLogger("sqlext")


def care_without_session(environment: Environment, target: Target) -> None:
    """As `care_after_commit`, without Spark. Failures are logged, since the commit is done."""
    metadata = target.table.metadata
    is_young = environment.care.counted_commit(metadata.table_uuid) < FIRST_COMMITS
    try:
        if compacts_itself(metadata) and not environment.statements_run_again(target.table):
            _compact(environment, target, at_once=is_young)
        if looks_after_itself(metadata.properties) and expiry_is_due(metadata, environment.clock()):
            ask_for_expiry(environment, target)
    except Exception as failure:
        _LOG.warning("Care for %s failed: %s", target.name, failure)


def _compact(environment: Environment, target: Target, *, at_once: bool) -> None:
    environment = replace(environment, batch=None, overtaken=None)
    branch = target.destination.branch
    most_bytes = None if at_once else environment.planning.thresholds.compacted_at_once_bytes

    def compact(most_bytes: int | None = None) -> str | None:
        try:
            done = compact_due(environment, NO_SESSION, target, None, most_bytes)
        except UnsupportedError as refused:
            if refused.condition != "LOCAL_NEEDS_SPARK":
                raise
            _LOG.info("The compaction of %s is left to Spark: %s", target.name, refused)
            return "left to Spark"
        return None if done is None else done.told

    if compact(most_bytes) is None:
        kind = COMPACTION if branch == MAIN_BRANCH else f"{COMPACTION} {branch}"
        uuid = target.table.metadata.table_uuid
        environment.care.ask(uuid, str(target.name), kind, lambda: compact() or "", pause_ms=COMPACTION_PAUSE_MS)
