"""A process that runs streams and kills itself: `killed_process.py <warehouse> <folder> <stream> <fault> <nth> …`,
with the names of the streams to run.

A query of each stream takes the files of `<folder>/source`: `log` appends them to `lake.db.log`, `counted` to a table
with an identity column, and `state` upserts them into `lake.db.state` in update mode. The `nth` time that `stream`
comes to `fault` the process and its JVM are killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyspark.sql import SparkSession

from sessions import open_session
from sqlext.command.compaction import compaction
from sqlext.command.dml import row_write
from sqlext.streaming import batch_write, sink

SOURCE = "source"
# The tables, and the output modes of their queries.
MODES = {"log": "append", "state": "update", "counted": "append"}
SCHEMA = "id BIGINT, v STRING, _row_kind STRING"
# Claimed, its files not written; written, not staged; staged, not committed; committed, staged files not removed;
# removed, and Spark's log not written.
FAULTS = ("claimed", "written", "staged", "committed", "removed")
# The new files of a compaction written, not committed; committed. Not every batch comes to one.
COMPACTION_FAULTS = ("rewritten", "compacted")
# Files with values of an identity column are not staged: claimed; written, not committed; committed; as above.
COUNTED_FAULTS = ("claimed", "uncommitted", "committed", "removed")


def kill_at(stream: str, fault: str, nth: int) -> None:
    """Puts the kill between the steps of a batch's write."""
    left = [nth]

    def come_to(point: str, table: str) -> None:
        if (point, table) == (fault, stream):
            left[0] -= 1
            if left[0] == 0:
                os.killpg(os.getpid(), signal.SIGKILL)

    def around(owner: Any, name: str, before: str | None, after: str | None, table: Callable[..., str]) -> None:
        step = getattr(owner, name)

        def stepped(*given: Any, **named: Any) -> Any:
            if before is not None:
                come_to(before, table(*given))
            answer = step(*given, **named)
            if after is not None:
                come_to(after, table(*given))
            return answer

        setattr(owner, name, stepped)

    around(sink.StreamingSink, "_claimed", None, "claimed", lambda self, target, batch: batch.table.name)
    around(
        batch_write,
        "stage_batch",
        "written",
        "staged",
        lambda io, metadata, action: metadata.location.rpartition("/")[2],
    )
    around(row_write, "commit_change", "uncommitted", None, lambda environment, target, action: target.name.table)
    around(compaction, "commit_rewrite", "rewritten", None, lambda environment, target, *given: target.name.table)
    around(compaction, "_rewrite", None, "compacted", lambda environment, spark, target, *given: target.name.table)
    around(batch_write, "settle", "committed", "removed", lambda spark, batch, *given: batch.table.name)


def _last(location: str) -> str:
    return location.rpartition("/")[2]


def run(spark: SparkSession, folder: Path, source: str, namespace: str, table: str) -> None:
    """All batches there are of a source's files for a table."""
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / source))
    rows = rows if MODES[table] == "update" else rows.drop("_row_kind")
    known = str(checkpoint(folder, source, table))
    writer = rows.writeStream.outputMode(MODES[table]).option("checkpointLocation", known)
    writer.trigger(availableNow=True).toTable(f"{namespace}.{table}").awaitTermination()


def checkpoint(folder: Path, source: str, table: str) -> Path:
    """Where Spark keeps how far the query has come."""
    return folder / f"checkpoint-{source}-{table}"


if __name__ == "__main__":
    kill_at(sys.argv[3], sys.argv[4], int(sys.argv[5]))
    session = open_session(Path(sys.argv[1]))
    for name in sys.argv[6:]:
        run(session, Path(sys.argv[2]), SOURCE, "lake.db", name)
