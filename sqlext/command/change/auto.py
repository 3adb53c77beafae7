"""`auto`: merge-on-read or copy-on-write, by the share of rows that a change takes out of the files it touches.

Marked rows cost every reader until the file is written anew, a new file costs its writer the rows that stay. Files that
lose all rows leave the table in either way, and do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.copy_on_write import copy_on_write, replace_files
from sqlext.command.change.held_change import hold_change, touched_files
from sqlext.command.change.merge_on_read import mark_held, merge_on_read
from sqlext.command.change.row_level import Target, commit_change
from sqlext.command.change.strategy import Choice, RowChange, change_query, changed_counts
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.write_operation import begin_write
from sqlext.commit.action import Action
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.query.explained_plan import read_bytes
from sqlext.spark.scan.read_tables import read_predicates
from sqlext.spec.expression import disjunction
from sqlext.write.row_operation import DELETE, UPDATE

# From this share of deleted rows on Iceberg's compaction takes a file to be worth writing anew.
REWRITTEN_SHARE = 0.3

_SAMPLED_FILES = 4
_SAMPLED_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChangedShare:
    """Of the `live` rows in files that lose some of theirs, `changed` ones go."""

    changed: int
    live: int

    @property
    def rewrites(self) -> bool:
        return self.changed > 0 and self.changed >= REWRITTEN_SHARE * self.live

    def __str__(self) -> str:
        return f"{self.changed / self.live:.2%}" if self.live else "none"


def changed_share(touched: Sequence[FileScanTask], changed: Mapping[str, int]) -> ChangedShare:
    """`changed` has the number of live rows that go, by path of the data file."""
    partly = [task for task in touched if 0 < changed.get(task.file.file_path, 0) < _live(task)]
    return ChangedShare(sum(changed[task.file.file_path] for task in partly), sum(map(_live, partly)))


def rewrites_files(environment: Environment, target: Target, positions: Mapping[str, BitMap64]) -> bool:
    """Whether a change that takes the live rows at `positions` is better written by copy-on-write."""
    return _share(touched_files(environment, target, positions), positions).rewrites


def _share(touched: Sequence[FileScanTask], positions: Mapping[str, BitMap64]) -> ChangedShare:
    return changed_share(touched, {path: len(bitmap) for path, bitmap in positions.items()})


def auto(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """The change is evaluated once and held, so that the share is known before a file is written; see `Strategy`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        held = hold_change(spark, target, operation, change)
        positions = held.found.positions
        touched = touched_files(environment, target, positions)
        if _share(touched, positions).rewrites:
            action: Action | None = replace_files(environment, spark, target, change, held, touched)
        else:
            action = mark_held(environment, spark, target, change, held)
    if action is not None:
        commit_change(environment, target, action)
    return changed_counts(held.found)


def expected(environment: Environment, spark: SparkSession, target: Target, choice: Choice) -> Choice:
    """What `auto` will choose as far as metadata and a sample tell, and by what; nothing is written.

    The sample is some of the files that may hold rows which change. It is not taken where the query would read much
    for it.
    """
    rows = change_query(spark, choice.change)
    tasks = _candidates(environment, target, rows)
    limit = f"{REWRITTEN_SHARE:.0%}"
    if not tasks:
        return _choice(choice, False, f"{choice.reason}, and no file may hold a row that changes")
    sample = _sample(tasks)
    changes = rows.where(F.col("__operation").isin(DELETE, UPDATE))
    sampled = changes.where(F.col("_file").isin([task.file.file_path for task in sample])).select("_file", "_pos")
    of_files = f"{len(sample)} of {len(tasks)} files"
    if read_bytes(sampled) > _SAMPLED_BYTES:
        reason = (
            f"{choice.reason}, and the run counts: of {len(tasks)} files with {sum(map(_live, tasks))} rows those that"
            f" change are written anew if {limit} of their rows do"
        )
        return Choice("merge-on-read or copy-on-write", reason, choice.run, choice.change)
    counted = sampled.groupBy("_file").agg(F.countDistinct("_pos").alias("rows")).collect()
    share = changed_share(sample, {row["_file"]: row["rows"] for row in counted})
    if not counted:
        return _choice(choice, False, f"{choice.reason}, and no row changes in {of_files} that may have such rows")
    if not share.live:
        return _choice(choice, False, f"{choice.reason}, and all rows change in the files touched, of {of_files}")
    compared = "at least" if share.rewrites else "fewer than"
    reason = f"{choice.reason}, and {share} of the rows change in the files touched, of {of_files}, {compared} {limit}"
    return _choice(choice, share.rewrites, reason)


def _choice(choice: Choice, rewrites: bool, reason: str) -> Choice:
    if rewrites:
        return Choice("copy-on-write", reason, copy_on_write, choice.change)
    return Choice("merge-on-read", reason, merge_on_read, choice.change)


def _candidates(environment: Environment, target: Target, rows: DataFrame) -> Sequence[FileScanTask]:
    """The files that may hold rows which change, by their metadata."""
    predicates = read_predicates(rows, target.version)
    return environment.scans.plan(target.version, disjunction(predicates)).tasks if predicates else ()


def _sample(tasks: Sequence[FileScanTask]) -> Sequence[FileScanTask]:
    """Files from all over the table."""
    return tasks[:: -(-len(tasks) // _SAMPLED_FILES)]


def _live(task: FileScanTask) -> int:
    return task.file.record_count - task.deleted_rows
