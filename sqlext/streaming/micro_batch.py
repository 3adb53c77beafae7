"""A micro-batch as Spark passes it to the sink, and its target table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.change.destination import written_table
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.dml.write_mode import Mode, with_options
from sqlext.command.environment import Environment
from sqlext.errors import ValidationConflict
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.streaming.routed_batch import BATCH_ID, QUERY_ID
from sqlext.streaming.sink_options import SinkOptions, sink_options

COMMIT_USER = "sqlext.commit-user"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """`in_order`: rows are in the order of the source's tasks. `trigger_ms`: the interval of the query's trigger in
    milliseconds, None if it has none."""

    table: TableHandle
    query_id: str
    run_id: str
    batch_id: int
    output_mode: str
    in_order: bool
    checkpoint: str
    trigger_ms: int | None
    options: SinkOptions

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> MicroBatch:
        """From the arguments of the shim. Raises as `sink_options`."""
        return cls(
            TableHandle.decode(arguments["table"]),
            arguments["query_id"],
            arguments["run_id"],
            arguments["batch_id"],
            arguments["output_mode"],
            arguments["in_order"],
            arguments["checkpoint"],
            arguments["trigger_ms"],
            sink_options(arguments["options"]),
        )

    @property
    def mode(self) -> Mode:
        """Which of the table's rows the batch replaces."""
        if self.output_mode == "complete" or self.options.overwrite == "static":
            return "overwrite"
        return "overwrite partitions" if self.options.overwrite == "dynamic" else "append"

    @property
    def how(self) -> str:
        """The settings that the batch's action depends on: files staged with others are not committed."""
        options = self.options
        how = f"{self.output_mode} {options.overwrite} {options.write.upsert} {options.write.branch}"
        return how if options.route_by is None else f"{how} by {options.route_by}"

    def target(self, environment: Environment, spark: SparkSession) -> Target:
        """The newest version of the table. Raises ValidationConflict STREAM_TABLE_REPLACED for another table of this
        name."""
        name = written_table(self.table)
        target = with_options(load_target(environment, spark, name, self.options.write.branch), self.options.write)
        if target.table.metadata.table_uuid != self.table.table_uuid:
            stream = f"The streaming query {self.query_id}"
            raise ValidationConflict("STREAM_TABLE_REPLACED", name=name, query=self.query_id, stream=stream)
        summary = (
            *target.destination.summary,
            (QUERY_ID, self.query_id),
            (BATCH_ID, str(self.batch_id)),
            (COMMIT_USER, str(spark.sparkContext.sparkUser())),
        )
        return replace(target, destination=replace(target.destination, summary=summary))
