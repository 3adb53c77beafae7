"""Consumers of a table's changes, whose progress is state of the table.

A consumer is a table property, which survives expiry, rollback and rename, and a tag at the snapshot where its stream
resumes, which protects that snapshot from every engine's expiry. sqlext's own also keeps the snapshots after it.

A consumer has a name that its user chose, or is a streaming query that has none: its position is in its checkpoint, and
the table is told of it only so that it is not expired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.errors import AnalysisError, CorruptionError
from sqlext.properties import CONSUMER_EXPIRATION
from sqlext.spec.metadata.metadata_update import (
    MetadataUpdate,
    RemoveProperties,
    RemoveSnapshotRef,
    SetProperties,
    SetSnapshotRef,
)
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.retention import Reader
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stream_state import CONSUMER_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

_TAG_PREFIX = "sqlext-consumer-"
_VERSION = 1
# A consumer has its own expiration time, so its tag must not expire by the table's `history.expire.max-ref-age-ms`.
_FOR_EVER_MS = 2**63 - 1
_DAY_MS = 24 * 60 * 60 * 1000
# So long after its last update a consumer is taken to read on, where `consumer.expiration-time` is not set: as long as
# snapshots are kept by default.
_HEARD_MS = 5 * _DAY_MS
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, slots=True)
class Consumer:
    """Progress of a consumer: changes up to `snapshot_id` (None: none) are consumed, and `needed_id` must not expire.

    `updated_ms` is the time of its last update, `branch` the branch that it reads. `query` is the name or id of the
    streaming query that set it last. With `is_query` the consumer is that query, and has no name of its own.
    """

    snapshot_id: int | None
    needed_id: int | None
    updated_ms: int
    branch: str = MAIN_BRANCH
    query: str | None = None
    is_query: bool = False

    def encode(self) -> str:
        """The value of the property."""
        value: dict[str, object] = {"snapshot": self.snapshot_id, "needed": self.needed_id, "at": self.updated_ms}
        value["branch"] = self.branch
        if self.query is not None:
            value["query"] = self.query
        if self.is_query:
            value["is-query"] = True
        return json.dumps({"version": _VERSION, **value})

    def is_where(self, other: Consumer | None) -> bool:
        """Whether both have the same progress, at any time."""
        mine = (self.snapshot_id, self.needed_id, self.branch)
        return other is not None and mine == (other.snapshot_id, other.needed_id, other.branch)


def consumers(metadata: TableMetadata, name: str) -> Mapping[str, Consumer]:
    """The table's consumers by id. Raises CorruptionError CONSUMER_UNREADABLE for a property that does not parse."""
    return {consumer_id: decode_consumer(name, consumer_id, text) for consumer_id, text in stored_consumers(metadata)}


def consumer_or_none(metadata: TableMetadata, name: str, consumer_id: str) -> Consumer | None:
    """The consumer of that id, if the table has it. Raises CorruptionError CONSUMER_UNREADABLE."""
    text = metadata.properties.get(CONSUMER_PREFIX + consumer_id)
    return None if text is None else decode_consumer(name, consumer_id, text)


def stored_consumers(metadata: TableMetadata) -> Iterator[tuple[str, str]]:
    """The ids of the table's consumers, each with the value of its property."""
    for key, text in sorted(metadata.properties.items()):
        if key.startswith(CONSUMER_PREFIX):
            yield key.removeprefix(CONSUMER_PREFIX), text


def decode_consumer(name: str, consumer_id: str, text: str) -> Consumer:
    """The consumer of a property's value. Raises CorruptionError CONSUMER_UNREADABLE."""
    try:
        value = json.loads(text)
        if value["version"] != _VERSION:
            raise ValueError(f"its version is {value['version']}")
        ids = [None if value[key] is None else int(value[key]) for key in ("snapshot", "needed")]
        query = value.get("query")
        return Consumer(
            ids[0],
            ids[1],
            int(value["at"]),
            str(value["branch"]),
            None if query is None else str(query),
            value.get("is-query") is True,
        )
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptionError("CONSUMER_UNREADABLE", name=name, consumer=consumer_id, reason=error) from None


def consumer_tag(consumer_id: str) -> str:
    """The tag that protects the snapshot at which a consumer resumes."""
    return _TAG_PREFIX + consumer_id


def _readable(metadata: TableMetadata) -> Iterator[tuple[str, Consumer]]:
    for consumer_id, text in stored_consumers(metadata):
        with suppress(CorruptionError):
            yield consumer_id, decode_consumer("", consumer_id, text)


