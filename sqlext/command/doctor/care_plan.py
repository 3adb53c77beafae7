"""What care of a table would do now, what it would cost, and what it would save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target, load_target
from sqlext.command.compaction.compaction_candidates import (
    CompactionCandidates,
    compacts_itself,
    due,
    everything,
)
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import expiry_is_due
from sqlext.command.maintenance.expiry import expirable_files
from sqlext.commit.actions.consumer import consumer_or_none
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.properties import GC_ENABLED, MANIFEST_TARGET_SIZE_BYTES, looks_after_itself
from sqlext.scan.metadata_tables.health import Measure, measures
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.sorted_runs import find_buckets
from sqlext.sql.statements.statement import TableName


def health(environment: Environment, spark: SparkSession | None, name: TableName) -> Sequence[Measure]:
    """The rows of the metadata table `health` of main, and those of what care would do. Changes nothing."""
    target = load_target(environment, spark, name)
    table, io = target.table, target.version.io
    state = TableState(
        io, table.metadata, table.metadata_location, target.version.snapshot, environment.scans.manifests
    )
    return [
        *measures(state),
        *_compaction(environment, target),
        *_manifests(environment, target),
        *_expiry(environment, target),
    ]


def _compaction(environment: Environment, target: Target) -> Iterator[Measure]:
    buckets = find_buckets(environment.scans.live_entries(target.version))
    by_itself = "done after commits" if compacts_itself(target.table.metadata) else "CALL compact"
    yield _rewrite("compaction that is due", due(environment, target, buckets), by_itself)
    yield _rewrite(
        "full compaction", everything(environment, target, buckets, tells=False), "CALL compact(full => true)"
    )


def _rewrite(name: str, found: CompactionCandidates, done_by: str) -> Measure:
    """The files that are rewritten, with their bytes, which are read and about as many written."""
    files = sum(len(merge.files) for merge in found.merges)
    made = files - sum(merge.saved_files for merge in found.merges)
    told = [f"{done_by}: makes {made} files of them" if files else done_by]
    if found.marks:
        told.append("converts equality deletes before")
    if found.merged_deletes:
        told.append(f"merges position-delete files of {len(found.merged_deletes)} partitions")
    return Measure(name, files, sum(merge.bytes for merge in found.merges), "; ".join(told))


def _manifests(environment: Environment, target: Target) -> Iterator[Measure]:
    snapshot = target.version.snapshot
    if snapshot is None:
        return
    listed = environment.scans.manifests.manifests(target.version.io, snapshot)
    size = sum(one.length for one in listed)
    kinds = {(one.content, one.spec_id): 0 for one in listed}
    for one in listed:
        kinds[one.content, one.spec_id] += one.length
    most = MANIFEST_TARGET_SIZE_BYTES.of(target.table.metadata.properties)
    needed = sum(-(-length // most) for length in kinds.values())
    yield Measure("manifests more than needed", max(0, len(listed) - needed), size, "CALL rewrite_manifests")


def _expiry(environment: Environment, target: Target) -> Iterator[Measure]:
    """The snapshots that expire by the table's properties, and the bytes of files that only they need."""
    metadata = target.table.metadata
    if not GC_ENABLED.of(metadata.properties):
        yield Measure("snapshots that have expired", None, None, "gc.enabled is false: files are not the table's alone")
        return
    found = ExpireSnapshots().expired(metadata, metadata.location, environment.clock())
    gone = found.snapshot_ids
    files = expirable_files(environment, target.name.catalog, target.table, ExpireSnapshots()) if gone else frozenset()
    sizes = {one.path: one.size for one in target.version.io.list(metadata.location)} if files else {}
    is_due = looks_after_itself(metadata.properties) and expiry_is_due(metadata, environment.clock())
    done_by = "done after the next commit" if is_due else "CALL expire_snapshots"
    told = f"{done_by}: deletes {len(files)} files"
    yield Measure("snapshots that have expired", len(gone), sum(sizes.get(path, 0) for path in files), told)
    for name, kept in found.kept_for.items():
        known = consumer_or_none(metadata, str(target.name), name)
        query = "" if known is None or known.query is None else f", query {known.query}"
        yield Measure("snapshots that stay for a consumer alone", len(kept), None, f"consumer {name}{query}")
