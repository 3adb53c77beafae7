"""Deletion of rows by a condition or by keys: planned as in Spark, whole files by metadata alone where that decides."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sqlext.command.change.change_facts import facts_of
from sqlext.command.change.metadata_delete import CoveredFiles, covered_removal
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.rerun import in_either_order
from sqlext.command.change.row_level import Target, commit_change
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Way
from sqlext.command.plan.facts import CoveredFiles as CoveredCounts
from sqlext.command.plan.planner import plan_change
from sqlext.command.upsert.upsert import require_upsertable
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.local.keyed_rows import require_no_null
from sqlext.local.keyed_write import stored_keys
from sqlext.local.local_scan import planned_rows, selected_positions
from sqlext.local.position_change import PositionChange, begin, carry_out
from sqlext.local.row_condition import RowCondition
from sqlext.properties import DELETE_ISOLATION_LEVEL, DELETE_MODE
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.filter.row_estimate import expected_rows
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.write.arrow_schema import schema_to_arrow


def delete_where(environment: Environment, target: Target, condition: RowCondition | None) -> Counts:
    """Deletes the rows that match, all rows for None, and commits. Raises as `commit_change`, and UnsupportedError
    LOCAL_NEEDS_SPARK."""
    metadata, version = target.table.metadata, target.version
    read: Predicate = AlwaysTrue() if condition is None else condition.pruning
    tasks = planned_rows(environment, version, read).tasks
    facts = replace(facts_of(target, DELETE_MODE, None), only_deletes=True, deletes_all=condition is None)
    covered = CoveredFiles((), tasks)
    if condition is not None and condition.exact is not None:
        files = FileFilter(condition.exact, schema=metadata.schema(), specs=metadata.specs_by_id())
        whole = [task for task in tasks if files.file_must_match(task.file)]
        left = [task for task in tasks if not files.file_must_match(task.file)]
        covered = CoveredFiles(whole, left)
        undecided = [task.file for task in left]
        facts = replace(
            facts,
            covered=CoveredCounts(len(whole), len(left)),
            expected_rows=expected_rows(condition.exact, undecided, metadata.schema()),
        )
    plan = plan_change(facts, environment.planning)
    if condition is None and plan.way is Way.DELETE_ALL:
        if version.snapshot is not None:
            commit_change(environment, target, OverwriteFiles(delete_all=True))
        return Counts(deleted=sum(task.file.record_count - task.deleted_rows for task in tasks))
    assert condition is not None
    if plan.way in (Way.METADATA_DELETE, Way.PARTIAL_METADATA_DELETE):
        return _delete_covered(environment, target, condition, covered)
    positions = selected_positions(version, tasks, condition)
    if not positions:
        return Counts()
    change = PositionChange(positions, schema_to_arrow(metadata.schema()).empty_table())
    isolation = DELETE_ISOLATION_LEVEL.of(metadata.properties)
    carry_out(environment, target, change, plan, ReadSet(added=read), isolation)
    return Counts(deleted=sum(map(len, positions.values())))


def _delete_covered(environment: Environment, target: Target, condition: RowCondition, covered: CoveredFiles) -> Counts:
    assert condition.exact is not None
    deleted = sum(task.file.record_count - task.deleted_rows for task in covered.whole)
    operation = begin(environment, target)
    with operation.cleaned_on_failure():
        positions = selected_positions(target.version, covered.undecided, condition) if covered.undecided else {}
        action = covered_removal(target, operation, condition.exact, covered, positions)
    if action is not None:
        commit_change(environment, target, action)
    return Counts(deleted=deleted + sum(map(len, positions.values())))


def delete_keys(environment: Environment, target: Target, keys: pa.Table) -> Counts:
    """Deletes the rows with one of the keys, and commits; a key that is not there is passed over.

    Raises AnalysisError UPSERT_WITHOUT_KEY, DataError NULL_IN_REQUIRED_COLUMN, and as `delete_where`.
    """
    require_upsertable(target, "name the rows by a condition")
    metadata = target.table.metadata
    require_no_null(keys, str(target.name))
    distinct = keys.group_by(keys.column_names, use_threads=False).aggregate([]).select(keys.column_names)
    stored = stored_keys(environment, target, distinct.combine_chunks())
    if not stored.matches.positions:
        return Counts()
    plan = plan_change(replace(facts_of(target, DELETE_MODE, None), only_deletes=True), environment.planning)
    change = PositionChange(stored.matches.positions, schema_to_arrow(metadata.schema()).empty_table())
    isolation = DELETE_ISOLATION_LEVEL.of(metadata.properties)
    with in_either_order(environment, target):
        carry_out(environment, target, change, plan, ReadSet(added=stored.read), isolation)
    return Counts(deleted=len(stored.matches.key_rows))
