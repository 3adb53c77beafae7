"""Checks of the state of streams, consumers and idempotent batches in a table's properties."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from sqlext.commit.actions.consumer import Consumer, consumer_tag, decode_consumer, is_expired, stored_consumers
from sqlext.commit.actions.stream_progress import StreamProgress
from sqlext.errors import CorruptionError
from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.spec.metadata.idempotent_batch import Batch
from sqlext.spec.metadata.stream_state import BATCH_PREFIX, PROGRESS_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

_CONSUMER = "CALL reset_consumer or drop_consumer"
_PROPERTY = "a new checkpoint for the stream, or a new application id for the batches"


def stream_state_findings(metadata: TableMetadata, location: str) -> Iterator[Finding]:
    """State that cannot be read, and consumers that cannot resume, in the metadata of the file at `location`."""
    for consumer_id, text in stored_consumers(metadata):
        try:
            consumer = decode_consumer(location, consumer_id, text)
        except CorruptionError as error:
            yield _unreadable(location, f"consumer {consumer_id}", error, _CONSUMER)
            continue
        # Its tag was removed by a commit, so no later than the last one.
        if not is_expired(metadata, consumer, metadata.last_updated_ms):
            for found, expected in _consumer_faults(metadata, consumer_id, consumer):
                yield Finding(Check.REFERENCE, location, found, expected, Severity.WARNING, way_out=_CONSUMER)
    for name in metadata.properties:
        try:
            if name.startswith(PROGRESS_PREFIX):
                StreamProgress.of(metadata, name.removeprefix(PROGRESS_PREFIX), location)
            elif name.startswith(BATCH_PREFIX):
                Batch(unquote(name.removeprefix(BATCH_PREFIX)), 0).last_run(metadata, location)
        except CorruptionError as error:
            yield _unreadable(location, f"property {name}", error, _PROPERTY)


def _unreadable(location: str, what: str, error: CorruptionError, way_out: str) -> Finding:
    found = f"{what}: {error.parameters['reason']}"
    return Finding(Check.UNREADABLE, location, found, "state that a stream can go on from", way_out=way_out)


def _consumer_faults(metadata: TableMetadata, consumer_id: str, consumer: Consumer) -> Iterator[tuple[str, str]]:
    branch = metadata.refs.get(consumer.branch)
    if metadata.snapshots and (branch is None or branch.type != "branch"):
        yield f"consumer {consumer_id} reads branch {consumer.branch}", "a branch of the table"
    if consumer.needed_id is None:
        return
    if metadata.snapshot_or_none(consumer.needed_id) is None:
        yield f"consumer {consumer_id} needs snapshot {consumer.needed_id}", "a snapshot of the table"
        return
    tag = metadata.refs.get(consumer_tag(consumer_id))
    if tag is None or tag.snapshot_id != consumer.needed_id:
        found = "no tag" if tag is None else f"tag {consumer_tag(consumer_id)} of snapshot {tag.snapshot_id}"
        yield (
            f"{found} for consumer {consumer_id}",
            f"a tag of snapshot {consumer.needed_id}, which it needs",
        )
