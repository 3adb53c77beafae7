"""What tells, of a commit that got no answer, whether it has landed (spec: Commit Conflict Resolution and Retry)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import StagedChange
from sqlext.spec.requirement import AssertCreate
from sqlext.spec.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO

COMMIT_ID_PROPERTY = "sqlext.commit-id"
"""The snapshot summary's key of the commit's token."""


@dataclass(frozen=True, slots=True)
class CommitToken:
    """The commit's id in its snapshot's summary; of a new table its uuid; else the metadata itself."""

    commit_id: str
    change: StagedChange
    updated: TableMetadata

    def is_in(self, metadata: TableMetadata) -> bool:
        """Whether these metadata are what the commit made, or made of that."""
        if self.change.snapshot is not None:
            # One that is there tells of all that land with it; the others may be gone with their branches.
            ids = {self.commit_id, *self.change.together_with}
            return any(one.summary.get(COMMIT_ID_PROPERTY) in ids for one in reversed(metadata.snapshots))
        if isinstance(self.change.requirements[0], AssertCreate):
            return metadata.table_uuid == self.updated.table_uuid
        if _without_time(self.updated) == _without_time(self.change.start):
            # It changes nothing, so that only its time can tell it from its base.
            return _without_log(metadata) == _without_log(self.updated)
        return _without_time(metadata) == _without_time(self.updated)

    def is_missing_from(self, base: LoadedTable, current: LoadedTable, io: FileIO) -> bool | None:
        """Whether the commit is not in a history from its base to newer metadata that do not show it; None: nobody
        knows, as what followed the base is gone. Errors of the storage, CorruptionError."""
        if self.change.snapshot is not None and base.metadata.format_version > 1:
            number = base.metadata.last_sequence_number + 1
            if any(one.sequence_number == number for one in current.metadata.snapshots):
                return True
        follower = _follower(base, current, io)
        return None if follower is None else not self.is_in(follower)


def _without_log(metadata: TableMetadata) -> TableMetadata:
    """What is the same wherever a catalog puts it."""
    return replace(metadata, metadata_log=())


def _without_time(metadata: TableMetadata) -> TableMetadata:
    """What is the same whenever a catalog writes it."""
    return replace(metadata, metadata_log=(), last_updated_ms=0)


def _follower(base: LoadedTable, current: LoadedTable, io: FileIO) -> TableMetadata | None:
    """The version of a table that came right after `base`, as far as the log of `current` and its files tell."""
    log = [entry.metadata_file for entry in current.metadata.metadata_log]
    if base.metadata_location not in log:
        return None
    after = log[log.index(base.metadata_location) + 1 :]
    if not after:
        return current.metadata
    try:
        return decode_table_metadata(io.read(after[0]), after[0])
    except FileNotFoundError:
        return None
