"""Processes in one thread: each call of a process's I/O is a step, and the seed decides who takes the next one."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, TypeVar

from greenlet import getcurrent, greenlet

from simulator.database import SharedDatabase
from simulator.faults import Fault, Killed, refused, without_answer
from simulator.server import SharedServer
from simulator.store import Store
from sqlext.catalog.rest.rest_catalog import RestCatalog
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.errors import CommitStateUnknown, SqlextError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.storage.file_io import FileStatus
from sqlext.testing.file_kind import kind_of

if TYPE_CHECKING:
    from simulator.statements import Statement

WAREHOUSE = "file:///simulated/warehouse"
_MOST_STEPS = 20_000
_HANG_STEPS = 400
_LOOK_EVERY_S = 0.02

CatalogKind: TypeAlias = Literal["folder", "sql", "rest"]
T = TypeVar("T")


class Violation(BaseException):
    """An invariant does not hold. No code under test may catch it."""


class World:
    """The store, the processes on it, time, and what is to go wrong."""

    def __init__(self, seed: int, faults: Sequence[Fault] = (), catalog: CatalogKind = "folder") -> None:
        """`catalog` says where the tables' names are kept."""
        self.rng = random.Random(f"schedule {seed}")
        self.store = Store()
        self.now_ms = 1_700_000_000_000
        self.shared: SharedDatabase | SharedServer | None = None
        if catalog == "sql":
            self.shared = SharedDatabase()
        if catalog == "rest":
            self.shared = SharedServer(self.store, WAREHOUSE, lambda: self.now_ms, seed)
        self.steps = 0
        self.faults = list(faults)
        self.full_between: tuple[int, int] = (0, 0)
        self.trace: list[tuple[Any, ...]] = []
        self.delayed: list[tuple[int, Callable[[], Any], Process]] = []
        self.processes: list[Process] = []
        self.is_open = True
        self.ended: Callable[[Statement], None] = lambda statement: None
        self.policy = self.rng.choice(("any", "sticky", "sticky", "ranked"))
        self._stickiness = self.rng.choice((0.6, 0.8, 0.95))
        self._hub: greenlet | None = None
        self._last: Process | None = None

    def run(self) -> None:
        """Until every process has come to its end, and every delayed write has arrived."""
        self._hub = getcurrent()
        ranks = list(range(len(self.processes)))
        self.rng.shuffle(ranks)
        for process, rank in zip(self.processes, ranks, strict=True):
            process.rank = rank
            process.begin()
        while True:
            self._arrivals()
            waiting = [one for one in self.processes if not one.done]
            if not waiting:
                break
            self._choose(waiting).go_on()
            self.steps += 1
            self.now_ms += self.rng.randrange(1, 8)
            if self.steps > _MOST_STEPS:
                raise Violation(f"no end after {self.steps} steps: {[one.name for one in waiting]}")
        self._hub = None
        while self.delayed:
            self._arrive(self.delayed.pop(0))

    def close(self) -> None:
        """Ends processes that a violation has left in the middle of a statement."""
        self._hub, self.is_open = None, False
        if self.shared is not None:
            self.shared.close()
        for process in self.processes:
            process.end()

    @property
    def is_running(self) -> bool:
        return self._hub is not None

    def struck(self, strikes: Callable[[Fault], bool]) -> str | None:
        """What one of the faults does where it strikes; every one of them is asked, as they count."""
        struck = [fault for fault in self.faults if strikes(fault)] if self.is_running else []
        return struck[0].what if struck else None

    def wait(self) -> None:
        """Gives the next step to somebody."""
        if self._hub is not None:
            self._hub.switch()

    def wait_for(self, event: threading.Event, seconds: float) -> bool:
        """The wait of whoever has the step, for threads that have one queue."""
        assert self._last is not None
        return self._last.wait_for(event, seconds)

    def later(self, effect: Callable[[], Any], by: Process) -> None:
        self.delayed.append((self.steps + self.rng.choice((1, 5, 30, 150, 600)), effect, by))

    def _arrivals(self) -> None:
        due = [one for one in self.delayed if one[0] <= self.steps]
        self.delayed = [one for one in self.delayed if one[0] > self.steps]
        for one in due:
            self._arrive(one)

    def _arrive(self, one: tuple[int, Callable[[], Any], Process]) -> None:
        _, effect, by = one
        self.trace.append((self.steps, by.name, "a delayed write arrives"))
        try:
            effect()
        except (FileExistsError, FileNotFoundError) as refusal:
            self.trace.append((self.steps, by.name, "  and is refused", type(refusal).__name__))

    def _choose(self, waiting: list[Process]) -> Process:
        ready = [one for one in waiting if one.wakes_ms <= self.now_ms and one.hung_until <= self.steps]
        if not ready:
            awake = [one for one in waiting if one.hung_until <= self.steps] or waiting
            chosen = min(awake, key=lambda one: (one.hung_until, one.wakes_ms, one.rank))
            self.now_ms = max(self.now_ms, chosen.wakes_ms)
            self.steps = max(self.steps, chosen.hung_until)
        elif self.policy == "ranked":
            if self.rng.random() < 0.02:
                self.rng.choice(ready).rank = self.rng.randrange(1_000)
            chosen = max(ready, key=lambda one: one.rank)
        elif self.policy == "sticky" and self._last in ready and self.rng.random() < self._stickiness:
            assert self._last is not None
            chosen = self._last
        else:
            chosen = self.rng.choice(ready)
        self._last = chosen
        return chosen


