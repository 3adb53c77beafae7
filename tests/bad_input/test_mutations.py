"""Damaged files are refused by name, soon and in little memory, however they are damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COUNT = 2_000
SEED = 1
KINDS = (
    *("metadata", "gzipped metadata", "manifest list", "manifest", "Puffin", "position deletes"),
    *("view", "version-hint.text"),
)
TESTS = Path(__file__).parents[1]


def test_mutations_of_every_kind_of_file() -> None:
    """In a process of its own, whose memory is limited case by case."""
    command = [sys.executable, str(TESTS / "bad_input" / "mutations.py"), "--count", str(COUNT), "--seed", str(SEED)]
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    assert f"{COUNT} cases, 0 wrong" in ended.stdout
    for kind in KINDS:
        assert f"\n{kind}: " in ended.stdout, "a kind of file that no case damaged"
