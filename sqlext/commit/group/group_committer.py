"""Group commit: what the threads of a process want to commit to a table while its last commit runs lands with the next.

The name and the idea are those of databases, whose transactions share the write of a log. A thread for each table does
the commits, and ends when nobody waits any more; so there is no tick to wait for, and a writer that is alone is as fast
as without it.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.group.group import Member, Verdict, abandon_member, commit_group, may_land_together
from sqlext.commit.group.small_files import SmallFiles
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.transaction import CommitOutcome, commit
from sqlext.errors import CommitStateUnknown
from sqlext.scan.files.manifest_cache import ManifestCache

# So many data files make a manifest of some hundred kilobytes, in about 0.2 s.
_MOST_MEMBERS = 1_000
_CACHE_BYTES = 64 * 1024 * 1024
_REMEMBERED_TABLES = 64
_LOOK_EVERY_S = 0.2


class NoLongerWanted(Exception):
    """Nobody waits for a change any more; it may be on its way."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A member, and the thread that waits for its verdict."""

    member: Member
    verdict: Verdict | None = None
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class _Table:
    """The members that wait for one table, and what its last commit left. `is_served` while it has a thread."""

    waiting: list[_Waiting] = field(default_factory=list)
    is_served: bool = False
    newest: LoadedTable | None = None


class GroupCommitter:
    """Commits to the tables of one catalog, by any number of threads."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        clock: Callable[[], int],
        rng: random.Random,
        sleep: Callable[[float], None] = time.sleep,
        small: SmallFiles | None = None,
        queue: AttemptQueue | None = None,
    ) -> None:
        """`clock` tells milliseconds since 1970, `sleep` takes seconds; `small` and `queue` as of `commit_group`."""
        self._catalog = catalog
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._small = small
        self._queue = queue or AttemptQueue()
        self._lock = threading.Lock()
        # Not that of scans: it knows manifests of commits that may never land.
        self._manifests = ManifestCache(_CACHE_BYTES)
        self._tables: OrderedDict[TableIdentifier, _Table] = OrderedDict()

    def commit(
        self, identifier: TableIdentifier, action: Action, *, base: LoadedTable, destination: Destination = MAIN
    ) -> CommitOutcome:
        """As `commit`, perhaps together with what others commit to the table.

        A thread that is interrupted takes its change back, unless that is on its way already.
        """
        if not may_land_together(action):
            return commit(
                self._catalog,
                identifier,
                action,
                base=base,
                destination=destination,
                clock=self._clock,
                rng=self._rng,
                sleep=self._sleep,
                queue=self._queue,
            )
        return self.commit_member(identifier, Member(action, base, destination, self.new_id()))

    def new_id(self) -> str:
        """A name that no other commit has."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def commit_member(
        self, identifier: TableIdentifier, member: Member, is_wanted: Callable[[], bool] | None = None
    ) -> CommitOutcome:
        """As `commit`. `is_wanted` is asked now and then; once it says no, the change is taken back.

        `NoLongerWanted`: it was, unless it is on its way already.
        """
        waiting = _Waiting(member)
        self._enqueue(identifier, waiting)
        try:
            while not waiting.done.wait(None if is_wanted is None else _LOOK_EVERY_S):
                if is_wanted is not None and not is_wanted():
                    raise NoLongerWanted
        except BaseException as stopped:
            is_on_its_way = not self._withdraw(identifier, waiting)
            if is_on_its_way and isinstance(stopped, KeyboardInterrupt):
                name, reason = CatalogNames(self._catalog.name).table(identifier), "the statement was cancelled"
                raise CommitStateUnknown(
                    "COMMIT_STATE_UNKNOWN", name=name, reason=reason, commit_id=member.commit_id
                ) from stopped
            raise
        if isinstance(waiting.verdict, BaseException):
            raise waiting.verdict
        assert waiting.verdict is not None
        return waiting.verdict

    def _enqueue(self, identifier: TableIdentifier, waiting: _Waiting) -> None:
        with self._lock:
            table = self._tables.setdefault(identifier, _Table())
            self._tables.move_to_end(identifier)
            if not table.is_served:
                # No daemon: the process does not end in the middle of a commit. It waits for the lock first.
                name = f"group commit of {identifier}"
                threading.Thread(target=self._serve, args=(identifier, table), name=name, daemon=False).start()
                table.is_served = True
            table.waiting.append(waiting)
            idle = [one for one, known in self._tables.items() if not known.is_served]
            for one in idle[: max(0, len(self._tables) - _REMEMBERED_TABLES)]:
                del self._tables[one]

    def _withdraw(self, identifier: TableIdentifier, waiting: _Waiting) -> bool:
        """Takes a change back; False where it is on its way."""
        with self._lock:
            table = self._tables[identifier]
            if waiting not in table.waiting:
                return False
            table.waiting.remove(waiting)
        abandon_member(self._catalog, identifier, waiting.member, self._rng)
        return True

    def _serve(self, identifier: TableIdentifier, table: _Table) -> None:
        """Commits one group after the other, until nobody waits."""
        while True:
            with self._lock:
                group, table.waiting = table.waiting[:_MOST_MEMBERS], table.waiting[_MOST_MEMBERS:]
                if not group:
                    table.is_served = False
                    return
            verdicts = self._committed(identifier, table, [one.member for one in group])
            for waiting, verdict in zip(group, verdicts, strict=True):
                waiting.verdict = verdict
                waiting.done.set()

    def _committed(self, identifier: TableIdentifier, table: _Table, members: Sequence[Member]) -> list[Verdict]:
        try:
            verdicts = commit_group(
                self._catalog,
                identifier,
                members,
                base=self._newest(identifier, table, members),
                clock=self._clock,
                rng=self._rng,
                sleep=self._sleep,
                manifests=self._manifests,
                small=self._small,
                queue=self._queue,
            )
        except BaseException as error:  # whatever it is, nobody may be left waiting
            table.newest = None
            return [error] * len(members)
        landed = [one.table for one in verdicts if isinstance(one, CommitOutcome)]
        table.newest = landed[0] if landed else None
        return verdicts

    def _newest(self, identifier: TableIdentifier, table: _Table, members: Sequence[Member]) -> LoadedTable:
        """What the last commit left, unless a member has seen what that does not know of."""
        known = table.newest
        if known is not None:
            versions = {known.metadata_location, *(one.metadata_file for one in known.metadata.metadata_log)}
            uuid = known.metadata.table_uuid
            if all(one.base.metadata_location in versions and one.base.metadata.table_uuid == uuid for one in members):
                return known
        if len({one.base.metadata_location for one in members}) == 1:
            return members[0].base
        return self._catalog.load_table(identifier)
