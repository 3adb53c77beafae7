"""sqlext beside Iceberg's and Delta's extensions, in a process of its own for each order of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.sessions.own_process import found_by
from sqlext.spark.shim.shim_jar import installed_spark

ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
SQLEXT = "io.sqlext.Extensions"


@pytest.mark.turns(1, pool="own sessions")
@pytest.mark.parametrize(
    "extensions", [f"{ICEBERG},{DELTA}", pytest.param(f"{SQLEXT},{DELTA},{ICEBERG}", marks=pytest.mark.long)]
)
def test_each_handles_its_own_tables_in_any_order(tmp_path: Path, extensions: str) -> None:
    if installed_spark().minor != "4.1":
        pytest.skip("the jars of Iceberg and Delta that the test fetches are those for Spark 4.1")
    lake = [[1, "ada"], [2, "cc"], [9, "nine"], [101, "da"], [102, "c"], [109, "Nine"]]
    assert found_by("beside_process.py", str(tmp_path), extensions) == {
        "lake": lake,
        "by Iceberg": lake,
        "ice": [[1, "ia"], [2, "c"], [5, "five"]],
        "delta": [[1, "da"], [2, "c"], [9, "Nine"]],
        "even": 150_000,
        "joined": 2,
        "delta's history": 2,
        "by path": 3,
        "written by Iceberg": 3,
    }
