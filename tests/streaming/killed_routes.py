"""A process that streams into two tables and kills itself: `killed_routes.py <warehouse> <folder> <point> <nth>`.

The query takes the files of `<folder>/source`; `kind` names the table of a row. The `nth` batch that comes to `point`
is the last: `written`, its rows are, and nothing is committed; `committed`, it is, and Spark's log does not know.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sessions import open_session
from sqlext.streaming import batch_write, routed_batch

POINTS = ("written", "committed")


def kill_at(point: str, nth: int) -> None:
    """Puts the kill before a step."""
    owner, name = {"written": (routed_batch, "commit_change"), "committed": (batch_write, "settle")}[point]
    step, left = getattr(owner, name), [nth]

    def stepped(*given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.killpg(os.getpid(), signal.SIGKILL)
        return step(*given)

    setattr(owner, name, stepped)


if __name__ == "__main__":
    if sys.argv[3] in POINTS:
        kill_at(sys.argv[3], int(sys.argv[4]))
    session, folder = open_session(Path(sys.argv[1])), Path(sys.argv[2])
    rows = session.readStream.schema("kind STRING, k INT, n INT").option("maxFilesPerTrigger", 1)
    writer = rows.json(str(folder / "source")).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writer.option("route-by", "kind").trigger(availableNow=True).toTable("lake.db.log").awaitTermination()
