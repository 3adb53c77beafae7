"""README's first command tells its story to the end: here of the last month of the year, in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The environment of the tests has what the demo needs; `tests/test_environment.py` tests how one is made.
TOLD = """
import sys
from pathlib import Path

import environment

environment.enter = lambda extra: None
import flights

flights.main(Path(sys.argv[1]), months=1)
"""


def test_the_flights_are_loaded_merged_and_asked(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path[:0] = ['.ci', 'notebooks']\n{TOLD}", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^\[ *[\d.]+ s\] (.*)$", done.stdout, re.MULTILINE)
    assert "loaded lake.nyc.flights: 28,135 rows" in told
    assert "merged: 257 updated, 16 deleted, 60 inserted; no data file was rewritten" in told
    assert "rows then 28,135, rows now 28,179, which is 60 more and 16 fewer" in told
    assert told[-1].startswith(f"done; the tables are in {tmp_path}")
    # Each question has rows as its answer.
    for question in (line for line in told if line.endswith("?")):
        answer = done.stdout.partition(question)[2].partition("[")[0]
        assert len(re.findall(r"^\|", answer, re.MULTILINE)) > 1, question
