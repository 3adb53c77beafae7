"""consumers, drop_consumer and reset_consumer: who reads a table's changes, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.consumer import Consumer, MoveConsumer, is_expired, reader_of, require_consumer_id
from sqlext.commit.actions.consumer import consumers as consumers_of
from sqlext.errors import NotFoundError, UnsupportedError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.metadata.retention import unread
from sqlext.spec.metadata.table_metadata import TableMetadata

_COLUMNS = (
    ("consumer_id", "string"),
    ("snapshot_id", "long"),
    ("branch", "string"),
    ("updated_at", "string"),
    ("expired", "boolean"),
    ("query", "string"),
    ("unread_snapshots", "long"),
)


def consumers(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: each consumer, with the last snapshot that it has consumed whole, or null, the streaming query that said so
    last, and how many snapshots of its branch follow, null if its position is not in the history of the branch."""
    table = invocation.load(invocation.arguments["table"])
    return _rows(invocation, table)


def drop_consumer(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Drops the consumer and its tag, which keeps snapshots from expiry. Rows: the remaining consumers."""
    table, consumer_id = _named(invocation)
    _move(invocation, table, consumer_id, None)
    return _rows(invocation, invocation.load(invocation.arguments["table"]))


def reset_consumer(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Sets the consumer's position to the snapshot, by default the newest; a query that starts reads what follows it.

    A consumer that does not exist is created. Rows: all consumers. Raises NotFoundError SNAPSHOT_NOT_FOUND, and
    UnsupportedError CONSUMER_IS_QUERY for a query that has its position in its checkpoint.
    """
    table, consumer_id = invocation.load(invocation.arguments["table"]), invocation.arguments["consumer_id"]
    require_consumer_id(consumer_id)
    metadata = table.metadata
    known = consumers_of(metadata, invocation.arguments["table"]).get(consumer_id)
    if known is not None and known.is_query:
        raise UnsupportedError("CONSUMER_IS_QUERY", name=invocation.arguments["table"], consumer=consumer_id)
    wanted = invocation.arguments["snapshot_id"]
    head = metadata.current_snapshot() if known is None else metadata.head(known.branch)
    at = metadata.snapshot_or_none(wanted) if wanted is not None else head
    if wanted is not None and at is None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=wanted, name=invocation.arguments["table"])
    here = None if at is None else at.snapshot_id
    moved = Consumer(here, here, invocation.environment.clock())
    if known is not None:
        moved = replace(moved, branch=known.branch, query=known.query)
    _move(invocation, table, consumer_id, moved)
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
    found = consumers_of(table.metadata, invocation.arguments["table"])
    return [_row(table.metadata, consumer_id, consumer, now) for consumer_id, consumer in found.items()]


def _row(metadata: TableMetadata, consumer_id: str, consumer: Consumer, now_ms: int) -> Sequence[Any]:
    updated_at = datetime.fromtimestamp(consumer.updated_ms / 1000, timezone.utc).isoformat()
    ends = is_expired(metadata, consumer, now_ms)
    after = unread(metadata, reader_of(metadata, consumer_id, consumer, now_ms))
    count = None if after is None else len(after)
    return consumer_id, consumer.snapshot_id, consumer.branch, updated_at, ends, consumer.query, count


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
