"""The commit loop: stage, compare-and-swap, retry on newer metadata, until success, a conflict or the deadline.

A sent compare-and-swap is open until it is known to have succeeded or to be unable to; `sqlext.catalog.sent_changes`
decides that, whatever the catalog answered. While it is open, nothing is staged again and no file is deleted.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from sqlext.catalog.catalog import Catalog, LoadedTable, TableCommit
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.sent_changes import added_snapshots, settled
from sqlext.commit.action import MAIN, Action, CommitContext, Destination, StagedChange, Staging
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.expired_base import BaseHasExpired, staged
from sqlext.commit.loop.pace import RetryPace
from sqlext.commit.loop.same_table import require_same_table
from sqlext.commit.rules.bucket_layout import require_buckets_kept
from sqlext.commit.rules.upsert_rules import require_upserts_kept
from sqlext.errors import (
    AlreadyExistsError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    as_state_unknown,
)
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.metadata_update import apply_updates
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """A successful commit: the table after it, its snapshot (None: it has none) and the number of attempts."""

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
    """Commits `action` on the version `base` of a table; None creates the table.

    A snapshot of the action goes to `destination`.

    `clock` gives milliseconds since 1970, `sleep` takes seconds. After `deadline_s` seconds (default: the table's
    `commit.retry.total-timeout-ms`) no further attempt is made. `manifests` may be shared with the process's scans,
    `queue` with its other commits.

    Raises `ValidationConflict` if another commit changed what the action read, `CommitConflict` at the deadline,
    `AlreadyExistsError` or `NotFoundError` if the table was created or dropped concurrently, and `CommitStateUnknown`
    if anything, even an interrupt, ends the commit while a compare-and-swap is open. After any other error all files of
    the action, data files included, have been deleted, except those that the action does not own.
    """
    context = CommitContext(
        name=CatalogNames(catalog.name).table(identifier),
        commit_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        io=catalog.io,
        clock=clock,
        rng=rng,
        manifests=ManifestCache() if manifests is None else manifests,
        is_newest=partial(_is_newest, catalog, identifier),
        destination=destination,
        planned_on=_metadata(base),
    )
    properties: Mapping[str, str] = {} if base is None else base.metadata.properties
    line = context.commit_id if base is None else base.metadata.table_uuid
    pace = RetryPace(clock, rng, sleep, properties, deadline_s, queue, line)
    return _Commit(catalog, identifier, action.begin(context), context, pace).run(base)


class _Commit:
    """One call of `commit`."""

    def __init__(
        self, catalog: Catalog, identifier: TableIdentifier, staging: Staging, context: CommitContext, pace: RetryPace
    ) -> None:
        self._catalog = catalog
        self._identifier = identifier
        self._staging = staging
        self._context = context
        self._pace = pace
        # Whether a compare-and-swap has been sent and is not known to have failed.
        self._may_have_landed = False

    def run(self, base: LoadedTable | None) -> CommitOutcome:
        try:
            return self._run(base)
        except BaseException as error:
            if self._may_have_landed:
                self._raise_unsettled(error)
            else:
                self._staging.abandon()
                if base is None or isinstance(error, NotFoundError):
                    self._catalog.remove_empty_folders(self._identifier)
            raise
        finally:
            self._pace.end()

    def _raise_unsettled(self, error: BaseException) -> None:
        """Raises `CommitStateUnknown` from an error or interrupt; other `BaseException`s, which end the process,
        pass."""
        if isinstance(error, SqlextError) and error.condition != "CHANGE_STATE_UNKNOWN":
            raise as_state_unknown(error) from error
        if isinstance(error, Exception | KeyboardInterrupt):
            known = error.parameters["reason"] if isinstance(error, SqlextError) else None
            reason = known or f"{type(error).__name__}: {error}".rstrip(": ")
            raise CommitStateUnknown(
                "COMMIT_STATE_UNKNOWN", name=self._context.name, reason=reason, commit_id=self._context.commit_id
            ) from error

    def _run(self, base: LoadedTable | None) -> CommitOutcome:
        attempts = 0
        if self._pace.wait_for_turn(_metadata(base)):
            base = self._refreshed(base)
        while True:
            attempts += 1
            with suppress(BaseHasExpired):
                change = self._stage(base)
                table = self._swap(base, change)
                if table is not None:
                    self._pace.landed(table.metadata)
                    return CommitOutcome(table, change.snapshot, attempts)
            self._pace.wait_for_retry(self._context.name, attempts, _metadata(base))
            before, base = base, self._refreshed(base)
            self._pace.tell(has_moved=_location(before) != _location(base))

    def _stage(self, base: LoadedTable | None) -> StagedChange:
        metadata = _metadata(base)
        try:
            change = staged(self._staging, metadata, base=metadata, context=self._context)
        except FileNotFoundError:
            # The metadata folder is missing only if the table has been dropped.
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=self._context.name) from None
        for requirement in change.requirements:
            requirement.check(metadata)
        return change

    def _swap(self, base: LoadedTable | None, change: StagedChange) -> LoadedTable | None:
        """The table after the change; None if another commit came first."""
        if base is not None and not change.updates:
            self._staging.finish(change.snapshot)
            return base
        updated = apply_updates(change.start, change.updates, now_ms=self._context.clock())
        if base is not None:
            require_upserts_kept(base.metadata, updated, self._context.name)
            require_buckets_kept(base.metadata, updated, self._context.name)
        sent = TableCommit(self._identifier, base, updated)
        self._may_have_landed = True
        try:
            table: LoadedTable | None = self._catalog.commit(self._identifier, base, updated)
        except (CommitConflict, AlreadyExistsError, CommitStateUnknown) as answer:
            table = self._settled(sent, answer)
        except SqlextError:
            # Nothing was sent.
            self._may_have_landed = False
            raise
        self._may_have_landed = table is not None
        if table is not None and _is_as_staged(table.metadata, sent):
            self._staging.finish(change.snapshot)
        return table

    def _settled(
        self, sent: TableCommit, answer: CommitConflict | AlreadyExistsError | CommitStateUnknown
    ) -> LoadedTable | None:
        def send(changes: Sequence[TableCommit]) -> Sequence[LoadedTable]:
            return [self._catalog.commit(one.identifier, one.base, one.updated) for one in changes]

        try:
            tables = settled(self._catalog, (sent,), answer, send, self._pace.status_checks())
        except CommitStateUnknown:
            raise
        except SqlextError:
            self._may_have_landed = False
            raise
        return None if tables is None else tables[0]

    def _refreshed(self, base: LoadedTable | None) -> LoadedTable | None:
        """The current version of the table. Raises as `load_table` and `require_same_table`."""
        if base is None:
            return None
        current = self._catalog.load_table(self._identifier)
        require_same_table(base.metadata, current.metadata, self._context.name)
        return current


def _is_newest(catalog: Catalog, identifier: TableIdentifier, base: TableMetadata) -> bool:
    """Whether the table has that version; False if it is dropped."""
    try:
        return catalog.load_table(identifier).metadata == base
    except NotFoundError:
        return False


def _is_as_staged(metadata: TableMetadata, sent: TableCommit) -> bool:
    """Whether the table has the last staged attempt. An earlier one that landed although the catalog had refused it
    needs files that `finish` would delete."""
    there = ((one, metadata.snapshot_or_none(one.snapshot_id)) for one in added_snapshots(sent))
    return all(found is None or found.manifest_list == one.manifest_list for one, found in there)


def _metadata(table: LoadedTable | None) -> TableMetadata | None:
    return None if table is None else table.metadata


def _location(table: LoadedTable | None) -> str | None:
    return None if table is None else table.metadata_location
