"""Named consumers of a table's changes, whose progress is state of the table.

A consumer is a table property, which survives expiry, rollback and rename, and a tag at the snapshot where its stream
resumes, which protects that snapshot from every engine's expiry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stream_state import CONSUMER_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

_TAG_PREFIX = "sqlext-consumer-"
_VERSION = 1
# A consumer has its own expiration time, so its tag must not expire by the table's `history.expire.max-ref-age-ms`.
_FOR_EVER_MS = 2**63 - 1
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, slots=True)
class Consumer:
    """Progress of a consumer: changes up to `snapshot_id` (None: none) are consumed, and `needed_id` must not expire.

    `updated_ms` is the time of its last update, `branch` the branch that it reads.
    """

    snapshot_id: int | None
    needed_id: int | None
    updated_ms: int
    branch: str = MAIN_BRANCH

    def encode(self) -> str:
        """The value of the property."""
        value = {"snapshot": self.snapshot_id, "needed": self.needed_id, "at": self.updated_ms, "branch": self.branch}
        return json.dumps({"version": _VERSION, **value})

    def is_where(self, other: Consumer | None) -> bool:
        """Whether both have the same progress, at any time."""
        mine = (self.snapshot_id, self.needed_id, self.branch)
        return other is not None and mine == (other.snapshot_id, other.needed_id, other.branch)


def consumers(metadata: TableMetadata, name: str) -> Mapping[str, Consumer]:
    """The table's consumers by id. Raises CorruptionError CONSUMER_UNREADABLE for a property that does not parse."""
    return {consumer_id: _decoded(name, consumer_id, text) for consumer_id, text in _stored(metadata)}


def _stored(metadata: TableMetadata) -> Iterator[tuple[str, str]]:
    for key, text in sorted(metadata.properties.items()):
        if key.startswith(CONSUMER_PREFIX):
            yield key.removeprefix(CONSUMER_PREFIX), text


def _decoded(name: str, consumer_id: str, text: str) -> Consumer:
    try:
        value = json.loads(text)
        if value["version"] != _VERSION:
            raise ValueError(f"its version is {value['version']}")
        ids = [None if value[key] is None else int(value[key]) for key in ("snapshot", "needed")]
        return Consumer(ids[0], ids[1], int(value["at"]), str(value["branch"]))
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptionError("CONSUMER_UNREADABLE", name=name, consumer=consumer_id, reason=error) from None


def tags_of_expired_consumers(metadata: TableMetadata, now_ms: int) -> frozenset[str]:
    """The tags that no longer protect a snapshot. One of a consumer that cannot be read protects it."""
    found = set()
    for consumer_id, text in _stored(metadata):
        with suppress(CorruptionError):
            tag = metadata.refs.get(_TAG_PREFIX + consumer_id)
            is_tag = tag is not None and tag.type == "tag"
            if is_tag and is_expired(metadata, _decoded("", consumer_id, text), now_ms):
                found.add(_TAG_PREFIX + consumer_id)
    return frozenset(found)


def is_expired(metadata: TableMetadata, consumer: Consumer, now_ms: int) -> bool:
    """Whether the last update is older than `consumer.expiration-time`, so that the consumer protects no snapshot."""
    expiration_ms = CONSUMER_EXPIRATION.of(metadata.properties)
    return expiration_ms is not None and consumer.updated_ms + expiration_ms < now_ms


def require_consumer_id(consumer_id: str) -> None:
    """Raises AnalysisError INVALID_CONSUMER_ID for an id that cannot be part of a tag's name."""
    if _ID.fullmatch(consumer_id) is None:
        raise AnalysisError("INVALID_CONSUMER_ID", consumer=consumer_id)


@dataclass(frozen=True, slots=True)
class MoveConsumer:
    """Sets a consumer's progress, or with None removes the consumer and its tag. The last writer wins."""

    consumer_id: str
    to: Consumer | None

    def begin(self, context: CommitContext) -> MoveConsumer:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a consumer is one of a table")
        name, tag = CONSUMER_PREFIX + self.consumer_id, _TAG_PREFIX + self.consumer_id
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
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertRefSnapshotId(tag, None if known is None else known.snapshot_id),
        )
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""
