"""What a process keeps of what it ran, in a process of its own; `tests/soak/wear.py` has the long one."""

import subprocess
import sys
from pathlib import Path

import pytest

_WEAR = Path(__file__).parents[2] / "soak" / "wear.py"


@pytest.mark.long
def test_statements_batches_and_sessions_leave_both_processes_as_they_were() -> None:
    counts = ["--statements", "100", "--batches", "24", "--sessions", "4"]
    run = subprocess.run([sys.executable, str(_WEAR), *counts], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]
