"""`sqlext.table`: a table that a notebook renders, and its facts as DataFrames and pictures.

All comes from statements of SQL, so that it works in each session that has sqlext: with a Python driver, and as a
client of Spark Connect, which needs no package but PySpark, and matplotlib for pictures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.any_session import current_catalog, is_catalog
from sqlext.catalog.identifier import in_backticks, name_parts, quoted
from sqlext.description.html_page import description_html
from sqlext.description.table_facts import Description, bytes_told, key_told, plural_told
from sqlext.errors import UnsupportedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HISTORY = (
    "committed_at TIMESTAMP, snapshot_id BIGINT, parent_id BIGINT, operation STRING, what STRING, `by` STRING,"
    " rows_in BIGINT, rows_out BIGINT, keys_out BIGINT, files_in BIGINT, files_out BIGINT, rows BIGINT,"
    " is_ancestor BOOLEAN, refs ARRAY<STRING>"
)


def table(spark: SparkSession, name: str) -> ShownTable:
    """The table `name` of a catalog of sqlext, as in SQL: a name without a catalog is in the current one.

    A branch is named as in SQL too (`lake.db.t.branch_b`). Raises AnalysisError INVALID_NAME, NotFoundError
    CATALOG_NOT_FOUND, and the session's error if there is no such table.
    """
    found = ShownTable(spark, full_name(spark, name))
    found.describe(commits=1)
    return found


def full_name(spark: SparkSession, name: str) -> tuple[str, ...]:
    """The parts of a table's name, from its catalog on. Raises AnalysisError INVALID_NAME, and NotFoundError
    CATALOG_NOT_FOUND for a name that is in no catalog of sqlext."""
    parts = name_parts(name)
    if is_catalog(spark, parts[0]):
        return parts
    current = current_catalog(spark, parts[0] if len(parts) > 2 else None)
    return (current, *parts) if len(parts) > 1 else (current, *name_parts(spark.catalog.currentDatabase()), *parts)


@dataclass(frozen=True)
class ShownTable:
    """A table by its full name. It is read anew whenever it is shown or asked."""

    spark: SparkSession
    parts: tuple[str, ...]

    def describe(self, commits: int | None = None) -> Description:
        """The facts of the table, with its newest `commits` snapshots; 0 for all."""
        catalog, name = in_backticks(*self.parts[:1]), _text(in_backticks(*self.parts[1:]))
        asked = "" if commits is None else f", commits => {commits:d}"
        rows = self.spark.sql(f"CALL {catalog}.system.describe_table(table => {name}{asked})").collect()
        return Description.from_json(json.loads(rows[0][0]))

    def history(self) -> DataFrame:
        """The snapshots, newest first: who made them, what they did, and the rows in and out."""
        rows = [
            (
                datetime.fromisoformat(one.committed_at.replace("Z", "+00:00")),
                one.snapshot_id,
                one.parent_id,
                one.operation,
                one.what,
                one.by,
                one.rows_in,
                one.rows_out,
                one.keys_out,
                one.files_in,
                one.files_out,
                one.rows,
                one.is_ancestor,
                list(one.references),
            )
            for one in self.describe(commits=0).commits
        ]
        return self.spark.createDataFrame(rows, _HISTORY)

    def files(self) -> DataFrame:
        """The metadata table `files`."""
        return self.spark.sql(f"SELECT * FROM {in_backticks(*self.parts, 'files')}")

    def health(self) -> DataFrame:
        """The answer of `CALL health`: what the table consists of, and what care would do."""
        name = _text(in_backticks(*self.parts[1:]))
        return self.spark.sql(f"CALL {in_backticks(*self.parts[:1])}.system.health({name})")

    def changes(self, start: int | str | None = None, end: int | str | None = None) -> DataFrame:
        """The rows that each snapshot after `start` up to `end` changed, as `table_changes` tells them.

        Both are snapshot ids, branches or tags; None is the beginning, and the newest snapshot.
        """
        return self._changes(start, end, "each")

    def diff(self, a: int | str, b: int | str | None = None) -> DataFrame:
        """The rows that differ between the snapshots `a` and `b`, the newest without it, as changes from a to b."""
        return self._changes(a, b, "net")

    @property
    def plot(self) -> TablePlots:
        """Pictures of the history, the files, the health and the changes of the table."""
        return TablePlots(self)

    def _changes(self, start: int | str | None, end: int | str | None, mode: str) -> DataFrame:
        places = ", ".join(map(_place, (start, end)))
        name = _text(in_backticks(*self.parts))
        return self.spark.sql(f"SELECT * FROM table_changes({name}, {places}, '{mode}')")

    def __repr__(self) -> str:
        described = self.describe(commits=1)
        contents = described.contents
        columns = (
            f"  {one.name} {one.type}{' NOT NULL' if one.required else ''}{' (key)' if one.in_key else ''}"
            for one in described.columns
        )
        dead = f", {contents.dead_rows:,} dead" if contents.dead_rows else ""
        rows = f"{contents.live_rows_told} {'row' if contents.live_rows == 1 else 'rows'}"
        last = described.commits[0] if described.commits else None
        lines = [
            f"{described.name}: {rows}{dead}, {plural_told(contents.data_files, 'data file')},"
            f" {bytes_told(contents.bytes)}, {plural_told(described.commit_count, 'snapshot')}",
            *columns,
            f"key: {key_told(described)}",
            f"partitioned by: {', '.join(described.partitioned_by) or 'nothing'}",
            f"last: {last.what} at {last.committed_at} by {last.by}" if last else "no snapshots yet",
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return description_html(self.describe())


@dataclass(frozen=True)
class TablePlots:
    """Pictures of a table, as figures of matplotlib. Raises UnsupportedError PICTURES_NEED_PACKAGE without it."""

    table: ShownTable

    def history(self) -> Figure:
        """Rows in and out of each snapshot, and the rows stored after it."""
        described = self.table.describe(commits=0)
        figure: Figure = _pictures().history_picture(described.name, described.commits)
        return figure

    def files(self) -> Figure:
        """The data files by their sizes."""
        described = self.table.describe(commits=1)
        figure: Figure = _pictures().files_picture(described.name, described.contents)
        return figure

    def health(self) -> Figure:
        """Live and dead rows, and what care would do."""
        described = self.table.describe(commits=1)
        figure: Figure = _pictures().health_picture(described.name, described.contents, described.care)
        return figure

    def changes(self, start: int | str | None = None, end: int | str | None = None) -> Figure:
        """The rows that each snapshot inserted, updated and deleted."""
        pictures = _pictures()
        steps = _counted(self.table.changes(start, end))
        times = {one.snapshot_id: one.committed_at for one in self.table.describe(commits=0).commits}
        ordered = sorted(steps)
        labels = [times.get(snapshot, "") for _, snapshot in ordered]
        if not all(labels):
            labels = [str(snapshot) for _, snapshot in ordered]
        figure: Figure = pictures.changes_picture(quoted(*self.table.parts), [steps[one] for one in ordered], labels)
        return figure

    def diff(self, a: int | str, b: int | str | None = None) -> Figure:
        """The rows that differ between two snapshots."""
        pictures = _pictures()
        steps = _counted(self.table.diff(a, b))
        (counts,) = steps.values() or ({},)
        places = (str(a), "the newest snapshot" if b is None else str(b))
        figure: Figure = pictures.diff_picture(quoted(*self.table.parts), counts, *places)
        return figure


def _counted(changes: DataFrame) -> dict[tuple[int, int], dict[str, int]]:
    """The changes of each kind by the ordinals and ids of their snapshots."""
    counted = changes.groupBy("_change_ordinal", "_commit_snapshot_id", "_change_type").count().collect()
    steps: dict[tuple[int, int], dict[str, int]] = {}
    for ordinal, snapshot, kind, count in counted:
        steps.setdefault((ordinal, snapshot), {})[kind] = count
    return steps


def _pictures() -> Any:
    try:
        return import_module("sqlext.description.pictures")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("matplotlib"):
            raise
        raise UnsupportedError("PICTURES_NEED_PACKAGE", package="matplotlib") from None


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _place(place: int | str | None) -> str:
    return "NULL" if place is None else str(place) if isinstance(place, int) else _text(place)
