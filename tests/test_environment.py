"""A machine without Java gets one line that says how to install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS keeps Java in folders that no PATH names")
@pytest.mark.parametrize("script", ["notebooks/flights.py", "tests/run.py"])
def test_no_java_is_one_line(script: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / script)],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    [line] = (done.stdout + done.stderr).splitlines()
    assert line.startswith("sqlext: Java 17 or 21 is needed and no Java was found. Install it with: ")
    assert not list(tmp_path.iterdir())
