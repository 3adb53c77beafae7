"""The mode `auto`: merge-on-read or copy-on-write, by the share of rows that a change deletes in the files it touches.

Deletes by position cost every reader until the file is rewritten; a rewrite costs its writer the remaining rows. Files
that lose all rows are removed either way and do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.copy_on_write import replace_files
from sqlext.command.change.materialized_change import materialize_change
from sqlext.command.change.merge_on_read import delete_materialized
from sqlext.command.change.row_change import RowChange, change_query, changed_counts
from sqlext.command.change.row_level import Target, commit_change, touched_files
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import ChangePlan, Way, Writer
from sqlext.command.write_operation import begin_write
from sqlext.commit.action import Action
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.query.explained_plan import read_bytes
from sqlext.spark.scan.read_tables import read_predicates
from sqlext.spec.expression import disjunction
from sqlext.write.row_operation import DELETE, UPDATE


@dataclass(frozen=True, slots=True)
class ChangedShare:
    """`changed` of the `live` rows are deleted, in files that keep some rows. `rewritten` is the share from which files
    are rewritten."""

    changed: int
    live: int
    rewritten: float

    @property
    def rewrites(self) -> bool:
        return self.changed > 0 and self.changed >= self.rewritten * self.live

    def __str__(self) -> str:
        return f"{self.changed / self.live:.2%}" if self.live else "none"


def changed_share(touched: Sequence[FileScanTask], changed: Mapping[str, int], rewritten: float) -> ChangedShare:
    """The share by `changed`, the number of live rows to delete by data file path, and the files touched."""
    partly = [task for task in touched if 0 < changed.get(task.file.file_path, 0) < _live(task)]
    return ChangedShare(sum(changed[task.file.file_path] for task in partly), sum(map(_live, partly)), rewritten)


def rewrites_files(environment: Environment, target: Target, positions: Mapping[str, BitMap64]) -> bool:
    """Whether a change that deletes the live rows at `positions` is written by copy-on-write."""
    return _share(environment, touched_files(environment, target, positions), positions).rewrites


def _share(
    environment: Environment, touched: Sequence[FileScanTask], positions: Mapping[str, BitMap64]
) -> ChangedShare:
    rewritten = environment.planning.thresholds.rewritten_share
    return changed_share(touched, {path: len(bitmap) for path, bitmap in positions.items()}, rewritten)


def auto(environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer) -> Counts:
    """Evaluates the change, caches it, and chooses by the share of deleted rows before a file is written; see
    `CarryOut`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        materialized = materialize_change(spark, target, operation, change, writer)
        positions = materialized.found.positions
        touched = touched_files(environment, target, positions)
        if _share(environment, touched, positions).rewrites:
            action: Action | None = replace_files(environment, spark, target, change, writer, materialized, touched)
        else:
            action = delete_materialized(environment, spark, target, change, writer, materialized)
    if action is not None:
        commit_change(environment, target, action)
    return changed_counts(materialized.found)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected choice of `auto`, and the reason. `rewrites` is None if only execution can tell."""

    rewrites: bool | None
    reason: str

    def of(self, plan: ChangePlan) -> ChangePlan:
        """The plan with the expected choice instead of the way AUTO."""
        ways = {None: plan.way, True: Way.COPY_ON_WRITE, False: Way.MERGE_ON_READ}
        return replace(plan, way=ways[self.rewrites], reason=f"{plan.reason}, and {self.reason}")


def expected(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Expected:
    """The expected choice of `auto`, by metadata and a sample. Nothing is written.

    The sample is up to `sqlext.plan.sampled-files` of the files that may have rows to delete. Without a sample, if its
    query would read more than `sqlext.plan.sampled-bytes`, the choice is unknown.
    """
    limits = environment.planning.thresholds
    rows = change_query(spark, change)
    tasks = _candidates(environment, target, rows)
    limit = f"{limits.rewritten_share:.0%}"
    if not tasks:
        return Expected(False, "no file can have a row that changes")
    sample = tasks[:: -(-len(tasks) // limits.sampled_files)]
    changes = rows.where(F.col("__operation").isin(DELETE, UPDATE))
    sampled = changes.where(F.col("_file").isin([task.file.file_path for task in sample])).select("_file", "_pos")
    of_files = f"{len(sample)} of {len(tasks)} files"
    if read_bytes(sampled) > limits.sampled_bytes:
        reason = (
            f"execution decides: of {len(tasks)} files with {sum(map(_live, tasks))} rows those that change are"
            f" rewritten if at least {limit} of their rows do"
        )
        return Expected(None, reason)
    counted = sampled.groupBy("_file").agg(F.countDistinct("_pos").alias("rows")).collect()
    share = changed_share(sample, {row["_file"]: row["rows"] for row in counted}, limits.rewritten_share)
    if not counted:
        return Expected(False, f"no row changes in a sample of {of_files}")
    if not share.live:
        return Expected(False, f"all rows change in the files touched, in a sample of {of_files}")
    least = "at least" if share.rewrites else "fewer than"
    compared = f"{share} of the rows change in the files touched, {least} {limit}"
    return Expected(share.rewrites, f"{compared}, in a sample of {of_files}")


def _candidates(environment: Environment, target: Target, rows: DataFrame) -> Sequence[FileScanTask]:
    """The files that may have rows to delete, by partitions and bounds."""
    predicates = read_predicates(rows, target.version)
    return environment.scans.plan(target.version, disjunction(predicates)).tasks if predicates else ()


def _live(task: FileScanTask) -> int:
    return task.file.record_count - task.deleted_rows
