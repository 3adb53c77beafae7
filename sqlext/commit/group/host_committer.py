"""Group commit for the processes of one user on a machine: one of them commits, the others hand it their changes.

The first process takes the place, and another one when that ends. A process whose change was under way then does not
know what has become of it; the change goes to the next one with the same token, which tells whether it has landed.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.group.commit_answer import Answer, Landed, NotTaken, decode_answer
from sqlext.commit.group.commit_request import CommitRequest, encode_request
from sqlext.commit.group.group import Member, may_land_together
from sqlext.commit.group.group_committer import GroupCommitter
from sqlext.commit.group.host_service import HostService
from sqlext.commit.group.host_socket import MOST_BYTES, Interrupted, MeetingPlace, Unreachable, receive, send
from sqlext.commit.group.small_files import SmallFiles
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.errors import CommitStateUnknown, NotFoundError, SqlextError, as_state_unknown

_LOG = logging.getLogger("sqlext")
# So long nobody may be reached, before this process commits by itself.
_PATIENCE_MS = 5_000
_PAUSE_S = 0.02


class HostCommitter:
    """Commits to the tables of one catalog together with all processes that meet at the place that
    `open_place` tells; other arguments as of `GroupCommitter`."""

    def __init__(
        self,
        catalog: Catalog,
        open_place: Callable[[], MeetingPlace],
        *,
        clock: Callable[[], int],
        rng: random.Random,
        sleep: Callable[[float], None] = time.sleep,
        small: SmallFiles | None = None,
        queue: AttemptQueue | None = None,
    ) -> None:
        self._catalog = catalog
        self._open_place = open_place
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._place: MeetingPlace | None = None
        self._own = GroupCommitter(catalog, clock=clock, rng=rng, sleep=sleep, small=small, queue=queue)
        self._service: HostService | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Leaves the place to others."""
        with self._lock:
            if self._service is not None:
                self._service.close()
                self._service = None

    def commit(
        self, identifier: TableIdentifier, action: Action, *, base: LoadedTable, destination: Destination = MAIN
    ) -> CommitOutcome:
        """As `commit`, perhaps together with what others commit to the table.

        A change that is too long for a message, and all of format version 1, in which a snapshot has no number to tell
        whether others are missing, this process commits itself. Whoever is interrupted takes its change back, unless
        that is on its way already.
        """
        plain = Member(action, base, destination, self._own.new_id(), token=self._own.new_id())
        message = _message(identifier, plain)
        if message is None or len(message) > MOST_BYTES:
            return self._own.commit(identifier, action, base=base, destination=destination)
        try:
            place = self._meeting_place()
        except SqlextError as refused:
            # Another user may have made the folder; what it takes to commit alone is there.
            _LOG.warning("%s commits alone: %s", identifier, refused)
            return self._own.commit(identifier, action, base=base, destination=destination)
        name = CatalogNames(self._catalog.name).table(identifier)
        member, gives_up_ms = plain, self._clock() + _PATIENCE_MS
        while self._clock() < gives_up_ms and not self._takes(place):
            try:
                answer = self._asked(place, message, name, plain.token)
            except Unreachable:
                # Whoever had the place has just ended, or has not begun to listen.
                self._sleep(_PAUSE_S)
                continue
            except Interrupted as lost:
                if lost.was_sent:
                    member, gives_up_ms = replace(plain, may_have_landed=True), self._clock() + _PATIENCE_MS
                    message = _message(identifier, member) or message
                continue
            if isinstance(answer, NotTaken):
                break
            return self._outcome(base, answer)
        # Nobody else looks for what this process lands first.
        return self._own.commit_member(identifier, member if member.may_have_landed else replace(member, token=None))

    def _meeting_place(self) -> MeetingPlace:
        with self._lock:
            if self._place is None:
                self._place = self._open_place()
            return self._place

    def _takes(self, place: MeetingPlace) -> bool:
        """Whether this process commits, from now on if nobody did."""
        with self._lock:
            if self._service is None:
                held = place.take()
                if held is not None:
                    self._service = HostService(place, held, self._catalog, self._own)
            return self._service is not None

    def _asked(self, place: MeetingPlace, message: bytes, name: str, id: str | None) -> Answer:
        """The answer of the process that commits. `Unreachable`, `Interrupted`; `CommitStateUnknown` where the user
        cancels the commit `id` of the table `name`."""
        connection = place.connect()
        was_sent = False
        try:
            send(connection, place.token)
            send(connection, message)
            was_sent = True
            return decode_answer(receive(connection))
        except (OSError, EOFError, ValueError) as error:
            raise Interrupted(was_sent) from error
        except KeyboardInterrupt as stopped:
            if not was_sent:
                raise
            reason = "the statement was cancelled"
            raise CommitStateUnknown("COMMIT_STATE_UNKNOWN", name=name, reason=reason, commit_id=id) from stopped
        finally:
            connection.close()

    def _outcome(self, base: LoadedTable, answer: Landed | SqlextError) -> CommitOutcome:
        if isinstance(answer, SqlextError):
            raise answer
        table = self._version(base, answer.location)
        snapshot = None
        if answer.snapshot_id is not None:
            with suppress(NotFoundError):
                snapshot = table.metadata.snapshot(answer.snapshot_id)
        return CommitOutcome(table, snapshot, answer.attempts)

    def _version(self, base: LoadedTable, location: str) -> LoadedTable:
        """The version that the commit left, or the newest where that is trimmed already. `CommitStateUnknown` where it
        cannot be read: the commit has landed."""
        with suppress(FileNotFoundError, SqlextError):
            return self._catalog.load_version(base, location)
        try:
            return self._catalog.load_table(base.identifier)
        except SqlextError as failure:
            raise as_state_unknown(failure) from failure


def _message(identifier: TableIdentifier, member: Member) -> bytes | None:
    """The change as another process takes it; None where this one has to commit it."""
    metadata, token = member.base.metadata, member.token
    if token is None or metadata.format_version < 2 or not may_land_together(member.action):
        return None
    base = member.base.metadata_location
    uuid, again = metadata.table_uuid, member.may_have_landed
    return encode_request(CommitRequest(identifier, base, uuid, member.action, member.destination, token, again))
