"""The process that commits for others of its user: it takes their changes at a Unix socket, and tells each its verdict.

A connection brings one change, and is closed once its verdict is known, so that whoever finds it closed before that
knows that this process has ended.
"""

from __future__ import annotations

import hmac
import os
import socket
import threading
import time
import weakref
from collections import OrderedDict
from contextlib import suppress

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.transaction_mark import unmarked
from sqlext.commit.group.commit_answer import Answer, Landed, NotTaken, encode_answer
from sqlext.commit.group.commit_request import CommitRequest, decode_request
from sqlext.commit.group.group import Member, may_land_together
from sqlext.commit.group.group_committer import GroupCommitter, NoLongerWanted
from sqlext.commit.group.host_socket import PROTOCOL, MeetingPlace, has_gone, is_own, receive, send
from sqlext.errors import CommitStateUnknown, SqlextError
from sqlext.spec.metadata.table_metadata import decode_table_metadata

_MOST_CONNECTIONS = 512
_REMEMBERED_VERSIONS = 64
# So long a sender may take to bring its change, which is ready when it connects.
_REQUEST_S = 60.0
_PAUSE_S = 0.05


class HostService:
    """Serves at `place`, whose lock `held` keeps, until the process ends or `close` is called."""

    def __init__(self, place: MeetingPlace, held: int, catalog: Catalog, committer: GroupCommitter) -> None:
        self._place = place
        self._held = held
        self._catalog = catalog
        self._committer = committer
        self._versions: OrderedDict[str, LoadedTable] = OrderedDict()
        self._lock = threading.Lock()
        self._connections: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._room = threading.Semaphore(_MOST_CONNECTIONS)
        self._closed = False
        try:
            self._listener = place.listen()
        except BaseException:
            os.close(held)
            raise
        _SERVICES.add(self)
        threading.Thread(target=self._accept, name=f"group commit at {place.path}", daemon=True).start()

    def close(self) -> None:
        """No further change is taken; those that wait get their verdicts."""
        self._closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with suppress(OSError):
            os.close(self._held)

    def forget(self) -> None:
        """In a child that was forked: what it has inherited would keep others waiting when its parent ends."""
        self._closed = True
        self._listener.close()
        with suppress(OSError):
            os.close(self._held)
        for connection in list(self._connections):
            connection.close()

    def _accept(self) -> None:
        while not self._closed:
            self._room.acquire()
            try:
                connection, _ = self._listener.accept()
            except OSError:
                # Too many open files, say: who waits to be heard must not wait forever.
                self._room.release()
                time.sleep(_PAUSE_S)
                continue
            self._connections.add(connection)
            try:
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
            except RuntimeError:
                self._end(connection)

    def _serve(self, connection: socket.socket) -> None:
        # ValueError: a message that is too long.
        with suppress(OSError, EOFError, ValueError, NoLongerWanted):
            try:
                if not is_own(connection):
                    return
                connection.settimeout(_REQUEST_S)
                connection.sendall(PROTOCOL)
                if not hmac.compare_digest(receive(connection), self._place.token):
                    return
                message = receive(connection)
                connection.settimeout(None)
                send(connection, encode_answer(self._answer(message, connection)))
            finally:
                self._end(connection)

    def _end(self, connection: socket.socket) -> None:
        self._connections.discard(connection)
        connection.close()
        self._room.release()

    def _answer(self, message: bytes, connection: socket.socket) -> Answer:
        """The verdict of the change that the message brings."""
        try:
            request = decode_request(message)
            base = self._base(request)
        except Exception as error:
            return NotTaken(str(error))
        if not may_land_together(request.action) or base.metadata.table_uuid != request.table_uuid:
            return NotTaken("it is not the table's")
        member = Member(
            request.action,
            base,
            request.destination,
            self._committer.new_id(),
            request.token,
            request.may_have_landed,
        )
        try:
            outcome = self._committer.commit_member(request.identifier, member, lambda: not has_gone(connection))
        except SqlextError as error:
            return error
        except NoLongerWanted:
            raise
        except BaseException as error:
            reason = f"the process that committed it failed: {error!r}"
            return CommitStateUnknown(
                "COMMIT_STATE_UNKNOWN", name=str(request.identifier), reason=reason, commit_id=request.token
            )
        self._remember(outcome.table)
        snapshot_id = None if outcome.snapshot is None else outcome.snapshot.snapshot_id
        return Landed(outcome.table.metadata_location, snapshot_id, outcome.attempts)

    def _base(self, request: CommitRequest) -> LoadedTable:
        """The version that the change was planned on."""
        with self._lock:
            known = self._versions.get(request.base)
        if known is None or known.identifier != request.identifier:
            known = self._catalog.load_table(request.identifier)
            if known.metadata_location != request.base:
                # The sender had it from the catalog, so what marks a commit of several tables says nothing any more.
                metadata = unmarked(decode_table_metadata(self._catalog.io.read(request.base), request.base))
                known = LoadedTable(request.identifier, metadata, request.base)
            self._remember(known)
        return known

    def _remember(self, table: LoadedTable) -> None:
        with self._lock:
            self._versions[table.metadata_location] = table
            self._versions.move_to_end(table.metadata_location)
            while len(self._versions) > _REMEMBERED_VERSIONS:
                self._versions.popitem(last=False)


_SERVICES: weakref.WeakSet[HostService] = weakref.WeakSet()


def _forget_all() -> None:
    for service in list(_SERVICES):
        service.forget()


os.register_at_fork(after_in_child=_forget_all)
