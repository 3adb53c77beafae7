"""DESCRIBE HISTORY and DESCRIBE DETAIL, with Delta's names of what Iceberg has too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import load_target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.branch_move import ancestors
from sqlext.description.described_table import committer
from sqlext.procedure.describe_table import described
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.sql.statements.description_statement import DescribeDetail, DescribeHistory

_TEXTS: Any = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
_NAMES: Any = {"type": "array", "elementType": "string", "containsNull": True}
DESCRIBE_HISTORY_COLUMNS = (
    ("version", "long"),
    ("timestamp", "timestamp"),
    ("operation", "string"),
    ("operationMetrics", _TEXTS),
    ("readVersion", "long"),
    ("engineInfo", "string"),
)
DESCRIBE_DETAIL_COLUMNS = (
    ("format", "string"),
    ("id", "string"),
    ("name", "string"),
    ("description", "string"),
    ("location", "string"),
    ("lastModified", "timestamp"),
    ("partitionColumns", _NAMES),
    ("clusteringColumns", _NAMES),
    ("numFiles", "long"),
    ("sizeInBytes", "long"),
    ("properties", _TEXTS),
    ("formatVersion", "integer"),
)
_MICROSECONDS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def describe_history(environment: Environment, spark: SparkSession, statement: DescribeHistory) -> Outcome:
    """Runs the statement: a row for each snapshot of main, or of the branch in the name, newest first."""
    target = load_target(environment, spark, statement.table)
    line = list(ancestors(target.table.metadata, target.version.snapshot))
    return Outcome([_history_row(one) for one in line[: statement.most]])


def describe_detail(environment: Environment, spark: SparkSession, statement: DescribeDetail) -> Outcome:
    """Runs the statement; one row. Files and bytes are those of the data files of main, or of the branch in the
    name."""
    table = described(environment, spark, statement.table, commits=1)
    updated = datetime.fromisoformat(table.updated_at.replace("Z", "+00:00"))
    row = [
        "iceberg",
        table.uuid,
        table.name,
        table.comment,
        table.location,
        (updated - _EPOCH) // timedelta(microseconds=1),
        list(table.partitioned_by),
        list(table.ordered_by),
        table.contents.data_files,
        table.contents.bytes,
        {one.name: one.value for one in table.settings},
        table.format_version,
    ]
    return Outcome([row])


def _history_row(snapshot: Snapshot) -> Sequence[Any]:
    return [
        snapshot.snapshot_id,
        snapshot.timestamp_ms * _MICROSECONDS,
        snapshot.operation,
        {name: text for name, text in snapshot.summary.items() if name != "operation"},
        snapshot.parent_snapshot_id,
        committer(snapshot.summary) or None,
    ]
