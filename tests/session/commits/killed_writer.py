"""Upserts by a process without a JVM, which is killed: `killed_writer.py WAREHOUSE TABLE NUMBER SEED`, of `lake.db`.

It prints a line before each.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from judges.counted_history import CountedHistory
from unit.command.lake import Lake


def main() -> None:
    warehouse, table, number, seed = sys.argv[1:]
    lake = Lake(Path(warehouse), seed=int.from_bytes(os.urandom(8), "big"))
    history = CountedHistory(int(number), int(seed), deletes=False)
    landed = history.landed({row[0]: row[1] for row in lake.rows(table)})
    while True:
        landed += 1
        print(landed, flush=True)
        lake.clock.now_ms = int(time.time() * 1000)
        rows = history.statement(landed)
        lake.upsert(table, id=list(rows), n=list(rows.values()))


if __name__ == "__main__":
    main()
