"""Rows of 20 kB in a process whose driver has 1 GB: `large_rows.py` has the ways to write."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable

import pytest

from session.reads.large_rows import MANY, ROWS, WAYS
from session.reads.large_rows import __file__ as SCRIPT

_BYTES = 36 * 560


def _found(ids: Iterable[int], *, more: int = 0, texts: int | None = None, short: int = 0) -> list[int]:
    """Rows, keys, the sum of -id and `more`, and the length of `texts` large texts and `short` ones of one letter."""
    rows = list(ids)
    return [len(rows), len(set(rows)), more - sum(rows), (len(rows) if texts is None else texts) * _BYTES + short]


ALL, ODD = range(ROWS), range(1, ROWS, 2)
EXPECTED = {
    **{way: _found(ALL) for way in WAYS},
    "upsert by position": _found(range(MANY)),
    "kept columns": _found(ALL, more=-len(range(0, ROWS, 3))),
    "update that writes files anew": _found(ALL, texts=ROWS // 2, short=ROWS // 2),
    "update that weighs": _found(ALL, texts=ROWS // 2, short=ROWS // 2),
    "delete": _found(ODD),
    "replace where": _found([*ODD, 0]),
    "changelog": _found(ALL, more=sum(range(0, ROWS, 2)) + ROWS // 2),
    "merge engine": _found(ALL, more=sum(range(100)) + 500),
    "compaction": [2 * ROWS, 2 * ROWS, -2 * sum(ALL), 2 * ROWS * _BYTES],
}


@pytest.mark.long
def test_every_way_to_write_takes_large_rows() -> None:
    run = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert {one["way"]: one["found"] for one in answers} == EXPECTED, run.stderr[-4000:]
