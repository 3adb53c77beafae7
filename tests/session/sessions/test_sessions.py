"""Sessions that are configured again, and begun anew in one process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.turns(1, pool="own sessions")
def test_a_first_cell_that_runs_again_and_sessions_begun_anew(tmp_path: Path) -> None:
    """Ten sessions, each with folders of its own, leave no thread behind."""
    command = [sys.executable, str(HERE / "restarting_process.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    threads = json.loads(done.stdout.splitlines()[-1])
    warm, last = threads[4], threads[-1]
    assert len(threads) == 10
    assert last[0] <= warm[0] + 3, threads
    assert last[1] <= warm[1] + 5, threads
