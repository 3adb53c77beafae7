"""Appending data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class AppendFiles:
    """Appends data files; it reads nothing, so no commit conflicts with it. If `owned`, a failure deletes them."""

    files: Sequence[ContentFile]
    summary_properties: Mapping[str, str] = field(default_factory=dict)
    owned: bool = True

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(self, context)

    def change(self) -> FileChange:
        return FileChange(
            "append", tuple(self.files), summary_properties=self.summary_properties, owns_added=self.owned
        )

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        """Nothing to validate."""
