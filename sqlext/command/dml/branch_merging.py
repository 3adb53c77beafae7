"""The changes of a branch, merged into another one of the table by key, in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from sqlext.command.change.destination import WAP_ID
from sqlext.command.change.own_transaction import in_own_transaction
from sqlext.command.change.row_level import Target, commit_change, load_target
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.dml.merge import merge
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_for
from sqlext.commit.actions.append import AppendFiles
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.merged_snapshot import MERGED_SNAPSHOT, merge_bases, merged_by
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
    """Applies to `into` what `branch` changed since `into` last had its changes, row by row of a key.

    A key whose row both have changed to different ones conflicts: `report` commits nothing, `refuse` raises, `ours`
    keeps the row of `into`, `theirs` takes that of `branch`. The snapshot tells which one it merged, so that the next
    merge begins there. Raises AnalysisError BRANCH_NOT_MERGED, and as a MERGE.
    """
    target = TableName(table if into == MAIN_BRANCH else (*table, f"branch_{into}"))
    merging = _Merging(spark, target, table, branch, into, conflict)
    found = in_own_transaction(environment, spark, target, merging.merged)
    if found.merged and conflict != REPORT:
        care_for(environment, spark, target)
    return found


@dataclass(frozen=True, slots=True)
class _Merging:
    """`target` is the table's name in messages: that of the branch `into`, or for main as users write it."""

    spark: SparkSession
    target: TableName
    table: tuple[str, ...]
    branch: str
    into: str
    conflict: str

    def merged(self, environment: Environment) -> MergedBranch:
        loaded = environment.catalogs.load(self.table)
        metadata = loaded.metadata
        schema = metadata.schema()
        if not schema.identifier_field_ids:
            raise self._refused(
                "the table has no key, by which rows could be told", "Use fast_forward, or declare a key"
            )
        if any(len(schema.column_path(id)) > 1 for id in schema.identifier_field_ids):
            raise self._refused("a field of the key is within a struct", "Compare the branches by a MERGE")
        theirs, ours = self._head(metadata, self.branch), self._head(metadata, self.into)
        if self.conflict != REPORT:
            self._require_commit_on_branch(environment)
        base = self._base(metadata, theirs, ours)
        feed, handle = ChangeFeed(environment), handle_of(self.table[0], loaded)
        merging = BranchMerge(schema, feed.step(handle, base, ours, 0), feed.step(handle, base, theirs, 0))
        self._require_distinct_keys(merging)
        count, conflicts = self._conflicts(merging)
        applied = merging.applied(over_ours=self.conflict == THEIRS)
        if applied is None:
            return MergedBranch(0, count, conflicts)
        if self.conflict == REPORT:
            return MergedBranch(lowered_query(self.spark, applied).count(), count, conflicts)
        return MergedBranch(self._applied(environment, merging, applied, theirs), count, conflicts)

    def _base(self, metadata: TableMetadata, theirs: Snapshot, ours: Snapshot) -> Snapshot:
        """The newest snapshot whose changes both branches have. Raises AnalysisError BRANCH_NOT_MERGED."""
        bases = merge_bases(metadata.snapshots, ours, theirs)
        way_out = "Compare the branches by a MERGE"
        if not bases.snapshots or not bases.are_certain:
            raise self._refused("the snapshot at which they parted, or that was merged last, has expired", way_out)
        if len(bases.snapshots) > 1:
            ids = " and ".join(str(base.snapshot_id) for base in bases.snapshots)
            reason = f"both have merged the changes up to the snapshots {ids}, of which none has those of the others"
            raise self._refused(reason, way_out)
        return bases.snapshots[0]

    def _require_commit_on_branch(self, environment: Environment) -> None:
        if self._loaded(environment).destination.wap_id is not None:
            reason = f"{WAP_ID} is set, by which the merge would be on no branch"
            raise self._refused(reason, f"RESET {WAP_ID}")

    def _require_distinct_keys(self, merging: BranchMerge) -> None:
        text = merging.repeated_keys(_NAMED_ROWS)
        found = [] if text is None else sorted(row[0] for row in lowered_query(self.spark, text).collect())
        if found:
            reason = f"keys that {self.branch} changed occur several times in one of them, such as {', '.join(found)}"
            raise self._refused(reason, "Leave one row of each by DML")

    def _conflicts(self, merging: BranchMerge) -> tuple[int, Sequence[str]]:
        """How many keys conflict, and the first of them. Raises AnalysisError BRANCH_NOT_MERGED if they may not."""
        text = merging.conflicts()
        rows = None if text is None else lowered_query(self.spark, text)
        found = [] if rows is None else sorted(row[0] for row in rows.limit(_LISTED_ROWS).collect())
        count = len(found) if rows is None or len(found) < _LISTED_ROWS else rows.count()
        if found and self.conflict == REFUSE:
            reason = f"both changed the rows of {count} keys, such as {', '.join(found[:_NAMED_ROWS])}"
            way_out = "Call merge_branch with conflict => 'report' to see all, 'ours' or 'theirs' to choose"
            raise self._refused(reason, way_out)
        return count, found

    def _applied(self, environment: Environment, merging: BranchMerge, applied: str, theirs: Snapshot) -> int:
        """How many rows were changed by a snapshot that tells what it merged, also if it changes none."""
        text = merging.statement(self.target.parts, applied)
        statement = parse(text, catalogs=[self.table[0]], current=self.table[:-1])
        assert isinstance(statement, Merge)
        summary = ((MERGED_SNAPSHOT, str(theirs.snapshot_id)),)
        changed: int = merge(environment, self.spark, statement, summary, self.into).rows[0][0]
        target = self._loaded(environment)
        head = target.version.snapshot
        if head is None or merged_by(head) != theirs.snapshot_id:
            destination = replace(target.destination, summary=summary)
            commit_change(environment, replace(target, destination=destination), AppendFiles(()))
        return changed

    def _loaded(self, environment: Environment) -> Target:
        """The branch `into`, given, so that no setting of the session directs the commit to another one."""
        return load_target(environment, self.spark, self.target, self.into)

    def _head(self, metadata: TableMetadata, branch: str) -> Snapshot:
        reference = metadata.refs.get(branch)
        if reference is None or reference.type != "branch":
            raise NotFoundError("REFERENCE_NOT_FOUND", type="branch", ref=branch, name=path_text(self.table))
        return metadata.snapshot(reference.snapshot_id)

    def _refused(self, reason: str, way_out: str) -> AnalysisError:
        return AnalysisError(
            "BRANCH_NOT_MERGED",
            branch=self.branch,
            into=self.into,
            name=path_text(self.table),
            reason=reason,
            way_out=way_out,
        )
