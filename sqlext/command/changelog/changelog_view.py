"""Temporary views of the changes between two snapshots, with Iceberg's bounds and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spec.field_path import FieldPath
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.lowering.changelog_view import lower_net_rows, lower_rows, lower_updates
from sqlext.sql.lowering.changes import ChangeStep, lower_changes
from sqlext.sql.tokens.quoting import quote_identifier


@dataclass(frozen=True, slots=True)
class ChangelogBounds:
    """The changes after the snapshot `start_snapshot_id`, or the last that was made until `start_timestamp`, up to
    `end_snapshot_id`, or the last until `end_timestamp`. Without a start they begin with the oldest snapshot, without
    an end they reach to the newest. Timestamps are in milliseconds since 1970."""

    start_snapshot_id: int | None = None
    start_timestamp: int | None = None
    end_snapshot_id: int | None = None
    end_timestamp: int | None = None


def create_changelog_view(
    environment: Environment,
    spark: SparkSession,
    parts: tuple[str, ...],
    view: str,
    bounds: ChangelogBounds,
    *,
    identifiers: Sequence[FieldPath] = (),
    net: bool = False,
) -> None:
    """Creates the temporary view `view` of the session, or replaces it.

    `parts` names a table or a branch of it. With `identifiers`, paths of fields, deletes and inserts of one snapshot
    with equal values of them are updates; with `net` only what is left of all changes together is in the view.

    Raises NotFoundError SNAPSHOT_NOT_FOUND, AnalysisError CHANGES_NOT_BEHIND, CHANGES_EXPIRED or CHANGES_OF_NO_TABLE.
    """
    feed = ChangeFeed(environment)
    handle, metadata = feed.table(parts)
    schema = metadata.schema()
    # Updates are found by `identifiers` alone.
    changes = lower_changes(_steps(feed, handle, metadata, bounds), replace(schema, identifier_field_ids=()))
    if net:
        text = lower_net_rows(changes, schema)
    else:
        text = lower_updates(changes, schema, identifiers) if identifiers else lower_rows(changes, schema)
    log_lowered(text)
    lowered_query(spark, text).createOrReplaceTempView(quote_identifier(view))


def _steps(
    feed: ChangeFeed, handle: TableHandle, metadata: TableMetadata, bounds: ChangelogBounds
) -> Sequence[ChangeStep]:
    end = _end(feed, handle, metadata, bounds)
    if end is None:
        return [feed.nothing(handle)]
    line = list(ancestors(metadata, end))
    start = _start(handle, line, bounds)
    if start == line[-1].parent_snapshot_id:
        return _from_oldest(feed, handle, metadata, line[-1], end)
    assert start is not None
    return feed.steps(handle, metadata, _snapshot(handle, metadata, start), end, net=False)


def _end(feed: ChangeFeed, handle: TableHandle, metadata: TableMetadata, bounds: ChangelogBounds) -> Snapshot | None:
    """The newest snapshot of the changes; None if there is none until the end."""
    if bounds.end_snapshot_id is not None:
        return _snapshot(handle, metadata, bounds.end_snapshot_id)
    head = feed.head(handle)
    if head is None or bounds.end_timestamp is None:
        return head
    return _last_until(bounds.end_timestamp, list(ancestors(metadata, head)))


def _start(handle: TableHandle, line: Sequence[Snapshot], bounds: ChangelogBounds) -> int | None:
    """The id of the snapshot after which the changes up to the first of `line` begin, which may have expired; None for
    the beginning of the table."""
    beginning = line[-1].parent_snapshot_id
    if bounds.start_snapshot_id is not None:
        return bounds.start_snapshot_id
    if bounds.start_timestamp is None:
        return beginning
    found = _last_until(bounds.start_timestamp, line)
    if found is None and beginning is not None:
        raise AnalysisError("CHANGES_EXPIRED", name=handle.full_name, start=beginning, end=line[0].snapshot_id)
    return beginning if found is None else found.snapshot_id


def _last_until(timestamp_ms: int, line: Sequence[Snapshot]) -> Snapshot | None:
    return next((one for one in line if one.timestamp_ms <= timestamp_ms), None)


def _from_oldest(
    feed: ChangeFeed, handle: TableHandle, metadata: TableMetadata, oldest: Snapshot, end: Snapshot
) -> Sequence[ChangeStep]:
    """The changes of the oldest snapshot and of those after it. If its parent has expired, they are known only if it
    added files, and files have sequence numbers that tell which."""
    if oldest.parent_snapshot_id is None:
        return feed.steps(handle, metadata, None, end, net=False)
    first = []
    if oldest.operation == "append" and oldest.sequence_number > 0:
        first = [feed.append_step(handle, oldest, 0)]
    elif oldest.operation != "replace":
        start = oldest.parent_snapshot_id
        raise AnalysisError("CHANGES_EXPIRED", name=handle.full_name, start=start, end=end.snapshot_id)
    later = feed.steps(handle, metadata, oldest, end, net=False)
    return [*first, *(replace(step, ordinal=step.ordinal + len(first)) for step in later)]


def _snapshot(handle: TableHandle, metadata: TableMetadata, id: int) -> Snapshot:
    found = metadata.snapshot_or_none(id)
    if found is None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=id, name=handle.full_name)
    return found
