"""A plan of a change of rows: its way, who writes, and what takes its place where it turns out not to fit.

A plan is decided before the change runs. What only a run can tell, such as how many rows a condition leaves, is in the
plan as a limit with the plan that is carried out beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sqlext.thresholds import ALL_ROWS


class Way(Enum):
    """How a change gets into the table."""

    EVERYTHING = "everything"
    """All files leave the table; none is read."""

    COVERED = "covered files"
    """Files of which metadata says that all rows go leave the table unread; there are no others with such rows."""

    PARTLY_COVERED = "partly covered files"
    """Such files leave it too, and rows of others are marked by position."""

    EQUALITY = "equality"
    """Equality deletes of the keys, and the new rows; the table is not read."""

    LOOK_UP = "look-up"
    """The driver looks the keys up in the table, and marks the rows it finds by position."""

    INSERT_ONLY = "insert-only"
    """New rows alone, of which the query has found that they are not there."""

    COPY_ON_WRITE = "copy-on-write"
    """Files with a row that goes are replaced by new ones with their other rows."""

    AUTO = "auto"
    """The rows are found first; then merge-on-read or copy-on-write by the share of them in their files."""

    MERGE_ON_READ = "merge-on-read"
    """Old rows are marked by position, new ones go to new files."""

    APPEND = "append"
    """New rows in new files; those that are there are not looked at."""

    OVERWRITE = "overwrite"
    """New rows in new files, which replace all files of the table."""

    OVERWRITE_PARTITIONS = "overwrite partitions"
    """New rows in new files, which replace all files of the partitions that get rows."""

    OVERWRITE_WHERE = "overwrite where"
    """New rows in new files; the rows that a condition selects are deleted."""

    @property
    def shown(self) -> str:
        """The name in EXPLAIN."""
        return _SHOWN.get(self, self.value)


_SHOWN = {
    Way.EVERYTHING: "metadata alone",
    Way.COVERED: "metadata alone",
    Way.PARTLY_COVERED: "metadata and merge-on-read",
    Way.EQUALITY: "key upsert by equality deletes",
    Way.LOOK_UP: "key upsert by position",
}


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes the new rows: Python workers in Spark's tasks, or the driver, where that is cheaper than their start.

    The driver takes a result that Spark estimates at `most_bytes` at most, and any other as long as it has no more than
    `tried_rows` rows; beyond them, or beyond `most_bytes` as they come, the query starts anew in tasks. With
    `tries_filtered` that is tried only where a condition of the query may leave few rows. With `given` the driver has
    the rows before the change begins. Where the driver writes up to `completed_rows`, columns that a change keeps are
    left out of the query, and read from the data files of the rows that are replaced.
    """

    most_bytes: int
    tried_rows: int = 0
    tries_filtered: bool = False
    completed_rows: int = 0
    given: bool = False

    def __str__(self) -> str:
        if self.given:
            return "the driver, which has the rows"
        if not self.most_bytes:
            return "tasks"
        most = f"{self.most_bytes:,} bytes"
        if self.tried_rows >= ALL_ROWS:
            return f"the driver up to {most}, else tasks"
        tried = max(self.tried_rows, self.completed_rows)
        found = "a condition leaves" if self.tries_filtered else "it finds"
        few = f", or {found} no more than {tried:,} rows" if tried else ""
        return f"the driver where Spark expects no more than {most}{few}, else tasks"


@dataclass(frozen=True, slots=True)
class Instead:
    """The plan that takes the place of another one, which has written nothing by then, where `when` turns out so."""

    when: str
    plan: ChangePlan


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """A change's way, the reason for it in words, and the writer of its new rows, if it has any.

    `too_many`: what is done where a LOOK_UP finds more rows than its writer takes. `rewrites`: what is done where it
    finds that so large a share of their files' rows goes that these are better written anew.
    """

    way: Way
    reason: str
    writer: Writer
    too_many: Instead | None = None
    rewrites: Instead | None = None
    has_new_rows: bool = True

    def lines(self) -> Iterator[str]:
        """The plan as EXPLAIN shows it."""
        yield f"{self.way.shown}: {self.reason}"
        if self.has_new_rows:
            yield f"  written by {self.writer}"
        for instead in (self.too_many, self.rewrites):
            if instead is not None:
                first, *more = instead.plan.lines()
                yield f"  {instead.when}: {first}"
                yield from (f"  {line}" for line in more)
