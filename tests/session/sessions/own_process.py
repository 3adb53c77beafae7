"""Scripts of these tests, each in a process of its own, as a process has one JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def found_by(script: str, *arguments: str) -> Any:
    """What a script in this folder prints last, which is JSON."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])
