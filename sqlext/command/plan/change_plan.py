"""The plan of a change: its way, the writer of new rows, and alternatives.

A plan is decided before the change runs. What only execution can tell, such as how many rows match a condition, is a
limit in the plan, with the plan that replaces it beyond the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from sqlext.thresholds import ALL_ROWS


class Way(Enum):
    """A strategy to write a change. All ways that a statement admits give the same rows."""

    DELETE_ALL = "everything"
    """All files are removed; none is read."""

    METADATA_DELETE = "covered files"
    """Files of which all rows match, by metadata, are removed unread; no other file has matching rows."""

    PARTIAL_METADATA_DELETE = "partly covered files"
    """Files of which all rows match, by metadata, are removed; matching rows of other files are deleted by position."""

    EQUALITY = "equality"
    """Equality deletes of the source's keys, and new rows; the table is not read."""

    LOOK_UP = "look-up"
    """The driver looks up the source's keys in the table, and deletes the rows by position."""

    NAMED_KEYS = "named keys"
    """The driver looks up the keys that a condition names, and deletes or replaces the rows by position."""

    INSERT_ONLY = "insert-only"
    """New rows are appended, after a query has found that they match no target row."""

    COPY_ON_WRITE = "copy-on-write"
    """Files with a deleted or replaced row are replaced by new files, which also have their other rows."""

    COPY_BY_QUERY = "copy-by-query"
    """As COPY_ON_WRITE, but a query reads the other rows and puts all in order, where tasks cannot."""

    AUTO = "auto"
    """The rows are found first; their share of the files' rows decides between merge-on-read and copy-on-write."""

    MERGE_ON_READ = "merge-on-read"
    """Old rows are deleted by position, new rows are written to new files."""

    COMPLETED_BY_TASKS = "completed-by-tasks"
    """As MERGE_ON_READ, but tasks read the columns without new values from the data files, not the query."""

    APPEND = "append"
    """New rows in new files; stored rows are not read."""

    OVERWRITE = "overwrite"
    """New rows in new files, which replace all files of the table."""

    OVERWRITE_PARTITIONS = "overwrite partitions"
    """New rows in new files, which replace all files of the partitions that get rows."""

    OVERWRITE_WHERE = "overwrite where"
    """New rows in new files; rows that match a condition are deleted."""

    @property
    def shown(self) -> str:
        """The way's name in EXPLAIN."""
        return _SHOWN.get(self, self.value)


_SHOWN = {
    Way.DELETE_ALL: "metadata alone",
    Way.METADATA_DELETE: "metadata alone",
    Way.PARTIAL_METADATA_DELETE: "metadata and merge-on-read",
    Way.EQUALITY: "key upsert by equality deletes",
    Way.LOOK_UP: "key upsert by position",
    Way.NAMED_KEYS: "merge-on-read by key",
    Way.COPY_BY_QUERY: "copy-on-write by a query",
    Way.COMPLETED_BY_TASKS: "merge-on-read completed by tasks",
}


COPIES = (Way.COPY_ON_WRITE, Way.COPY_BY_QUERY)
"""The ways that replace files by copies with changes."""

READ_BY_TASKS = (Way.COPY_ON_WRITE, Way.COMPLETED_BY_TASKS)
"""The ways whose query leaves out columns that tasks read from the data files. The size of these chooses the writer."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The writer of new rows: Python workers in Spark's tasks, or the driver, where that costs less than their start.

    The driver takes a result that Spark estimates at `most_bytes` or less. It tries others up to `tried_rows` rows;
    if there are more, or more than `most_bytes`, the query starts again in tasks, or with LOOK_UP as the plan's
    `too_many` says. With `tries_filtered` it tries only if a condition of the query may leave few rows. `given`:
    the driver has the rows already. Up to `completed_rows` rows, the driver reads columns that the change does not
    assign from the data files of the replaced rows, instead of the query. At most `tasks` tasks write; None: as
    many as Spark chooses. With `reads_files` they read the files of a query that gives columns as they are, and with
    `completes` the columns that the change does not assign from the data files of the replaced rows.
    """

    most_bytes: int
    tried_rows: int = 0
    tries_filtered: bool = False
    completed_rows: int = 0
    given: bool = False
    tasks: int | None = None
    reads_files: bool = False
    completes: bool = False

    def __str__(self) -> str:
        if self.given:
            return "the driver, which has the rows"
        tasks = "tasks, which read columns without new values from the data files" if self.completes else "tasks"
        if not self.most_bytes:
            return tasks
        most = f"{self.most_bytes:,} bytes"
        if self.tried_rows >= ALL_ROWS:
            return f"the driver up to {most}, else {tasks}"
        tried = max(self.tried_rows, self.completed_rows)
        found = "a condition leaves" if self.tries_filtered else "finds"
        few = f", or {found} at most {tried:,} rows" if tried else ""
        return f"the driver if Spark expects at most {most}{few}, else {tasks}"


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative to a plan, which is executed if the condition `when` turns out true; nothing has been written by
    then."""

    when: str
    plan: ChangePlan


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The way to write a change, the reason in words, and the writer of its new rows.

    `too_many`: the alternative if LOOK_UP finds more rows than its writer takes. `rewrites`: the alternative if it
    finds that so large a share of the files' rows is deleted that files are better rewritten.
    """

    way: Way
    reason: str
    writer: Writer
    too_many: Alternative | None = None
    rewrites: Alternative | None = None
    has_new_rows: bool = True

    def _shown_writer(self) -> str:
        if self.way is Way.LOOK_UP and self.too_many is not None:
            return "the driver"
        if self.way in READ_BY_TASKS and self.writer.most_bytes:
            return f"the driver if the files that lose a row have at most {self.writer.most_bytes:,} bytes, else tasks"
        # The driver tries to count the rows of a change whose files are rewritten, not to write them.
        return str(replace(self.writer, tried_rows=0) if self.way is Way.COPY_BY_QUERY else self.writer)

    def lines(self) -> Iterator[str]:
        """The lines of the plan in EXPLAIN."""
        yield f"{self.way.shown}: {self.reason}"
        if self.has_new_rows:
            yield f"  written by {self._shown_writer()}"
        for instead in (self.too_many, self.rewrites):
            if instead is not None:
                first, *more = instead.plan.lines()
                yield f"  {instead.when}: {first}"
                yield from (f"  {line}" for line in more)