def tags_of_expired_consumers(metadata: TableMetadata, now_ms: int) -> frozenset[str]:
    """The tags that no longer protect a snapshot. One of a consumer that cannot be read protects it."""
    found = set()
    for consumer_id, consumer in _readable(metadata):
        tag = metadata.refs.get(consumer_tag(consumer_id))
        if tag is not None and tag.type == "tag" and is_expired(metadata, consumer, now_ms):
            found.add(consumer_tag(consumer_id))
    return frozenset(found)


def ended_queries(metadata: TableMetadata, now_ms: int) -> tuple[str, ...]:
    """The ids of expired consumers that are queries without a name, and so of no use to anyone."""
    return tuple(
        consumer_id
        for consumer_id, consumer in _readable(metadata)
        if consumer.is_query and is_expired(metadata, consumer, now_ms)
    )


def readers(metadata: TableMetadata, now_ms: int) -> Sequence[Reader]:
    """The consumers that protect snapshots. One that was not heard of for long protects its position alone, so that it
    does not keep all history for ever."""
    return [
        reader_of(metadata, consumer_id, consumer, now_ms)
        for consumer_id, consumer in _readable(metadata)
        if not is_expired(metadata, consumer, now_ms)
    ]


def reader_of(metadata: TableMetadata, consumer_id: str, consumer: Consumer, now_ms: int) -> Reader:
    """What a consumer protects, that has not expired."""
    reads_on = consumer.updated_ms + heard_ms(metadata) >= now_ms
    return Reader(consumer_id, consumer_tag(consumer_id), consumer.branch, consumer.needed_id, reads_on)


def heard_ms(metadata: TableMetadata) -> int:
    """So long after its last update a consumer is taken to read on, in milliseconds."""
    expiration_ms = CONSUMER_EXPIRATION.of(metadata.properties)
    return _HEARD_MS if expiration_ms is None else expiration_ms


def is_expired(metadata: TableMetadata, consumer: Consumer, now_ms: int) -> bool:
    """Whether the consumer protects no snapshot, as its last update is older than `consumer.expiration-time`, which is
    five days for a query without a name and unlimited for others if the table does not have it."""
    is_unlimited = CONSUMER_EXPIRATION.of(metadata.properties) is None and not consumer.is_query
    return not is_unlimited and consumer.updated_ms + heard_ms(metadata) < now_ms


def require_consumer_id(consumer_id: str) -> None:
    """Raises AnalysisError INVALID_CONSUMER_ID for an id that cannot be part of a tag's name."""
    if _ID.fullmatch(consumer_id) is None:
        raise AnalysisError("INVALID_CONSUMER_ID", consumer=consumer_id)


@dataclass(frozen=True, slots=True)
class MoveConsumer:
    """Sets a consumer's progress, or with None removes the consumer and its tag. The last writer wins.

    A query without a name also removes those that have expired, so that queries which run once do not add up.
    """

    consumer_id: str
    to: Consumer | None

    def begin(self, context: CommitContext) -> MoveConsumer:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a consumer is one of a table")
        name, tag = CONSUMER_PREFIX + self.consumer_id, consumer_tag(self.consumer_id)
        known = base.refs.get(tag)
        updates: list[MetadataUpdate] = []
        if self.to is not None:
            updates.append(SetProperties({name: self.to.encode()}))
        elif name in base.properties:
            updates.append(RemoveProperties((name,)))
        needed = None if self.to is None else self.to.needed_id
        if needed is not None and base.snapshot_or_none(needed) is not None:
            if known is None or known.snapshot_id != needed:
                updates.append(SetSnapshotRef(tag, SnapshotReference(needed, "tag", max_ref_age_ms=_FOR_EVER_MS)))
        elif known is not None:
            updates.append(RemoveSnapshotRef(tag))
        if self.to is not None and self.to.is_query:
            ended = ended_queries(base, self.to.updated_ms)
            updates.extend(removals(base, [one for one in ended if one != self.consumer_id]))
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertRefSnapshotId(tag, None if known is None else known.snapshot_id),
        )
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


def removals(metadata: TableMetadata, consumer_ids: Sequence[str]) -> Iterator[MetadataUpdate]:
    """The updates that remove these consumers and their tags."""
    if consumer_ids:
        yield RemoveProperties(tuple(CONSUMER_PREFIX + one for one in consumer_ids))
    for tag in map(consumer_tag, consumer_ids):
        if tag in metadata.refs:
            yield RemoveSnapshotRef(tag)
