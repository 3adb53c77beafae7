"""expire_partitions: removes partitions whose time is long ago, with Paimon's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.maintenance.expired_partitions import expire_partitions as expire
from sqlext.commit.rules.retention_rules import partition_retention
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.properties import (
    PARTITION_EXPIRATION_MAX,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from sqlext.sql.statements.statement import TableName

_PROPERTIES = {
    "expiration_time": PARTITION_EXPIRATION_TIME.name,
    "timestamp_formatter": PARTITION_TIMESTAMP_FORMATTER.name,
    "timestamp_pattern": PARTITION_TIMESTAMP_PATTERN.name,
    "expire_strategy": PARTITION_EXPIRATION_STRATEGY.name,
    "max_expires": PARTITION_EXPIRATION_MAX.name,
}


def expire_partitions(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: the removed partitions, the oldest first. An argument stands for the table's property.

    Raises AnalysisError INVALID_RETENTION or INVALID_TABLE_PROPERTY.
    """
    arguments = invocation.arguments
    name, metadata = TableName(invocation.table_parts(arguments["table"])), invocation.load(arguments["table"]).metadata
    given = {known: str(arguments[one]) for one, known in _PROPERTIES.items() if arguments[one] is not None}
    retention = partition_retention(metadata.spec(), {**metadata.properties, **given}, str(name))
    if retention is None:
        raise EXPIRE_PARTITIONS.refused(
            f"expiration_time is not given, and the table has no {_PROPERTIES['expiration_time']}"
        )
    return [[path] for path in expire(invocation.environment, invocation.spark, name, retention)]


EXPIRE_PARTITIONS = Procedure(
    "expire_partitions",
    (
        Parameter("table", "string"),
        Parameter("expiration_time", "string", required=False),
        Parameter("timestamp_formatter", "string", required=False),
        Parameter("timestamp_pattern", "string", required=False),
        Parameter("expire_strategy", "string", required=False),
        Parameter("max_expires", "integer", required=False),
    ),
    (("expired_partitions", "string"),),
    expire_partitions,
)
