"""Snapshots of a table and the logs of table metadata (spec: Snapshots; Table Metadata Fields)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_KNOWN = frozenset(
    {
        "snapshot-id",
        "parent-snapshot-id",
        "sequence-number",
        "timestamp-ms",
        "manifest-list",
        "manifests",
        "summary",
        "schema-id",
        "first-row-id",
        "added-rows",
    }
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a table after one commit.

    `manifest_list` is empty in a snapshot of format version 1 that lists its manifests itself (`embedded_manifests`).
    `extra` has the fields unknown to sqlext.
    """

    snapshot_id: int
    parent_snapshot_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str
    summary: Mapping[str, str]
    schema_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    embedded_manifests: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def operation(self) -> str | None:
        """append, replace, overwrite or delete; None if the summary lacks it."""
        return self.summary.get("operation")

    def to_json(self, format_version: int = 2) -> dict[str, Any]:
        """The snapshot as a JSON object of table metadata, in version 1 without sequence number."""
        obj: dict[str, Any] = {}
        if format_version > 1:
            obj["sequence-number"] = self.sequence_number
        obj["snapshot-id"] = self.snapshot_id
        if self.parent_snapshot_id is not None:
            obj["parent-snapshot-id"] = self.parent_snapshot_id
        obj["timestamp-ms"] = self.timestamp_ms
        if self.summary:
            obj["summary"] = dict(self.summary)
        if self.embedded_manifests:
            obj["manifests"] = list(self.embedded_manifests)
        else:
            obj["manifest-list"] = self.manifest_list
        for name, value in (
            ("schema-id", self.schema_id),
            ("first-row-id", self.first_row_id),
            ("added-rows", self.added_rows),
        ):
            if value is not None:
                obj[name] = value
        obj.update(self.extra)
        return obj

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Snapshot:
        """Raises KeyError for a missing required field."""
        embedded = tuple(obj.get("manifests") or ())
        return cls(
            snapshot_id=obj["snapshot-id"],
            parent_snapshot_id=obj.get("parent-snapshot-id"),
            sequence_number=obj.get("sequence-number", 0),
            timestamp_ms=obj["timestamp-ms"],
            manifest_list=obj.get("manifest-list", "") if embedded else obj["manifest-list"],
            summary=dict(obj.get("summary") or {}),
            schema_id=obj.get("schema-id"),
            first_row_id=obj.get("first-row-id"),
            added_rows=obj.get("added-rows"),
            embedded_manifests=embedded,
            extra={name: value for name, value in obj.items() if name not in _KNOWN},
        )


def share_row_ids(parent: Snapshot | None, snapshot: Snapshot) -> bool:
    """Whether rows have ids in both snapshots; `parent` is None if there is none.

    In a table that was upgraded to format version 3, rows get their ids with the first snapshot after it.
    """
    return snapshot.first_row_id is not None and (parent is None or parent.first_row_id is not None)


@dataclass(frozen=True, slots=True)
class SnapshotLogEntry:
    """The time at which a snapshot became current."""

    timestamp_ms: int
    snapshot_id: int

    def to_json(self) -> dict[str, Any]:
        return {"timestamp-ms": self.timestamp_ms, "snapshot-id": self.snapshot_id}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> SnapshotLogEntry:
        return cls(obj["timestamp-ms"], obj["snapshot-id"])


@dataclass(frozen=True, slots=True)
class MetadataLogEntry:
    """A previous metadata file and its `last_updated_ms`."""

    timestamp_ms: int
    metadata_file: str

    def to_json(self) -> dict[str, Any]:
        return {"timestamp-ms": self.timestamp_ms, "metadata-file": self.metadata_file}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> MetadataLogEntry:
        return cls(obj["timestamp-ms"], obj["metadata-file"])
