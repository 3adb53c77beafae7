"""`SparkSession.builder.remote("local")`: a client of Spark Connect whose server is in the same process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlext


@pytest.mark.turns(1, pool="own sessions")
def test_it_has_catalogs_and_functions(tmp_path: Path) -> None:
    program = Path(__file__).with_name("connect_process.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    command = [sys.executable, str(program), str(tmp_path / "warehouse")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=kept, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "rows": [[1, "a"], [2, "c"]],
        "refused": "CONNECT_CLIENT",
        "failed": [],
        "is_client": True,
    }


def test_a_server_elsewhere_has_settings_of_its_own() -> None:
    with pytest.raises(sqlext.errors.UnsupportedError, match="CONNECT_CLIENT"):
        sqlext.configure(SparkSession.builder.remote("sc://localhost:15002"), lake="./warehouse")
