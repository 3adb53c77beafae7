"""The core script of this clone, and the command `sqlext`, on each Spark that no other test runs on; `run.py` takes the
wheel."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from golden.runner import DEFAULT_SPARK
from matrix.environments import with_clone
from sqlext.spark.shim.supported_spark import MINORS
from sqlext.thresholds import Thresholds
from unit.command.lake import Lake

OTHERS = [minor for minor in MINORS if minor != DEFAULT_SPARK]


@pytest.mark.turns(1)
@pytest.mark.parametrize("minor", OTHERS)
def test_every_step_passes(tmp_path: Path, minor: str) -> None:
    python = with_clone(minor)
    done = subprocess.run(
        [str(python), str(Path(__file__).with_name("core.py"))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    steps = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [step for step in steps if step["error"]] == []
    assert done.returncode == 0, done.stderr[-4000:]
    assert {step["spark"].rpartition(".")[0] for step in steps} == {minor}


@pytest.mark.turns(1)
@pytest.mark.parametrize("minor", OTHERS)
def test_a_statement_in_a_terminal_prints_its_result_alone(tmp_path: Path, minor: str) -> None:
    """Its rows are more than the driver takes, so that PySpark looks at the versions of its packages for tasks."""
    many = Thresholds().driver_bytes // 8 + 1
    Lake(tmp_path).create("CREATE TABLE t (id BIGINT)")
    done = subprocess.run(
        [str(with_clone(minor)), "-m", "sqlext", "sql", "--json", f"INSERT INTO db.t SELECT id FROM range({many})"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "", "SQLEXT_CATALOG": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"][0][:2] == [many, many]
