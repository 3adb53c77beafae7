"""sqlext beside Iceberg's and Delta's extensions, in a process of its own for each order of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "beside_process.py"
ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
SQLEXT = "io.sqlext.Extensions"


@pytest.mark.parametrize("extensions", [f"{ICEBERG},{DELTA}", f"{SQLEXT},{DELTA},{ICEBERG}"])
def test_each_handles_its_own_tables_in_any_order(tmp_path: Path, extensions: str) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), extensions], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert json.loads(run.stdout.splitlines()[-1]) == 0
