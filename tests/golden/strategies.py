"""The golden inputs of row-level changes under every way to write them.

Each way is a catalog whose new tables have other properties. Rows, counts and errors must be those that are recorded;
snapshots, files, lowered SQL and hidden columns are of the way and not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from golden.runner import RESULTS, run_area

STRATEGIES: Mapping[str, Mapping[str, str]] = {
    "copy_on_write": {f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")},
    "auto": {f"write.{verb}.mode": "auto" for verb in ("delete", "update", "merge")},
    "vectors": {"format-version": "3"},
    "vectors_copy_on_write": {
        "format-version": "3",
        **{f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")},
    },
}
AREAS = ("delete", "update", "merge_clauses", "merge_sources", "partition_evolution", "insert_overwrite", "upsert")
CORE = (("copy_on_write", "merge_clauses"), ("copy_on_write", "update"))
_SECTIONS = re.compile(r"^-- (schema|rows|error|lowered|summary)$")
_COMPARED = ("rows", "error")
_OF_THE_WAY = re.compile(
    r"_file\b|_pos\b|_row_id|_last_updated|_deleted\b|\$\{|SNAPSHOTS?\b|TBLPROPERTIES|SHOW CREATE|DESCRIBE|EXPLAIN"
    r"|\.\w*(files|entries|manifests|partitions|history|refs|position_deletes)\b",
    re.IGNORECASE,
)


def run_as(spark: SparkSession, folder: Path, strategy: str, area: str) -> str:
    """What an area gives where new tables have the strategy's properties; `folder` is for that catalog alone."""
    catalog = f"lake_{strategy}"
    prefix = f"spark.sql.catalog.{catalog}"
    spark.conf.set(f"{prefix}.warehouse", str(folder))
    for name, value in STRATEGIES[strategy].items():
        spark.conf.set(f"{prefix}.table-default.{name}", value)
    spark.conf.set(prefix, "io.sqlext.Catalog")
    return re.sub(rf"\b{catalog}\b", "lake", run_area(spark, folder, area, catalog))


def recorded(area: str) -> str:
    return (RESULTS / f"{area}.out").read_text()


def answers(result: str) -> list[tuple[str, list[str]]]:
    """Each statement with its rows and errors, statements that ask for what differs among ways left out."""
    found = []
    for block in result.split("\n\n"):
        statement: list[str] = []
        kept: list[str] = []
        section = ""
        for line in block.splitlines():
            if (begun := _SECTIONS.match(line)) is not None:
                section = begun[1]
            elif not section:
                statement.append(line)
            elif section in _COMPARED:
                kept.append(line)
        text = "\n".join(statement)
        if not _OF_THE_WAY.search(text):
            found.append((text, kept))
    return found
