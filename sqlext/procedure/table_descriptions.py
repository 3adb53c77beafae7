"""DESCRIBE HISTORY and DESCRIBE DETAIL, with Delta's names of what Iceberg has too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import quoted
from sqlext.command.change.row_level import load_target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.description.described_table import committer, contents, ordering, partitioning, shown_settings
from sqlext.procedure.target_state import state_of
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
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
_MICROSECONDS_PER_MILLISECOND = 1_000


def describe_history(environment: Environment, spark: SparkSession, statement: DescribeHistory) -> Outcome:
    """Runs the statement: a row for each snapshot of main, or of the branch in the name, newest first."""
    target = load_target(environment, spark, statement.table)
    line = ancestors(target.table.metadata, target.version.snapshot)
    return Outcome([_history_row(one) for one in islice(line, statement.most)])


def describe_detail(environment: Environment, spark: SparkSession, statement: DescribeDetail) -> Outcome:
    """Runs the statement; one row. Files and bytes are those of the data files of main, or of the branch in the
    name."""
    target = load_target(environment, spark, statement.table)
    metadata, held = target.table.metadata, contents(state_of(environment, target))
    row = [
        "iceberg",
        metadata.table_uuid,
        quoted(*statement.table.parts),
        metadata.properties.get("comment"),
        metadata.location,
        _instant(metadata.last_updated_ms),
        list(partitioning(metadata)),
        list(ordering(metadata)),
        held.data_files,
        held.bytes,
        dict(shown_settings(metadata)),
        metadata.format_version,
    ]
    return Outcome([row])


def _history_row(snapshot: Snapshot) -> Sequence[Any]:
    return [
        snapshot.snapshot_id,
        _instant(snapshot.timestamp_ms),
        snapshot.operation,
        {name: text for name, text in snapshot.summary.items() if name != "operation"},
        snapshot.parent_snapshot_id,
        committer(snapshot.summary) or None,
    ]


def _instant(milliseconds: int) -> int:
    """A TIMESTAMP as the shim takes it: microseconds since 1970."""
    return milliseconds * _MICROSECONDS_PER_MILLISECOND
