"""What can be committed: an action stages updates and requirements on a base, as often as the race needs it."""

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
    """Where the snapshot of a commit goes: to the head of a branch, which begins at main's head if it is new.

    With `wap_id` no branch moves: the snapshot is staged under that id, to be published later. `summary` is what the
    writer says in the snapshot's summary beside what the commit tells there.
    """

    branch: str = MAIN_BRANCH
    wap_id: str | None = None
    summary: tuple[tuple[str, str], ...] = ()


MAIN = Destination()


@dataclass(frozen=True, slots=True)
class CommitContext:
    """What an action works with during one commit; `name` is the table's, for messages.

    `commit_id` is the commit's token: it tells, whatever the store answered, whether the commit has landed.
    `planned_on` is the table as the action was planned on it; None: as it is when it is first staged. Where it does not
    `owns_files`, those that the action adds stay when it fails.
    """

    name: str
    commit_id: str
    io: FileIO
    clock: Callable[[], int]
    rng: random.Random
    manifests: ManifestCache
    destination: Destination = MAIN
    planned_on: TableMetadata | None = None
    owns_files: bool = True


@dataclass(frozen=True, slots=True)
class StagedChange:
    """A change that is ready for the compare-and-swap.

    `start` is what the updates are applied to: the base, the first metadata of a table that is made, or the base with
    other changes that land together with this one.
    """

    start: TableMetadata
    updates: tuple[MetadataUpdate, ...]
    requirements: tuple[Requirement, ...]
    snapshot: Snapshot | None = None


class Staging(Protocol):
    """One action on its way through one commit; it keeps what attempts have in common."""

    def stage(self, base: TableMetadata | None) -> StagedChange:
        """The change on `base` (None: there is no table). `ValidationConflict` when `base` no longer admits it."""

    def finish(self, landed: Snapshot | None) -> None:
        """Removes what lost attempts have left; the change of the last one has been committed."""

    def abandon(self) -> None:
        """Removes every file of this commit, data files included; nothing has been committed."""


class Action(Protocol):
    """A change to a table, as a value: it can be committed more than once."""

    def begin(self, context: CommitContext) -> Staging:
        """Starts a commit."""