class Process:
    """One process of a session: statements one after the other, with a clock, randomness and caches of its own.

    When it is killed another one of its name goes on with the next statement.
    """

    def __init__(self, world: World, name: str, seed: object) -> None:
        self.world = world
        self.name = name
        self.rng = random.Random(f"{name} {seed}")
        self.clock_skew_ms = 0
        self.io = ProcessIO(self)
        self.catalog: WarehouseCatalog | SqlCatalog | RestCatalog = (
            WarehouseCatalog("lake", WAREHOUSE, self.io)
            if world.shared is None
            else world.shared.catalog_of(self, WAREHOUSE)
        )
        self.manifests = ManifestCache()
        self.queue = AttemptQueue(self.wait_for)
        self.statements: list[Statement] = []
        self.statement: Statement | None = None
        self.killed = False
        self.done = False
        self.wakes_ms = 0
        self.hung_until = 0
        self.rank = 0
        self._greenlet: greenlet | None = None

    def begin(self) -> None:
        self._greenlet = greenlet(self._run)

    def end(self) -> None:
        self.killed = True
        if self._greenlet is not None and not self._greenlet.dead:
            with suppress(Killed):
                self._greenlet.throw(Killed)

    def go_on(self) -> None:
        assert self._greenlet is not None
        self._greenlet.switch()

    def clock(self) -> int:
        return self.world.now_ms + self.clock_skew_ms

    def wait_for(self, event: threading.Event, seconds: float) -> bool:
        """Lets the others go on until the event has come, or that time is over."""
        end_ms = self.world.now_ms + int(seconds * 1000)
        while not event.is_set() and self.world.now_ms < end_ms:
            self.sleep(_LOOK_EVERY_S)
        return event.is_set()

    def sleep(self, seconds: float) -> None:
        if self.killed:
            raise Killed
        self.wakes_ms = self.world.now_ms + int(seconds * 1000)
        self.world.wait()

    def hang(self) -> None:
        """Lets the others go on for long."""
        self.hung_until = self.world.steps + _HANG_STEPS
        self.world.wait()

    def befallen(self, point: str) -> str | None:
        """What befalls the process at a point of its catalog's server or database. `Killed` where it ends there."""
        return self.takes_step(lambda: self.world.struck(lambda fault: fault.strikes_at(point)), point)

    def takes_step(self, struck: Callable[[], str | None], *told: str) -> str | None:
        """One more step, which `told` tells in the trace; what `struck` says befalls the process there. `Killed` where
        it ends there."""
        if self.killed:
            raise Killed
        self.world.wait()
        what = struck()
        self.world.trace.append((self.world.steps, self.name, *told, what))
        if what == "hung":
            self.hang()
        if what == "killed before":
            self.killed = True
            raise Killed
        return what

    def execute(self, statement: Statement) -> None:
        """Runs a statement to one of its outcomes. Violation for an error that is none of ours."""
        self.statement = statement
        self.world.trace.append((self.world.steps, self.name, "begins", statement))
        try:
            statement.run(self)
            statement.outcome = "acknowledged"
        except Killed:
            statement.outcome = "killed"
        except CommitStateUnknown as unknown:
            statement.outcome, statement.error, statement.was_unknown = "unknown", unknown, True
        except SqlextError as error:
            statement.outcome, statement.error = "refused", error
        except OSError as error:
            raise Violation(f"{statement} ended in a bare {error!r}") from error
        if not self.world.is_open:
            return
        self.world.trace.append((self.world.steps, self.name, statement.outcome, statement, statement.error))
        self.world.ended(statement)
        if self.killed:
            self.killed, self.manifests = False, ManifestCache()

    def _run(self) -> None:
        for statement in self.statements:
            self.execute(statement)
            if not self.world.is_open:
                return
        self.done = True


