"""The changes of a branch, merged into another one of the table by key, in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from sqlext.command.change.own_transaction import in_own_transaction
from sqlext.command.change.row_level import load_target
from sqlext.command.changelog.change_spans import ancestors
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.dml.merge import merge
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.lowering.branch_merge import BranchMerge
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import Merge, TableName

REPORT, REFUSE, OURS, THEIRS = "report", "refuse", "ours", "theirs"
RESOLUTIONS = (REPORT, REFUSE, OURS, THEIRS)
_NAMED_ROWS = 5
_LISTED_ROWS = 100


@dataclass(frozen=True, slots=True)
class MergedBranch:
    """How many rows the merge changed, or would change; how many keys conflict, and the first of them as JSON."""

    merged: int
    conflicting: int
    conflicts: Sequence[str]


def merge_branch(
    environment: Environment, spark: SparkSession, table: tuple[str, ...], branch: str, into: str, conflict: str
) -> MergedBranch:
    """Applies to `into` what `branch` changed since their common ancestor, row by row of a key.

    A key whose row both have changed to different ones conflicts: `report` commits nothing, `refuse` raises, `ours`
    keeps the row of `into`, `theirs` takes that of `branch`. Raises AnalysisError BRANCH_NOT_MERGED, and as a MERGE.
    """
    target = TableName(table if into == MAIN_BRANCH else (*table, f"branch_{into}"))

    def run(now: Environment) -> MergedBranch:
        return _merged(now, spark, target, table, branch, into, conflict)

    found = in_own_transaction(environment, spark, target, run)
    if found.merged and conflict != REPORT:
        care_after_commit(environment, spark, load_target(environment, spark, target))
    return found


def _merged(
    environment: Environment,
    spark: SparkSession,
    target: TableName,
    table: tuple[str, ...],
    branch: str,
    into: str,
    conflict: str,
) -> MergedBranch:
    loaded = environment.catalogs.load(table)
    metadata, name = loaded.metadata, ".".join(table)
    if not metadata.schema().identifier_field_ids:
        reason, way_out = "the table has no key, by which rows could be told", "Use fast_forward, or declare a key"
        raise AnalysisError("BRANCH_NOT_MERGED", branch=branch, into=into, name=name, reason=reason, way_out=way_out)
    theirs, ours = _head(metadata, branch, name), _head(metadata, into, name)
    base = _common_ancestor(metadata, theirs, ours)
    if base is None:
        reason, way_out = "the snapshot at which they parted has expired", "Compare the branches by a MERGE"
        raise AnalysisError("BRANCH_NOT_MERGED", branch=branch, into=into, name=name, reason=reason, way_out=way_out)
    feed, handle = ChangeFeed(environment), handle_of(table[0], loaded)
    merging = BranchMerge(metadata.schema(), feed.step(handle, base, ours, 0), feed.step(handle, base, theirs, 0))
    text = merging.conflicts()
    rows = None if text is None else lowered_query(spark, text)
    found = [] if rows is None else sorted(row[0] for row in rows.limit(_LISTED_ROWS).collect())
    count = len(found) if rows is None or len(found) < _LISTED_ROWS else rows.count()
    if found and conflict == REFUSE:
        reason = f"both changed the rows of {count} keys, such as {', '.join(found[:_NAMED_ROWS])}"
        way_out = "Call merge_branch with conflict => 'report' to see all, 'ours' or 'theirs' to choose"
        raise AnalysisError("BRANCH_NOT_MERGED", branch=branch, into=into, name=name, reason=reason, way_out=way_out)
    applied = merging.applied(over_ours=conflict == THEIRS)
    if applied is None:
        return MergedBranch(0, count, found)
    if conflict == REPORT:
        return MergedBranch(lowered_query(spark, applied).count(), count, found)
    statement = parse(merging.statement(target.parts, applied), catalogs=[table[0]], current=table[:-1])
    assert isinstance(statement, Merge)
    return MergedBranch(merge(environment, spark, statement).rows[0][0], count, found)


def _head(metadata: TableMetadata, branch: str, name: str) -> Snapshot:
    reference = metadata.refs.get(branch)
    if reference is None or reference.type != "branch":
        raise NotFoundError("REFERENCE_NOT_FOUND", type="branch", ref=branch, name=name)
    return metadata.snapshot(reference.snapshot_id)


def _common_ancestor(metadata: TableMetadata, one: Snapshot, other: Snapshot) -> Snapshot | None:
    known = {snapshot.snapshot_id for snapshot in ancestors(metadata, other)}
    return next((snapshot for snapshot in ancestors(metadata, one) if snapshot.snapshot_id in known), None)
