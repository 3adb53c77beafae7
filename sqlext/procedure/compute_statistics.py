"""compute_table_stats and compute_partition_stats: files of statistics for the optimisers of engines that read the
table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.maintenance.partition_statistics import compute_partition_statistics
from sqlext.command.maintenance.table_statistics import compute_statistics
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def compute_table_stats(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the location of the statistics file; no row for a table without a snapshot. Raises as `compute_statistics`,
    and AnalysisError for an argument."""
    arguments = invocation.arguments
    columns = arguments["columns"]
    if columns is not None and not columns:
        raise COMPUTE_TABLE_STATS.refused("columns is empty")
    location = compute_statistics(
        invocation.environment,
        invocation.spark,
        invocation.catalog,
        invocation.load(arguments["table"]),
        arguments["snapshot_id"],
        None if columns is None else [(column,) for column in columns],
    )
    return [] if location is None else [(location,)]


def compute_partition_stats(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the location of the statistics file; no row for a table without a snapshot, and for a snapshot without
    files. Raises as `compute_partition_statistics`."""
    table = invocation.load(invocation.arguments["table"])
    snapshot_id = invocation.arguments["snapshot_id"]
    location = compute_partition_statistics(invocation.environment, invocation.catalog, table, snapshot_id)
    return [] if location is None else [(location,)]


COMPUTE_TABLE_STATS = Procedure(
    "compute_table_stats",
    (
        Parameter("table", "string"),
        Parameter("snapshot_id", "bigint", required=False),
        Parameter("columns", "array<string>", required=False),
    ),
    (("statistics_file", "string"),),
    compute_table_stats,
)
COMPUTE_PARTITION_STATS = Procedure(
    "compute_partition_stats",
    (Parameter("table", "string"), Parameter("snapshot_id", "bigint", required=False)),
    (("partition_statistics_file", "string"),),
    compute_partition_stats,
)
