"""Thresholds of the planner, each with default, unit and basis.

A session sets one as `sqlext.plan.<name>`, with dashes for underscores: `SET sqlext.plan.driver-rows=1000`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sqlext.errors import AnalysisError

PREFIX = "sqlext.plan."
# A number of rows that means no limit.
ALL_ROWS = 2**62


def _number(default: float, unit: str, basis: str) -> Any:
    return field(default=default, metadata={"unit": unit, "basis": basis})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of a session."""

    driver_bytes: int = _number(
        32 * 1024 * 1024,
        "bytes",
        "Most that the driver takes of a result, as Arrow: a JVM of 1 GB has room for a few copies of it, and a job"
        " that writes as much takes longer than the start of its Python workers.",
    )
    driver_rows: int = _number(
        65_536,
        "rows",
        "Most that the driver takes of a result that may be larger than estimated: to write about as many rows costs as"
        " much as the start of Python workers.",
    )
    completed_rows: int = _number(
        262_144,
        "rows",
        "Most rows of an UPDATE or MERGE whose unchanged columns are read from the data files by position: for more,"
        " Spark decodes these columns of all rows in less time.",
    )
    completed_columns: int = _number(
        8,
        "columns",
        "Fewest columns that an UPDATE or MERGE of many rows does not assign and tasks read from the data files: to"
        " pass fewer through a join costs less than to cache its rows and to move them to their files.",
    )
    short_guess: int = _number(
        8,
        "times",
        "Factor by which an estimate of rows may be too low: a larger error costs a second run of the query.",
    )
    unpacked: int = _number(4, "times", "Bytes of memory for one byte of a data file.")
    looked_up_key_bytes: int = _number(
        256 * 1024 * 1024,
        "bytes",
        "Largest size of the target's key columns for a key upsert by look-up on the driver; else Spark joins. Also of"
        " the key columns in the files in which the driver finds rows for a query or `sqlext.lookup`; else tasks do.",
    )
    checked_key_rows: int = _number(
        1_000_000, "rows", "Most new rows whose ENFORCED key the driver looks up in the table; else Spark joins."
    )
    checked_key_bytes: int = _number(
        256 * 1024 * 1024,
        "bytes",
        "Largest size of the table's key columns for a look-up of an ENFORCED key by the driver; else Spark joins.",
    )
    looked_up_rows: int = _number(
        131_072,
        "rows",
        "Most rows of data files that the driver reads for a query's scan by equality or IN: a Spark job takes longer"
        " to start. Tasks read larger scans, also where as many values are in as many pages. With 0 `sqlext.lookup`"
        " is a query, too, and tasks read scans by key.",
    )
    planned_files: int = _number(
        100_000,
        "files",
        "Most data files of a table of which the driver looks up keys or unchanged columns: it plans all of them for"
        " that, in 3.7 KB of memory and 40 microseconds each; else Spark joins and reads the columns.",
    )
    copied_bytes: int = _number(
        128 * 1024 * 1024,
        "bytes",
        "Bytes of the files that a task of a copy-on-write copies, unless there are more cores: with fewer, starts of"
        " tasks add up, and with more, cores are without work at the end.",
    )
    broadcast_positions: int = _number(
        2_000_000,
        "rows",
        "Most deleted positions that Spark sends to all tasks of a copy-on-write by a query, at 24 bytes each; else a"
        " shuffle moves the rows that stay.",
    )
    rewritten_share: float = _number(
        0.3,
        "share",
        "Share of deleted rows from which the mode `auto` rewrites files: the default of `delete-ratio-threshold` in"
        " Iceberg's `rewrite_data_files`.",
    )
    sampled_files: int = _number(4, "files", "Most files that EXPLAIN reads to estimate the choice of `auto`.")
    sampled_bytes: int = _number(
        256 * 1024 * 1024, "bytes", "Most that EXPLAIN reads to estimate the choice of `auto`."
    )
    relisted_files: int = _number(
        500,
        "files",
        "Most files of a table from which a data file without a live row is removed; in larger tables its rows are"
        " deleted by position, as a removal rewrites manifests, in about 0.05 ms for each remaining file.",
    )
    relisted_files_per_drop: int = _number(
        50,
        "files",
        "By how many files `sqlext.plan.relisted-files` is larger for each removed file: 2.5 ms once, for one file less"
        " in every scan.",
    )
    compacted_bytes: int = _number(
        256 * 1024 * 1024,
        "bytes",
        "Most that the driver compacts in one commit: it takes a few seconds, and a Spark job two to four times the"
        " CPU.",
    )
    compacted_at_once_bytes: int = _number(
        2 * 1024 * 1024,
        "bytes",
        "Most that a statement compacts after its commit before it ends: a few hundredths of a second. More is left to"
        " the background, once the process has committed to the table several times.",
    )
    sorted_bytes: int = _number(
        64 * 1024 * 1024,
        "bytes",
        "Largest file that the driver sorts in a compaction: it has a few copies of the rows in memory.",
    )
    task_sorted_bytes: int = _number(
        1024 * 1024 * 1024,
        "bytes",
        "Largest group of files that one task sorts in a compaction, with a few copies of the rows in memory; Spark"
        " sorts larger ones.",
    )
    changelog_rows: int = _number(
        65_536,
        "rows",
        "Most changed rows of a commit that the driver computes and stores as its changelog.",
    )
    table_changes_rows: int = _number(
        262_144, "rows", "Most changed rows that the driver computes for a query's `table_changes`; else Spark does."
    )
    preview_rows: int = _number(
        10_000,
        "rows",
        "Most changed rows that PREVIEW or RETURNING gives: the driver holds them as objects, a few kB each.",
    )

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Thresholds:
        """The thresholds by a session's settings.

        Raises AnalysisError SETTING_INVALID for a value that is no whole number, or no share.
        """
        given: dict[str, Any] = {}
        for one in fields(cls):
            name = setting(one.name)
            if name in settings:
                given[one.name] = _parsed(name, settings[name], one.metadata["unit"])
        return cls(**given)


def setting(name: str) -> str:
    """The session setting of the threshold `name`."""
    return PREFIX + name.replace("_", "-")


def _parsed(name: str, text: str, unit: str) -> float:
    is_share = unit == "share"
    try:
        value = float(text) if is_share else int(text)
    except ValueError:
        value = -1
    if not 0 <= value <= (1 if is_share else value):
        allowed = "a number from 0 to 1" if is_share else "a whole number that is not below 0"
        raise AnalysisError("SETTING_INVALID", name=name, value=text, allowed=allowed)
    return value
