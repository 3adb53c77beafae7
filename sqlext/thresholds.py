"""Thresholds by which changes are planned: each with its default, its unit and its basis.

A session sets one as `sqlext.plan.<name>`, with dashes for underscores: `SET sqlext.plan.driver-rows=1000`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sqlext.errors import AnalysisError

PREFIX = "sqlext.plan."
# A limit of rows that admits all.
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
        "Most that the driver takes of a result which is only guessed to be small: about as many rows cost as much as"
        " the start of Python workers.",
    )
    completed_rows: int = _number(
        262_144,
        "rows",
        "Most rows of an UPDATE or MERGE whose unchanged columns are read from the data files at the rows' positions:"
        " of about as many rows Spark decodes those columns of all rows in the same time.",
    )
    short_guess: int = _number(
        8, "times", "By how much a number of rows may be guessed too low: one that is costs a second run of the query."
    )
    unpacked: int = _number(4, "times", "How many bytes of memory a byte of a data file may become.")
    looked_up_key_bytes: int = _number(
        256 * 1024 * 1024,
        "bytes",
        "Largest size of a target's key columns in which the driver looks up keys; Spark joins more.",
    )
    checked_key_rows: int = _number(
        1_000_000, "rows", "Most new rows whose keys the driver looks up in a table with an ENFORCED key."
    )
    checked_key_bytes: int = _number(
        256 * 1024 * 1024, "bytes", "Largest size of the key columns in which it does; Spark joins more."
    )
    rewritten_share: float = _number(
        0.3,
        "share",
        "From this share of rows that go on the mode `auto` writes files anew: Iceberg's compaction takes a file with"
        " as many deleted rows to be worth it.",
    )
    sampled_files: int = _number(4, "files", "Most files that EXPLAIN reads to tell what `auto` will choose.")
    sampled_bytes: int = _number(256 * 1024 * 1024, "bytes", "Most that it reads of them.")
    relisted_files: int = _number(
        500,
        "files",
        "Most files of a table with which one that loses its last row is dropped and not only marked: manifests are"
        " written anew for it, in about 0.4 ms for each file that stays.",
    )
    relisted_files_per_drop: int = _number(
        50, "files", "How many more for each file that is dropped: 20 ms once, against a file less in every scan."
    )
    compacted_bytes: int = _number(
        256 * 1024 * 1024,
        "bytes",
        "Most that the driver compacts at once: it takes some seconds for as much, and a job of Spark's two to four"
        " times the CPU.",
    )
    sorted_bytes: int = _number(
        64 * 1024 * 1024,
        "bytes",
        "Most that the driver sorts for one of a compaction's files: it holds a few copies of the rows meanwhile.",
    )
    changelog_rows: int = _number(
        65_536, "rows", "Most changes of a commit that the driver finds and stores in its changelog."
    )

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Thresholds:
        """The thresholds under a session's settings. Raises AnalysisError SETTING_INVALID for text that is no whole
        number or share, as the threshold needs."""
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
