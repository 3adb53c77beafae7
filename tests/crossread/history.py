"""What a table's metadata file tells of its snapshots, read without any engine."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judges.pyiceberg_judge import latest_metadata

_PLACEHOLDER = re.compile(r"\{(parent|undone|any|ahead:(\w+))\}")


@dataclass(frozen=True, slots=True)
class History:
    """The snapshots and references of one metadata file."""

    location: str
    metadata: dict[str, Any]

    @classmethod
    def read(cls, table_folder: Path) -> History:
        return cls.of(latest_metadata(table_folder))

    @classmethod
    def of(cls, location: str) -> History:
        data = Path(location).read_bytes()
        return cls(location, json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))

    @property
    def format_version(self) -> int:
        return int(self.metadata["format-version"])

    @property
    def schemas(self) -> dict[int, dict[str, Any]]:
        return {one["schema-id"]: one for one in self.metadata["schemas"]}

    @property
    def specs(self) -> dict[int, dict[str, Any]]:
        return {one["spec-id"]: one for one in self.metadata["partition-specs"]}

    @property
    def snapshots(self) -> list[dict[str, Any]]:
        return list(self.metadata.get("snapshots") or ())

    @property
    def log(self) -> list[dict[str, Any]]:
        return list(self.metadata.get("snapshot-log") or ())

    @property
    def refs(self) -> dict[str, dict[str, Any]]:
        return dict(self.metadata.get("refs") or {})

    def head(self) -> int | None:
        found = self.metadata.get("current-snapshot-id")
        return None if found in (None, -1) else int(found)

    def snapshot(self, snapshot_id: int | None) -> dict[str, Any] | None:
        return next((one for one in self.snapshots if one["snapshot-id"] == snapshot_id), None)

    def behind(self, snapshot_id: int | None) -> Iterator[int]:
        """A snapshot and its ancestors, as far as they are still there."""
        parents = {one["snapshot-id"]: one.get("parent-snapshot-id") for one in self.snapshots}
        while snapshot_id in parents:
            yield int(snapshot_id)
            snapshot_id = parents[snapshot_id]

    def resolved(self, sql: str) -> str | None:
        """The statement with its placeholders filled in, or None where one names nothing."""
        for match in _PLACEHOLDER.finditer(sql):
            found = self._meant_by(match)
            if found is None:
                return None
            sql = sql.replace(match[0], found)
        return sql

    def _meant_by(self, match: re.Match[str]) -> str | None:
        head = self.head()
        if match[1] == "parent":
            return next((str(one) for one in list(self.behind(head))[1:2]), None)
        if match[1] == "undone":
            after = [one["snapshot-id"] for one in self.snapshots if one.get("parent-snapshot-id") == head]
            return str(after[-1]) if after and head is not None else None
        if match[1] == "any":
            return next((str(one["snapshot-id"]) for one in self.snapshots), None)
        branch = self.refs.get(match[2])
        return match[2] if branch and head in self.behind(branch["snapshot-id"]) else None
