"""A stream of JSON files, one a batch, whose checkpoint a test may meddle with as a crash would."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

_FIRST_FILE_S = 1_700_000_000


def write_file(folder: Path, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """A file of the stream. Spark takes files by their times, which those written at once would have in common."""
    path = folder / f"{number:05}.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (_FIRST_FILE_S + number, _FIRST_FILE_S + number))


class JsonStream:
    """Files in a folder; `run` takes all that are new to the checkpoint, a batch each, and returns."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        self._spark = spark
        self._schema = schema
        self._files = 0
        self.source = folder / "source"
        self.checkpoint = folder / "checkpoint"
        self.source.mkdir(parents=True)

    def put(self, *rows: Mapping[str, Any]) -> None:
        """The next file."""
        self._files += 1
        write_file(self.source, self._files, rows)

    def frame(self) -> DataFrame:
        """The stream, before it is written anywhere."""
        reader = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.source))

    def run(self, table: str, mode: str = "append", rows: DataFrame | None = None, **options: str) -> StreamingQuery:
        """Runs the batches there are; a failure of one is raised."""
        writer = (self.frame() if rows is None else rows).writeStream.outputMode(mode)
        named = {name.replace("_", "-"): value for name, value in options.items()}
        writer = writer.option("checkpointLocation", str(self.checkpoint)).options(**named)
        query = writer.trigger(availableNow=True).toTable(table)
        query.awaitTermination()
        return query

    def forget_commit_of(self, batch: int) -> None:
        """As if the process had gone down after the table's commit and before Spark's own log."""
        for path in (self.checkpoint / "commits").glob(f"*{batch}*"):
            path.unlink()

    def kept_checkpoint(self, folder: Path) -> None:
        """Copies the checkpoint as it is."""
        shutil.copytree(self.checkpoint, folder)

    def put_back(self, folder: Path) -> None:
        """Puts a copy in the checkpoint's place."""
        shutil.rmtree(self.checkpoint)
        shutil.copytree(folder, self.checkpoint)


def folded(events: Sequence[Mapping[str, Any]], key: str = "id") -> dict[Any, Any]:
    """The model: what a keyed table holds after the events, by key, without the kinds."""
    table: dict[Any, Any] = {}
    for event in events:
        row = {name: value for name, value in event.items() if name != "_row_kind"}
        if event.get("_row_kind", "+I") in ("+I", "+U"):
            table[event[key]] = row
        else:
            table.pop(event[key], None)
    return table
