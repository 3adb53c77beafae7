"""The builder of a streaming write: Spark's `writeStream` with the sink's options as methods of Flink's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True, slots=True)
class StreamWrite:
    """A streaming write that has not begun; each method gives another one with that set, and `to_table` begins it.

    What an option takes is known by the sink, which refuses the others when the first batch comes.
    """

    rows: DataFrame
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str = "append"
    times: Mapping[str, Any] = field(default_factory=dict)

    def set(self, option: str, value: object) -> StreamWrite:
        """Any option of the sink, by its name."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return replace(self, options={**self.options, option: text})

    def output_mode(self, mode: str) -> StreamWrite:
        """`append`, `update` or `complete`, as of Spark."""
        return replace(self, mode=mode)

    def upsert(self, enabled: bool = True) -> StreamWrite:
        """Rows replace those of their key."""
        return self.set("upsert-enabled", enabled)

    def overwrite(self, mode: str = "dynamic") -> StreamWrite:
        """`static`: each batch replaces all rows; `dynamic`: those of the partitions that it has rows for."""
        return self.set("overwrite-mode", mode)

    def equality_field_columns(self, *columns: str) -> StreamWrite:
        """The table's key, once more: another one is refused."""
        return self.set("equality-field-columns", ",".join(columns))

    def route_by(self, column: str, unknown: str | None = None) -> StreamWrite:
        """The column names the table of each row, in the namespace of the one that is written to.

        All tables get a batch in one commit. `unknown` is the table of rows whose own is not there: else they end the
        query.
        """
        routed = self.set("route-by", column)
        return routed if unknown is None else routed.set("route-unknown", unknown)

    def distribution_mode(self, mode: str) -> StreamWrite:
        """`none`, `hash` or `range`, as of the table's property `write.distribution-mode`."""
        return self.set("distribution-mode", mode)

    def write_parallelism(self, tasks: int) -> StreamWrite:
        """The number of tasks that write."""
        return self.set("write-parallelism", tasks)

    def target_file_size(self, size: int) -> StreamWrite:
        """In bytes."""
        return self.set("target-file-size-bytes", size)

    def to_branch(self, branch: str) -> StreamWrite:
        """The branch that is written, and not `main`."""
        return self.set("branch", branch)

    def set_snapshot_property(self, name: str, value: object) -> StreamWrite:
        """An entry of the summary of each snapshot."""
        return self.set(f"snapshot-property.{name}", value)

    def checkpoint(self, folder: str) -> StreamWrite:
        """Where Spark keeps how far the query has come."""
        return self.set("checkpointLocation", folder)

    def trigger(self, **times: Any) -> StreamWrite:
        """When batches are made, in the words of Spark's `DataStreamWriter.trigger`."""
        return replace(self, times=times)

    def to_table(self, name: str, query: str | None = None) -> StreamingQuery:
        """Begins the query, under the name `query` if there is one."""
        writer = self.rows.writeStream.outputMode(self.mode).options(**self.options)
        if self.times:
            writer = writer.trigger(**self.times)
        return writer.toTable(name, queryName=query) if query else writer.toTable(name)


def write_stream(rows: DataFrame) -> StreamWrite:
    """A streaming write of `rows`, an unbounded DataFrame."""
    return StreamWrite(rows)
