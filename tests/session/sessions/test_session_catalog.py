"""sqlext as Spark's session catalog, in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from golden.runner import area_names
from session.sessions.own_process import found_by

SOME_AREAS = ["alter_table", "create_table_like", "merge_clauses", "time_travel"]
"""In CI; all but OF_OTHERS with SQLEXT_GOLDEN=all."""
OF_OTHERS = {"namespaces_and_show", "pushdown", "read_hints", "views", "transactions"}
"""Areas of nested namespaces, functions and views of the catalog, which are Spark's in its session catalog."""


@pytest.mark.turns(1, pool="own sessions")
def test_tables_of_sqlext_and_of_spark_are_in_one_catalog(tmp_path: Path) -> None:
    areas = (
        [area for area in area_names() if area not in OF_OTHERS]
        if os.environ.get("SQLEXT_GOLDEN") == "all"
        else SOME_AREAS
    )
    found = found_by("session_catalog_process.py", str(tmp_path), *areas)
    tables = ["copied", "in_it", "like_own", "like_plain", "made", "own", "renamed", "saved", "saved_here", "seen"]
    taken = "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert found == {
        "rows": [[1, "x"], [2, "up"], [7, "seven"], [10, "n"], [11, "n"], [12, "n"], [100, None]],
        "counts": [3, 4, 0, 2, 3, 6, 2],
        "snapshots": 7,
        "tables": tables,
        "views": ["seen"],
        "sqlext's": ["iceberg"] * 4,
        "Spark's": ["parquet"] * 3,
        "compacted": 1,
        "exists": [True, True, False],
        "in another session": 7,
        "taken names": [
            *[taken] * 7,
            *["done"] * 2,
            *[taken, taken, "done", taken],
            "UNSUPPORTED_FEATURE.TABLE_OPERATION",
            taken,
        ],
        "after them": tables,
        "dropping": ["SCHEMA_NOT_EMPTY", "done"],
        "again": [0, 0],
        "differing": [],
    }
