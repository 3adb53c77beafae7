"""`attach` with a session that was started without sqlext, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "late_process.py"


@pytest.mark.parametrize("before", ["", "ADD JAR"])
def test_a_session_that_is_there_already_becomes_whole(tmp_path: Path, before: str) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), before], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert json.loads(run.stdout.splitlines()[-1]) == {
        "with a stream": "SESSION_HAS_STREAMS",
        "same session": True,
        "rows": [[1, "a"], [2, "c"]],
        "many": 100_500,
        "before": [2, 3, "own"],
        "settings": ["5", "io.sqlext.Catalog"],
        "other session": "SESSION_NOT_ATTACHED",
        "other session attached": 2,
        "later session": 1,
    }
