"""The planner's input: facts about the statement, the target, and the source (Spark's estimate).

Facts that need manifests are functions, which the planner calls only if a way depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mode:
    """The table's mode for the statement's verb: the property, its value, and whether the table sets it."""

    name: str
    value: str
    is_set: bool

    @property
    def reason(self) -> str:
        return f"{self.name} is {self.value}{'' if self.is_set else ' by default'}"


@dataclass(frozen=True, slots=True)
class SourceSize:
    """Spark's estimate of a source: its rows, and whether it fits into the driver. `may_be_few`: a condition may leave
    few rows, and an attempt costs little."""

    rows: int
    is_small: bool = False
    may_be_few: bool = False


@dataclass(frozen=True, slots=True)
class TargetSize:
    """Bytes and rows of the target's files, by the snapshot's summary; an estimate, on which no result depends."""

    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class CoveredFiles:
    """Numbers of files that may match a DELETE: of `whole` all rows match, `undecided` must be read."""

    whole: int
    undecided: int


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Facts about a change whose source rows each replace the target row with their key.

    `upsert_mode` is the table's property. `deletes_apply_to_all`: equality deletes of the current spec apply to all
    files, and the key determines the partition. `keys_fit`: the driver can look up the target's keys, by type and size.
    `compares_stored`: a new row may be older than the stored row, which then stays. `is_given`: the rows are literals
    in the table's columns. `in_order`: of rows with one key the last from its source is written.
    """

    upsert_mode: Mode
    deletes_apply_to_all: Callable[[], bool]
    keys_fit: Callable[[], bool]
    size: Callable[[], SourceSize]
    compares_stored: bool = False
    is_given: bool = False
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class CompactionFacts:
    """Facts about the rows that a compaction rewrites: bytes in memory, in total and of the `largest` new file.

    `sorts`: each file is sorted as a whole; `largest` counts only then. `is_readable`: the driver can read the files
    without a query.
    """

    bytes: int
    largest: int
    sorts: bool
    is_readable: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """Facts about a statement, DataFrame write or stream batch that changes rows.

    `expected_rows`: how many rows it probably changes, None if unknown; `is_guess` unless Spark has counted them. A
    change by key changes as many rows as its source has. `keeps_columns`: new rows keep columns of the rows that they
    replace, which a query would decode in many other rows too; `columns_read_by_tasks` counts those of them that tasks
    can read from the data files, as far as the table's schema and sort order tell. `in_scan_order`: whether the query
    gives the rows of a file one after the other, by position. `shuffles_source`: the table is joined with a source that
    Spark does not expect to be small enough to send it to all tasks. `covered`: for a DELETE whose condition metadata
    can decide. `finds_keys`: whether the condition names keys that the driver looks up in less time than a query takes.
    `deletes_all`: a DELETE without condition. `copied_by_query`: why tasks cannot copy files with the change; None if
    they can, as far as the table's schema and sort order tell.
    """

    mode: Mode
    format_version: int
    target: TargetSize = TargetSize()
    expected_rows: int | None = None
    is_guess: bool = True
    keeps_columns: bool = False
    columns_read_by_tasks: Callable[[], int] = lambda: 0
    in_scan_order: Callable[[], bool] = lambda: False
    shuffles_source: bool = False
    only_inserts: bool = False
    only_deletes: bool = False
    deletes_all: bool = False
    covered: CoveredFiles | None = None
    finds_keys: Callable[[], bool] = lambda: False
    key: KeyFacts | None = None
    copied_by_query: Callable[[], str | None] = lambda: None
