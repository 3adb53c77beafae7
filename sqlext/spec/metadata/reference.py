"""Branches and tags (spec: Snapshot References)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MAIN_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class SnapshotReference:
    """A branch or tag. Its retention fields override the table's properties; ages are in milliseconds."""

    snapshot_id: int
    type: Literal["branch", "tag"] = "branch"
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        obj: dict[str, Any] = {"snapshot-id": self.snapshot_id, "type": self.type}
        for name, value in (
            ("min-snapshots-to-keep", self.min_snapshots_to_keep),
            ("max-snapshot-age-ms", self.max_snapshot_age_ms),
            ("max-ref-age-ms", self.max_ref_age_ms),
        ):
            if value is not None:
                obj[name] = value
        return obj

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> SnapshotReference:
        """Raises ValueError for a type that is neither branch nor tag, KeyError for a missing field."""
        kind = obj["type"]
        if kind not in ("branch", "tag"):
            raise ValueError(f"{kind!r} is no type of snapshot reference")
        return cls(
            snapshot_id=obj["snapshot-id"],
            type=kind,
            min_snapshots_to_keep=obj.get("min-snapshots-to-keep"),
            max_snapshot_age_ms=obj.get("max-snapshot-age-ms"),
            max_ref_age_ms=obj.get("max-ref-age-ms"),
        )
