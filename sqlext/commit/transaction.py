"""The commit: stage, compare-and-swap, and again on newer metadata until it lands, must not, or time is up.

Three outcomes of a compare-and-swap (spec: Commit Conflict Resolution and Retry): it landed; the race was lost, and
the action is staged and validated anew; or the store gave no answer, and the commit's token tells which it was. As
long as that is not known, no file is deleted.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import MAIN, Action, CommitContext, Destination, StagedChange, Staging
from sqlext.commit.attempt_queue import AttemptQueue
from sqlext.commit.bucket_layout import require_buckets_kept
from sqlext.commit.commit_token import CommitToken
from sqlext.commit.pace import Pace
from sqlext.commit.same_table import require_same_table
from sqlext.commit.upsert_rules import require_upserts_kept
from sqlext.errors import (
    AlreadyExistsError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
)
from sqlext.scan.manifest_cache import ManifestCache
from sqlext.spec.metadata_update import apply_updates
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """A commit that landed: the table as it left it, its snapshot if it made one, and how often it was tried."""

    table: LoadedTable
    snapshot: Snapshot | None
    attempts: int


def commit(
    catalog: Catalog,
    identifier: TableIdentifier,
    action: Action,
    *,
    base: LoadedTable | None,
    destination: Destination = MAIN,
    clock: Callable[[], int],
    rng: random.Random,
    sleep: Callable[[float], None] = time.sleep,
    deadline_s: float | None = None,
    manifests: ManifestCache | None = None,
    queue: AttemptQueue | None = None,
) -> CommitOutcome:
    """Commits `action` on a table, starting from the version `base`; None makes the table.

    A snapshot that the action makes goes to `destination`.

    `clock` tells milliseconds since 1970, `sleep` takes seconds. After `deadline_s` seconds (default: the table's
    `commit.retry.total-timeout-ms`) no further attempt is made. `manifests` may be shared with scans of the process,
    and `queue` with all that it commits.

    Errors: `ValidationConflict`, when another commit changed what the action relies on; `CommitConflict` at the
    deadline; `AlreadyExistsError` and `NotFoundError`, when the table was made or dropped meanwhile. After any error
    but `CommitStateUnknown` every file of the action, data files included, has been deleted.
    """
    context = CommitContext(
        name=CatalogNames(catalog.name).table(identifier),
        commit_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        io=catalog.io,
        clock=clock,
        rng=rng,
        manifests=ManifestCache() if manifests is None else manifests,
        destination=destination,
        planned_on=None if base is None else base.metadata,
    )
    properties: Mapping[str, str] = {} if base is None else base.metadata.properties
    line = context.commit_id if base is None else base.metadata.table_uuid
    pace = Pace(clock, rng, sleep, properties, deadline_s, queue, line)
    return _Commit(catalog, identifier, action.begin(context), context, pace).run(base)


class _Commit:
    """One call of `commit`."""

    def __init__(
        self, catalog: Catalog, identifier: TableIdentifier, staging: Staging, context: CommitContext, pace: Pace
    ) -> None:
        self._catalog = catalog
        self._identifier = identifier
        self._staging = staging
        self._context = context
        self._pace = pace
        # True from the moment a compare-and-swap is sent until it is known to have failed.
        self._may_have_landed = False

    def run(self, base: LoadedTable | None) -> CommitOutcome:
        try:
            return self._run(base)
        except BaseException as error:
            if not self._may_have_landed:
                self._staging.abandon()
                if base is None or isinstance(error, NotFoundError):
                    self._catalog.discard_creation(self._identifier)
            raise
        finally:
            self._pace.end()

    def _run(self, base: LoadedTable | None) -> CommitOutcome:
        attempts = 0
        if self._pace.wait_for_turn():
            base = self._refreshed(base)
        while True:
            attempts += 1
            change = self._stage(base)
            table = self._swap(base, change)
            if table is not None:
                self._staging.finish(change.snapshot)
                return CommitOutcome(table, change.snapshot, attempts)
            self._pace.wait_for_retry(self._context.name, attempts)
            before, base = base, self._refreshed(base)
            self._pace.tell(has_moved=_location(before) != _location(base))

    def _stage(self, base: LoadedTable | None) -> StagedChange:
        metadata = None if base is None else base.metadata
        try:
            change = self._staging.stage(metadata)
        except FileNotFoundError:
            # The folder that the new manifests go to is only ever missing when the table has been dropped.
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=self._context.name) from None
        for requirement in change.requirements:
            requirement.check(metadata)
        return change

    def _swap(self, base: LoadedTable | None, change: StagedChange) -> LoadedTable | None:
        """The table when the change landed, None when the race was lost."""
        if base is not None and not change.updates:
            return base
        updated = apply_updates(change.start, change.updates, now_ms=self._context.clock())
        if base is not None:
            require_upserts_kept(base.metadata, updated, self._context.name)
            require_buckets_kept(base.metadata, updated, self._context.name)
        self._may_have_landed = True
        try:
            table: LoadedTable | None = self._catalog.commit(self._identifier, base, updated)
        except CommitConflict:
            table = None
        except CommitStateUnknown as unknown:
            table = self._settled(base, change, updated, unknown)
        except SqlextError:
            self._may_have_landed = False
            raise
        self._may_have_landed = table is not None
        return table

    def _settled(
        self, base: LoadedTable | None, change: StagedChange, updated: TableMetadata, unknown: CommitStateUnknown
    ) -> LoadedTable | None:
        """What became of a compare-and-swap that got no answer: the table when it landed, None when it cannot have.

        While the base is current it may still land, so it is sent again: the same change on the same base has one
        place to go, whichever of the two requests gets there. A creation has none: where there is no table, it may have
        landed and been dropped. `CommitStateUnknown` when that stays without an answer, and when what followed the base
        is no longer known.
        """
        token = CommitToken(self._context.commit_id, change, updated)
        reason, was_dropped = unknown.parameters["reason"], False
        for _ in self._pace.status_checks():
            with suppress(SqlextError, OSError):
                current = self._current()
                if current is not None and token.is_in(current.metadata):
                    return current
                if base is None:
                    if current is None:
                        continue
                    self._may_have_landed = False
                    break
                if _location(current) == base.metadata_location:
                    return self._catalog.commit(self._identifier, base, updated)
                if current is None or current.metadata.table_uuid != base.metadata.table_uuid:
                    # Landed or not, it is gone; its files stay, as an undropped table may need them.
                    was_dropped = True
                    break
                is_missing = token.is_missing_from(base, current, self._context.io)
                if is_missing is None:
                    reason = f"the version after {base.metadata_location} is gone"
                    break
                return None if is_missing else current
        if not self._may_have_landed:
            raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=self._context.name)
        if was_dropped:
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=self._context.name)
        raise CommitStateUnknown(
            "COMMIT_STATE_UNKNOWN", name=self._context.name, reason=reason, commit_id=self._context.commit_id
        ) from unknown

    def _current(self) -> LoadedTable | None:
        try:
            return self._catalog.load_table(self._identifier)
        except NotFoundError:
            return None

    def _refreshed(self, base: LoadedTable | None) -> LoadedTable | None:
        """The table as it is now; it must still be the same, with a schema that the action's rows fit."""
        if base is None:
            return None
        current = self._catalog.load_table(self._identifier)
        require_same_table(base.metadata, current.metadata, self._context.name)
        return current


def _location(table: LoadedTable | None) -> str | None:
    return None if table is None else table.metadata_location
