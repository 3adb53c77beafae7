"""The core script of this clone on each Spark that no other test runs on; `run.py` takes the wheel."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from golden.runner import DEFAULT_SPARK
from matrix.environments import with_clone
from sqlext.spark.shim.supported_spark import MINORS


@pytest.mark.turns(1)
@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != DEFAULT_SPARK])
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
