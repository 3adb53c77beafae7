"""consumers, drop_consumer and reset_consumer: the named consumers of a table's changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.consumer import Consumer, MoveConsumer, is_expired, require_consumer_id
from sqlext.commit.actions.consumer import consumers as consumers_of
from sqlext.errors import NotFoundError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure

_COLUMNS = (
    ("consumer_id", "string"),
    ("snapshot_id", "long"),
    ("branch", "string"),
    ("updated_at", "string"),
    ("expired", "boolean"),
)


def consumers(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: each consumer, with the last snapshot that it has consumed whole, or null."""
    table = invocation.load(invocation.arguments["table"])
    return _rows(invocation, table)


def drop_consumer(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Drops the consumer and its tag, which keeps snapshots from expiry. Rows: the remaining consumers."""
    table, consumer_id = _named(invocation)
    _move(invocation, table, consumer_id, None)
    return _rows(invocation, invocation.load(invocation.arguments["table"]))


def reset_consumer(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Sets the consumer's position to the snapshot, by default the newest; a query that starts reads what follows it.

    A consumer that does not exist is created. Rows: all consumers. Raises NotFoundError SNAPSHOT_NOT_FOUND.
    """
    table, consumer_id = invocation.load(invocation.arguments["table"]), invocation.arguments["consumer_id"]
    require_consumer_id(consumer_id)
    metadata = table.metadata
    known = consumers_of(metadata, invocation.arguments["table"]).get(consumer_id)
    wanted = invocation.arguments["snapshot_id"]
    head = metadata.current_snapshot() if known is None else metadata.head(known.branch)
    at = metadata.snapshot_or_none(wanted) if wanted is not None else head
    if wanted is not None and at is None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=wanted, name=invocation.arguments["table"])
    here = None if at is None else at.snapshot_id
    moved = Consumer(here, here, invocation.environment.clock())
    _move(invocation, table, consumer_id, moved if known is None else replace(moved, branch=known.branch))
    return _rows(invocation, invocation.load(invocation.arguments["table"]))


def _named(invocation: Invocation) -> tuple[LoadedTable, str]:
    """Raises NotFoundError CONSUMER_NOT_FOUND."""
    table, consumer_id = invocation.load(invocation.arguments["table"]), str(invocation.arguments["consumer_id"])
    if consumer_id not in consumers_of(table.metadata, invocation.arguments["table"]):
        raise NotFoundError("CONSUMER_NOT_FOUND", name=invocation.arguments["table"], consumer=consumer_id)
    return table, consumer_id


def _move(invocation: Invocation, table: LoadedTable, consumer_id: str, to: Consumer | None) -> None:
    invocation.environment.commit(invocation.catalog, table, MoveConsumer(consumer_id, to))


def _rows(invocation: Invocation, table: LoadedTable) -> Sequence[Sequence[Any]]:
    now = invocation.environment.clock()
    return [
        (
            consumer_id,
            consumer.snapshot_id,
            consumer.branch,
            datetime.fromtimestamp(consumer.updated_ms / 1000, timezone.utc).isoformat(),
            is_expired(table.metadata, consumer, now),
        )
        for consumer_id, consumer in consumers_of(table.metadata, invocation.arguments["table"]).items()
    ]


CONSUMERS = Procedure("consumers", (Parameter("table", "string"),), _COLUMNS, consumers)
DROP_CONSUMER = Procedure(
    "drop_consumer", (Parameter("table", "string"), Parameter("consumer_id", "string")), _COLUMNS, drop_consumer
)
RESET_CONSUMER = Procedure(
    "reset_consumer",
    (
        Parameter("table", "string"),
        Parameter("consumer_id", "string"),
        Parameter("snapshot_id", "bigint", required=False),
    ),
    _COLUMNS,
    reset_consumer,
)
