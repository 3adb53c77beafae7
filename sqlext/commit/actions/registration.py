"""Creating a table from existing metadata: registration, and copies that share data files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.properties import DATA_PATH, GC_ENABLED, METADATA_PATH
from sqlext.spec.metadata.requirement import AssertCreate
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stream_state import CLONE_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

PLACES = frozenset({DATA_PATH.name, METADATA_PATH.name, "write.object-storage.path", "write.folder-storage.path"})
"""Properties that locate a table's files: a copy must not write to the original's folders."""


@dataclass(frozen=True, slots=True)
class RegisterTable:
    """Creates a table with the first metadata `metadata`. Raises AlreadyExistsError if it exists."""

    metadata: TableMetadata

    def begin(self, context: CommitContext) -> RegisterTable:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is not None:
            raise ValueError("a table is registered where there is none")
        return StagedChange(self.metadata, (), (AssertCreate(),))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files: those of the metadata are not the commit's."""


def shared_copy(metadata: TableMetadata, location: str, table_uuid: str) -> TableMetadata:
    """A table with the snapshots of another one, whose files it reads and does not own, and a uuid of its own.

    `gc.enabled` is false and the metadata log is empty, so that neither PURGE nor the trimming of old metadata deletes
    the other table's files. It keeps nothing for clones of the other table, and is none itself.
    """
    left = {key: value for key, value in metadata.properties.items() if key not in PLACES}
    properties = {key: value for key, value in left.items() if not key.startswith(CLONE_PREFIX)}
    return replace(
        metadata,
        location=location,
        table_uuid=table_uuid,
        metadata_log=(),
        refs={name: ref for name, ref in metadata.refs.items() if not name.startswith(CLONE_PREFIX)},
        properties={**properties, GC_ENABLED.name: "false"},
    )
