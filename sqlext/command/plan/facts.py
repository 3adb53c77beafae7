"""What the planner is told of a change of rows: of the statement, of the target, and of the source by Spark's estimate.

Facts that a manifest has to be read for are functions, which the planner calls only where a way depends on them.
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
        return f"{self.name} is {self.value}{'' if self.is_set else ' where it is not set'}"


@dataclass(frozen=True, slots=True)
class SourceSize:
    """Spark's estimate of a source: its rows, and whether it fits into the driver. `may_be_few`: a condition may leave
    few of its rows, and a try costs little."""

    rows: int
    is_small: bool = False
    may_be_few: bool = False


@dataclass(frozen=True, slots=True)
class TargetSize:
    """Bytes and rows of the target's files, by its snapshot's summary: an estimate that no result depends on."""

    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class CoveredFiles:
    """How many of the files that may have rows to delete have no others (`whole`), and how many have to be read."""

    whole: int
    undecided: int


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Of a change whose rows each take the place of the row with their key.

    `upsert_mode` is the table's mode for these. `deletes_reach_all`: equality deletes of the current partitioning reach
    all files, and the key tells the partition. `keys_fit`: the driver can look keys up in the target, by types and
    size. `compares_stored`: a new row may lie behind the stored one, and then leaves it. `is_given`: the rows are
    literals in the table's columns. `in_order`: the last row of a key that came from one place counts.
    """

    upsert_mode: Mode
    deletes_reach_all: Callable[[], bool]
    keys_fit: Callable[[], bool]
    size: Callable[[], SourceSize]
    compares_stored: bool = False
    is_given: bool = False
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class CompactionFacts:
    """The rows that a compaction writes anew: their bytes in memory, and those of the largest file to be.

    `sorts`: each file is sorted as a whole. `is_readable`: the driver can read the files without a query.
    """

    bytes: int
    largest: int
    sorts: bool
    is_readable: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """Of one statement, or one write of a DataFrame or stream, that changes rows.

    `expected_rows` is how many rows it is likely to change, None where nothing tells; `is_guess` unless Spark has
    counted them. A change by key changes as many as its source has. `keeps_columns`: new rows have columns of the rows
    that they replace. `covered` is of a DELETE whose condition metadata can test; `deletes_all`: of one without a
    condition.
    """

    mode: Mode
    format_version: int
    target: TargetSize = TargetSize()
    expected_rows: int | None = None
    is_guess: bool = True
    keeps_columns: bool = False
    only_inserts: bool = False
    only_deletes: bool = False
    deletes_all: bool = False
    covered: CoveredFiles | None = None
    key: KeyFacts | None = None
