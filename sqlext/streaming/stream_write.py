"""The builder of a streaming write: Spark's `writeStream` with the sink's options as methods, by Flink's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True, slots=True)
class StreamWrite:
    """A streaming write that is not started. Each method returns a changed copy; `to_table` starts the query.

    The sink validates the options at the first batch, see `sink_options`.
    """

    rows: DataFrame
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str = "append"
    times: Mapping[str, Any] = field(default_factory=dict)

    def set(self, option: str, value: object) -> StreamWrite:
        """Sets any option of the sink by name."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return replace(self, options={**self.options, option: text})

    def output_mode(self, mode: str) -> StreamWrite:
        """Spark's output mode: `append`, `update` or `complete`."""
        return replace(self, mode=mode)

    def upsert(self, enabled: bool = True) -> StreamWrite:
        """Has each row replace the row with its key."""
        return self.set("upsert-enabled", enabled)

    def overwrite(self, mode: str = "dynamic") -> StreamWrite:
        """`static`: each batch replaces all rows; `dynamic`: all rows of the partitions of its rows."""
        return self.set("overwrite-mode", mode)

    def equality_field_columns(self, *columns: str) -> StreamWrite:
        """The columns by which an upsert tells rows apart in a table without a primary key. If the table has one, they
        must be its columns: the query fails if it is another one."""
        return self.set("equality-field-columns", ",".join(columns))

    def route_by(self, column: str, unknown: str | None = None) -> StreamWrite:
        """Writes each row to the table that its value of `column` names, in the target's namespace.

        One commit has the whole batch. Rows whose table does not exist go to `unknown`; without it they fail the query.
        """
        routed = self.set("route-by", column)
        return routed if unknown is None else routed.set("route-unknown", unknown)

    def distribution_mode(self, mode: str) -> StreamWrite:
        """`none`, `hash` or `range`, instead of the table's property `write.distribution-mode`."""
        return self.set("distribution-mode", mode)

    def write_parallelism(self, tasks: int) -> StreamWrite:
        """The largest number of write tasks."""
        return self.set("write-parallelism", tasks)

    def target_file_size(self, size: int) -> StreamWrite:
        """The target size of data files in bytes."""
        return self.set("target-file-size-bytes", size)

    def to_branch(self, branch: str) -> StreamWrite:
        """Writes to a branch instead of `main`."""
        return self.set("branch", branch)

    def set_snapshot_property(self, name: str, value: object) -> StreamWrite:
        """Adds an entry to the summary of each snapshot."""
        return self.set(f"snapshot-property.{name}", value)

    def checkpoint(self, folder: str) -> StreamWrite:
        """The folder of the query's checkpoint."""
        return self.set("checkpointLocation", folder)

    def trigger(self, **times: Any) -> StreamWrite:
        """The trigger, with the arguments of Spark's `DataStreamWriter.trigger`."""
        return replace(self, times=times)

    def to_table(self, name: str, query: str | None = None) -> StreamingQuery:
        """Starts the query, under the name `query` if not None."""
        writer = self.rows.writeStream.outputMode(self.mode).options(**self.options)
        if self.times:
            writer = writer.trigger(**self.times)
        return writer.toTable(name, queryName=query) if query else writer.toTable(name)


def write_stream(rows: DataFrame) -> StreamWrite:
    """A streaming write of `rows`, an unbounded DataFrame.

    >>> events = spark.readStream.table("lake.db.events")
    >>> write = sqlext.write_stream(events).upsert().checkpoint(folder).trigger(availableNow=True)
    >>> write.to_table("lake.db.newest_events").awaitTermination()
    >>> spark.table("lake.db.newest_events").count()
    1
    """
    return StreamWrite(rows)