class ProcessIO:
    """`FolderIO` of one process."""

    takes_threads = False

    def __init__(self, process: Process) -> None:
        self._process = process
        self._store = process.world.store

    def read(self, location: str) -> bytes:
        return self._step("read", location, lambda: self._store.read(location))

    def size(self, location: str) -> int:
        return self._step("size", location, lambda: self._store.size(location))

    def exists(self, location: str) -> bool:
        return self._step("exists", location, lambda: self._store.exists(location))

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        by = self._process, self._process.statement
        folder = self._prepared(location, make_folders, confirm)

        def effect() -> None:
            into = self._store.folder_for(location, make_folders) if folder is None else folder
            self._store.create(location, data, folder=into, by=by)

        self._step("create", location, effect)

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        folder = self._prepared(location, False, confirm)

        def effect() -> None:
            into = self._store.folder_for(location, False) if folder is None else folder
            self._store.replace(location, data, folder=into)

        self._step("replace", location, effect)

    def _prepared(self, location: str, make_folders: bool, confirm: Callable[[], None] | None) -> int | None:
        """The identity of the folder that `confirm` has looked at."""
        if confirm is None:
            return None
        folder = self._step("prepare", location, lambda: self._store.folder_for(location, make_folders))
        confirm()
        return folder

    def open_output(self, location: str) -> BinaryIO:
        raise NotImplementedError

    def open_input(self, location: str) -> BinaryIO:
        return self._step("read", location, lambda: self._store.open_input(location))

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        by = self._process, self._process.statement
        folder = self._prepared(location, False, confirm)
        self._step("delete", location, lambda: self._store.delete(location, folder=folder, by=by))

    def list(self, prefix: str) -> Iterator[FileStatus]:
        return self._step("list", prefix, lambda: self._store.list(prefix))

    def require_readable(self, location: str) -> None:
        """Every location may be read."""

    def folder_exists(self, location: str) -> bool:
        return self._step("folder_exists", location, lambda: self._store.folder_exists(location))

    def create_folder(self, location: str) -> None:
        self._step("create_folder", location, lambda: self._store.create_folder(location))

    def list_folders(self, location: str) -> tuple[str, ...]:
        return self._step("list_folders", location, lambda: self._store.list_folders(location))

    def delete_folder(self, location: str) -> None:
        by = self._process, self._process.statement
        self._step("delete_folder", location, lambda: self._store.delete_folder(location, by=by))

    def delete_empty_folder(self, location: str) -> bool:
        return self._step("delete_empty_folder", location, lambda: self._store.delete_empty_folder(location))

    def _step(self, operation: str, location: str, effect: Callable[[], T]) -> T:
        process, world = self._process, self._process.world
        name = location.rpartition("/warehouse/")[2]
        what = process.takes_step(lambda: self._fault(operation, location), operation, name)
        if what == "refused":
            raise refused(operation, location)
        if what == "stale":
            return self._stale(operation, location, effect)
        if what == "cut short":
            whole = effect()
            return whole[: world.rng.randrange(len(whole))] if isinstance(whole, bytes) else whole  # type: ignore[return-value]
        if what in ("reply lost", "no reply", "delayed"):
            if operation in ("delete", "replace"):
                self._half_answered(what, operation, location, effect)
            without_answer(what, operation, effect, lambda one: world.later(one, process))
        try:
            result = effect()
        except (FileNotFoundError, FileExistsError) as answer:
            world.trace.append((world.steps, process.name, "  answer", type(answer).__name__))
            raise
        except Violation:
            process.killed = True
            raise
        if what == "killed after":
            process.killed = True
            raise Killed
        return result

    def _fault(self, operation: str, location: str) -> str | None:
        world = self._process.world
        if not world.is_running:
            return None
        first, last = world.full_between
        if first <= world.steps < last and operation in ("create", "replace"):
            return "refused"
        return world.struck(lambda fault: fault.strikes(operation, location))

    def _half_answered(self, what: str, operation: str, location: str, effect: Callable[[], Any]) -> None:
        """Of these operations an answer that got lost is an error of the store."""
        if what == "reply lost":
            effect()
        if what == "delayed":
            self._process.world.later(effect, self._process)
        raise refused(operation, location)

    def _stale(self, operation: str, location: str, effect: Callable[[], T]) -> T:
        """A listing without its newest files, or a hint from before; other reads are never stale."""
        if operation == "list":
            found: Any = list(effect())  # type: ignore[call-overload]
            newest = max((one.path for one in found), default="")
            return iter([one for one in found if one.path != newest])  # type: ignore[return-value]
        if operation == "read" and kind_of(location) == "hint":
            number = int(effect())  # type: ignore[call-overload]
            return str(max(1, number - 1)).encode()  # type: ignore[return-value]
        return effect()
