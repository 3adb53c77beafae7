"""What can be committed: an action stages metadata updates and requirements on a base, once per attempt."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.metadata_update import MetadataUpdate
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.requirement import Requirement
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the snapshot of a commit goes: to the head of a branch, which is created at main's head if it is new.

    With `wap_id` no branch moves: the snapshot is staged under that id (write-audit-publish). `summary` holds the
    writer's own entries of the snapshot summary.
    """

    branch: str = MAIN_BRANCH
    wap_id: str | None = None
    summary: tuple[tuple[str, str], ...] = ()


MAIN = Destination()


@dataclass(frozen=True, slots=True)
class CommitContext:
    """The environment of one commit; `name` is the table's, for messages.

    `commit_id` identifies the commit in its snapshot's summary, so that it is found after a lost answer. `planned_on`
    is the version that the action was planned on (None: the one it is first staged on). Without `owns_files` the files
    that the action adds stay if the commit fails. `is_newest` asks the catalog whether a version is the table's newest.
    """

    name: str
    commit_id: str
    io: FileIO
    clock: Callable[[], int]
    rng: random.Random
    manifests: ManifestCache
    is_newest: Callable[[TableMetadata], bool]
    destination: Destination = MAIN
    planned_on: TableMetadata | None = None
    owns_files: bool = True


@dataclass(frozen=True, slots=True)
class StagedChange:
    """A change that is ready for the compare-and-swap.

    `start` is the metadata that `updates` apply to: the base, the first metadata of a new table, or the base with other
    changes of the same commit.
    """

    start: TableMetadata
    updates: tuple[MetadataUpdate, ...]
    requirements: tuple[Requirement, ...]
    snapshot: Snapshot | None = None


class Staging(Protocol):
    """One action during one commit; keeps what the attempts share."""

    def stage(self, base: TableMetadata | None) -> StagedChange:
        """The change on `base` (None: no table). Raises `ValidationConflict` if it conflicts with other commits."""

    def finish(self, landed: Snapshot | None) -> None:
        """Deletes what failed attempts wrote, after a success. `landed` is the snapshot, if the change has one."""

    def abandon(self) -> None:
        """Deletes all files of this commit that its action owns, data files included; no attempt has succeeded."""


class Action(Protocol):
    """A change to a table as a value, which can be committed more than once."""

    def begin(self, context: CommitContext) -> Staging:
        """Starts a commit."""
