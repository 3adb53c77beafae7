"""What of sqlext the measured parts of `tests/run.py --long` have run: of its lines `LEAST` at least, of branches any.

A module that is loaded by Spark's Python workers alone, or that a test runs in a process of its own, counts as far as
a test runs it in pytest's own process too.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import coverage

LEAST = 90.0
"""Percent of the lines of all modules together; those of one that has fewer are named."""


def main() -> int:
    """Combines what the parts have left at COVERAGE_FILE; 1 where lines are fewer than `LEAST`."""
    measured = coverage.Coverage()
    measured.combine()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        measured.json_report(outfile=str(report))
        found = json.loads(report.read_text())
    below = {path: file["summary"] for path, file in found["files"].items() if _lines(file["summary"]) < LEAST}
    for path, summary in sorted(below.items(), key=lambda item: _lines(item[1])):
        print(f"{_lines(summary):5.1f} % of lines  {path}")
    totals = found["totals"]
    branches = 100 * totals["covered_branches"] / totals["num_branches"]
    print(f"{_lines(totals):5.1f} % of lines, {branches:.1f} % of branches of {len(found['files'])} modules")
    return 0 if _lines(totals) >= LEAST else 1


def _lines(summary: Mapping[str, Any]) -> float:
    """Percent; a module without statements has all."""
    statements = int(summary["num_statements"])
    return 100 * int(summary["covered_lines"]) / statements if statements else 100.0


if __name__ == "__main__":
    sys.exit(main())
