"""The golden inputs of row-level changes under every way to write them.

A way is a catalog whose new tables have other properties, or a plan that the session forces. Rows, counts and errors
must be those that are recorded; snapshots, files, lowered SQL and hidden columns are of the way and not compared, nor
are counts that one of the two ways does not know.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from forced_plans import FORCED
from golden.runner import result_path, run_area
from sessions import planned

_COPY_ON_WRITE = {f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")}
_COMPACTED = {
    "write-only": "false",
    "compaction.min.file-num": "2",
    "compaction.delete-ratio-threshold": "0",
    "compaction.delete-file-threshold": "1",
}
STRATEGIES: Mapping[str, Mapping[str, str]] = {
    "copy_on_write": _COPY_ON_WRITE,
    "auto": {f"write.{verb}.mode": "auto" for verb in ("delete", "update", "merge")},
    "vectors": {"format-version": "3"},
    "vectors_copy_on_write": {"format-version": "3", **_COPY_ON_WRITE},
    "equality": {"write.upsert.mode": "equality"},
    "vectors_equality": {"format-version": "3", "write.upsert.mode": "equality"},
    "compacted": _COMPACTED,
    "vectors_compacted": {"format-version": "3", **_COMPACTED},
}
BY_FORCE: Mapping[str, str] = {f"forced_{text.replace('-', '_').replace(',', '_in_')}": text for text in FORCED}
"""What `sqlext.plan.force` is, by the name of the way."""
AREAS = (
    "delete",
    "delete_subqueries",
    "insert_overwrite",
    "merge_clauses",
    "merge_conditions_with_subqueries",
    "merge_names",
    "merge_nested",
    "merge_partitions",
    "merge_sources",
    "merge_subqueries",
    "merge_values",
    "on_conflict",
    "partition_evolution",
    "row_kinds",
    "update",
    "update_nested",
    "update_subqueries",
    "upsert",
    "upsert_into",
)
FIRST_FOR_EVERY_FORCE = ("upsert",)
"""Areas that each run of the tests goes through under every forced way."""
FOR_EVERY_FORCE = ("delete", "merge_clauses", "update", *FIRST_FOR_EVERY_FORCE)
"""Areas that each long run goes through under every forced way; all others have their days."""
_BY_EQUALITY = ("equality", "vectors_equality", "forced_equality")
# those with upserts in them, and with no table whose partitioning or order of rows asks for the stored row
_EQUALITY_AREAS = ("merge_clauses", "merge_sources", "merge_values", "on_conflict", "upsert")
_COUNTS = "num_affected_rows:"
_SECTIONS = re.compile(r"^-- (schema|rows|error|lowered|summary)$")
_OF_THE_WAY = re.compile(
    r"_file\b|_pos\b|_row_id|_last_updated|_deleted\b|\$\{|SNAPSHOTS?\b|TBLPROPERTIES|SHOW CREATE|DESCRIBE|EXPLAIN"
    r"|\.\w*(files|entries|manifests|partitions|history|refs|position_deletes)\b",
    re.IGNORECASE,
)


def areas_of(strategy: str) -> Sequence[str]:
    return _EQUALITY_AREAS if strategy in _BY_EQUALITY else AREAS


def rotating_strategy() -> str:
    """The way that `SQLEXT_GOLDEN_STRATEGY` names, else the one whose day it is."""
    names = [*STRATEGIES, *BY_FORCE]
    return os.environ.get("SQLEXT_GOLDEN_STRATEGY") or names[datetime.date.today().toordinal() % len(names)]


def run_as(spark: SparkSession, folder: Path, strategy: str, area: str) -> str:
    """What an area gives where new tables have the strategy's properties; `folder` is for that catalog alone."""
    catalog = f"lake_{strategy}"
    prefix = f"spark.sql.catalog.{catalog}"
    spark.conf.set(f"{prefix}.warehouse", str(folder))
    for name, value in STRATEGIES.get(strategy, {}).items():
        spark.conf.set(f"{prefix}.table-default.{name}", value)
    spark.conf.set(prefix, "io.sqlext.Catalog")
    with planned(spark, force=BY_FORCE.get(strategy, "")):
        return re.sub(rf"\b{catalog}\b", "lake", run_area(spark, folder, area, catalog))


def recorded(area: str) -> str:
    return result_path(area).read_text()


def differences(spark: SparkSession, folder: Path, strategy: str, area: str) -> list[str]:
    """Statements whose rows, counts or errors are not those recorded, each with both."""
    got, wanted = answers(run_as(spark, folder, strategy, area)), answers(recorded(area))
    return [
        f"{strategy}: {area}: {text}\n  got    {one}\n  wanted {other}"
        for (text, one), (_, other) in zip(got, wanted, strict=True)
        if not _are_same(one, other)
    ]


def _are_same(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) == len(other) and all(map(_is_same, one, other))


def _is_same(one: str, other: str) -> bool:
    """Counts that a way does not know are null. One that has such counts does not look at the stored rows either: it
    counts a key once of which the table has copies, and so may count fewer rows, but never more."""
    if one == other or not (one.startswith(_COUNTS) and other.startswith(_COUNTS)):
        return one == other
    got, wanted = (json.loads(text.removeprefix(_COUNTS)) for text in (one, other))
    pairs = zip(got, wanted, strict=True)
    return all(None in pair or pair[0] == pair[1] or (None in got and pair[0] < pair[1]) for pair in pairs)


def answers(result: str) -> list[tuple[str, list[str]]]:
    """Each statement with its rows and errors, statements that ask for what differs among ways left out. A row of
    counts begins with `_COUNTS`."""
    found = []
    for block in result.split("\n\n"):
        lines = block.splitlines()
        text = "\n".join(itertools.takewhile(lambda line: not _SECTIONS.match(line), lines))
        if _OF_THE_WAY.search(text):
            continue
        section, kept, is_count = "", [], False
        for line in lines:
            if (begun := _SECTIONS.match(line)) is not None:
                section = begun[1]
            elif section == "schema":
                is_count = line.startswith(_COUNTS)
            elif section in ("error", "rows"):
                kept.append(f"{_COUNTS if is_count and section == 'rows' else ''}{line}")
        found.append((text, kept))
    return found
