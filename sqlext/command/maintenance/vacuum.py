"""VACUUM: expiry of old snapshots and removal of orphan files, in one statement."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.maintenance.expiry import expirable_files, expire_snapshots
from sqlext.command.maintenance.orphan_files import (
    DEFAULT_AGE_MS,
    LEAST_AGE_MS,
    OrphanSearch,
    orphan_files,
    remove_orphan_files,
)
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.sql.statements.maintenance_statement import Vacuum

VACUUM_COLUMNS = (("path", "string"),)
_HOUR_MS = 60 * 60 * 1000


def vacuum(environment: Environment, spark: SparkSession, statement: Vacuum) -> Outcome:
    """The files that are removed, or with DRY RUN would be, sorted; of stored changelogs too.

    Snapshots expire that are older than the hours to retain, by default as the table's properties say; orphan files
    must be older too, and than a day in any case. Raises as `expire_snapshots` and `orphan_files`.
    """
    now_ms, hours = environment.clock(), statement.retain_hours
    retained_ms = None if hours is None else hours * _HOUR_MS
    action = ExpireSnapshots(older_than_ms=None if retained_ms is None else now_ms - retained_ms)
    age_ms = DEFAULT_AGE_MS if retained_ms is None else max(retained_ms, LEAST_AGE_MS)
    search = OrphanSearch(older_than_ms=now_ms - age_ms)
    catalog, parts = statement.table.catalog, statement.table.parts
    table = environment.catalogs.load(parts)
    if statement.dry_run:
        found = expirable_files(environment, catalog, table, action)
        found |= {*orphan_files(environment, catalog, table, search)}
    else:
        # Whatever refuses the second step refuses the first, which cannot be taken back.
        orphan_files(environment, catalog, table, search)
        found = expire_snapshots(environment, catalog, table, action).paths
        table = environment.catalogs.load(parts)
        found |= {*remove_orphan_files(environment, catalog, table, search)}
    return Outcome([(path,) for path in sorted(found)])
