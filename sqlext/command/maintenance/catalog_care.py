"""Care for all tables of a catalog within a time: what is worth most for its cost comes first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable, all_tables
from sqlext.catalog.clone_tag import snapshots_may_expire
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.change.row_level import Target
from sqlext.command.compaction.compaction import compact_table
from sqlext.command.compaction.compaction_candidates import due
from sqlext.command.environment import Environment
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.commit.actions.manifest_rewrite import CREATED, REPLACED, RewriteManifests
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.properties import MANIFEST_TARGET_SIZE_BYTES
from sqlext.scan.sorted_runs import find_buckets
from sqlext.sql.statements.statement import TableName

_LOG = logging.getLogger("sqlext")

Task: TypeAlias = Literal["compact", "expire_snapshots", "rewrite_manifests"]
State: TypeAlias = Literal["planned", "left", "done", "failed"]

# Seconds of a commit with its planning, and for each unit of work, on a slow disk: what a task really takes corrects
# the estimates of those after it.
_COMMIT_S = 0.3
_UNIT_S: Mapping[Task, float] = {"compact": 1 / 20e6, "expire_snapshots": 0.002, "rewrite_manifests": 1 / 20e6}
# A query opens manifests in parallel, so fewer of them save little.
_SUPERFLUOUS_MANIFESTS = 10


@dataclass(frozen=True, slots=True)
class CareJob:
    """One task for one table.

    `saved_files` are files fewer that a scan opens or the table keeps; `cost` is in bytes that are read and written, or
    in snapshots that are expired. `result` is what was done, or why it failed.
    """

    table: TableIdentifier
    task: Task
    saved_files: int
    cost: int
    state: State = "planned"
    estimated_s: float = 0.0
    took_s: float | None = None
    result: str = ""

    @property
    def worth(self) -> float:
        """Files saved by a second."""
        return self.saved_files / _estimated_s(self)


def care_for_all(
    environment: Environment, spark: SparkSession, catalog: str, budget_ms: int | None, *, only_plan: bool
) -> Sequence[CareJob]:
    """Does what is due for the tables of a catalog, the best first; with `only_plan` it only says what it would do.

    A job whose estimated time would exceed what is left of `budget_ms` is left; one that has begun is not stopped. An
    error of one table does not keep the others from care.
    """
    begun_ms = environment.clock()
    jobs = sorted(_jobs(environment, catalog), key=lambda job: job.worth, reverse=True)
    done: list[CareJob] = []
    pace = _Pace()
    planned_s = 0.0
    for job in jobs:
        job = replace(job, estimated_s=pace.of(job))
        spent_s = planned_s if only_plan else (environment.clock() - begun_ms) / 1000
        if job.state == "failed":
            done.append(job)
        elif budget_ms is not None and spent_s + job.estimated_s > budget_ms / 1000:
            done.append(replace(job, state="left"))
        elif only_plan:
            planned_s += job.estimated_s
            done.append(job)
        else:
            done.append(_done(environment, spark, catalog, job))
            pace.learn(done[-1])
    return done


@dataclass(slots=True)
class _Pace:
    """How much longer tasks of each kind take than estimated, of those that have been done."""

    took: dict[Task, tuple[float, float]] = field(default_factory=dict)

    def of(self, job: CareJob) -> float:
        """The seconds that the job will probably take."""
        took, estimated = self.took.get(job.task, (1.0, 1.0))
        return _estimated_s(job) * took / estimated

    def learn(self, job: CareJob) -> None:
        if job.took_s is not None and job.state == "done":
            took, estimated = self.took.get(job.task, (0.0, 0.0))
            self.took[job.task] = took + job.took_s, estimated + _estimated_s(job)


def _estimated_s(job: CareJob) -> float:
    return _COMMIT_S + job.cost * _UNIT_S[job.task]


def _jobs(environment: Environment, catalog: str) -> Iterator[CareJob]:
    for identifier in all_tables(environment.catalogs.catalog(catalog)):
        try:
            table = environment.catalogs.load((catalog, *identifier.namespace, identifier.name))
            yield from _due(environment, catalog, table)
        except Exception as failure:
            _LOG.warning("%s is left alone: %s", identifier, failure)
            yield CareJob(identifier, "compact", 0, 0, "failed", result=str(failure))


def _due(environment: Environment, catalog: str, table: LoadedTable) -> Iterator[CareJob]:
    metadata, identifier = table.metadata, table.identifier
    name = TableName((catalog, *identifier.namespace, identifier.name))
    target = Target(name, table, environment.version(catalog, table))
    buckets = find_buckets(environment.scans.live_entries(target.version))
    found = due(metadata, buckets, lambda: environment.scans.all_tasks(target.version))
    if found.merges or found.marks or found.merged_deletes:
        saved = sum(merge.saved_files for merge in found.merges)
        yield CareJob(identifier, "compact", max(saved, 1), sum(merge.bytes for merge in found.merges))
    if snapshots_may_expire(metadata):
        gone = ExpireSnapshots().expired(metadata, metadata.location, environment.clock()).snapshot_ids
        if gone:
            # A manifest list and a manifest each, at least.
            yield CareJob(identifier, "expire_snapshots", 2 * len(gone), len(gone))
    snapshot = target.version.snapshot
    if snapshot is not None:
        listed = environment.scans.manifests.manifests(target.version.io, snapshot)
        own = [one.length for one in listed if one.spec_id == metadata.default_spec_id]
        fewer = len(own) - max(2, -(-sum(own) // MANIFEST_TARGET_SIZE_BYTES.of(metadata.properties)))
        if fewer >= _SUPERFLUOUS_MANIFESTS:
            yield CareJob(identifier, "rewrite_manifests", fewer, sum(own))


def _done(environment: Environment, spark: SparkSession, catalog: str, job: CareJob) -> CareJob:
    begun_ms = environment.clock()
    try:
        done = replace(job, state="done", result=_TASKS[job.task](environment, spark, catalog, job.table))
    except Exception as failure:
        _LOG.warning("%s of %s failed: %s", job.task, job.table, failure)
        done = replace(job, state="failed", result=str(failure))
    return replace(done, took_s=(environment.clock() - begun_ms) / 1000)


def _compact(environment: Environment, spark: SparkSession, catalog: str, table: TableIdentifier) -> str:
    return compact_table(environment, spark, TableName((catalog, *table.namespace, table.name))).told


def _expire(environment: Environment, spark: SparkSession, catalog: str, table: TableIdentifier) -> str:
    loaded = environment.catalogs.load((catalog, *table.namespace, table.name))
    return expire_snapshots(environment, catalog, loaded, ExpireSnapshots()).told


def _rewrite_manifests(environment: Environment, spark: SparkSession, catalog: str, table: TableIdentifier) -> str:
    loaded = environment.catalogs.load((catalog, *table.namespace, table.name))
    snapshot = environment.commit(catalog, loaded, RewriteManifests(loaded.metadata.default_spec_id)).snapshot
    summary = {REPLACED: "0", CREATED: "0"} if snapshot is None else snapshot.summary
    return f"{summary[REPLACED]} manifests became {summary[CREATED]}"


_TASKS: Mapping[Task, Callable[[Environment, SparkSession, str, TableIdentifier], str]] = {
    "compact": _compact,
    "expire_snapshots": _expire,
    "rewrite_manifests": _rewrite_manifests,
}
