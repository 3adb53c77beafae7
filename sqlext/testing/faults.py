"""Faults that a test switches on for a block, in the catalogs that its code works with."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar, cast

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.command.care_tasks import CARE_THREAD
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.loop.transaction import commit
from sqlext.errors import CommitStateUnknown, StorageError
from sqlext.local.local_catalog import LocalCatalog, opened_by
from sqlext.local.local_table import LocalTable
from sqlext.local.sessionless import CATALOG_OPENER, environment_of
from sqlext.properties import COMMIT_STATUS_CHECK_RETRIES
from sqlext.spark.bridge.gateway import attached_bridge
from sqlext.spark.catalog.open_catalogs import OpenCatalog, OpenCatalogs
from sqlext.spark.shim.java_objects import active_context
from sqlext.storage.clock import system_clock
from sqlext.storage.file_io import FolderIO
from sqlext.storage.scheme_io import SchemeIO
from sqlext.testing.file_kind import FILE_KINDS, kind_of
from sqlext.testing.interposed_catalog import CommitPlace, InterposedCatalog
from sqlext.testing.strikes import Strikes
from sqlext.testing.watched_io import Around, WatchedIO

T = TypeVar("T")
Access: TypeAlias = Literal["write", "read", "delete", "list"]
_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "write": ("create", "replace"),
    "read": ("read",),
    "delete": ("delete", "delete_folder"),
    "list": ("list",),
}
_BY_THE_TEST = "a fault of the test (sqlext.testing)"
_IN_WORKERS = ("data file", "deletion vector")


class FaultNotMet(AssertionError):
    """A block has ended, and the code under test has not come to the place of the fault."""


class NoAnswerOfCatalog(Exception):
    """In place of the answer to a status check. The commit loop ends for it at once, in a CommitStateUnknown, where it
    would wait between further checks for an error of a catalog."""


class SwitchedFault:
    """A fault of a block, during it and afterwards."""

    def __init__(self, strikes: Strikes) -> None:
        self._strikes = strikes
        self._met: int | None = None

    @property
    def met(self) -> int:
        """How often it has happened; of one without a number of times, 1 for any number."""
        return self._strikes.met if self._met is None else self._met

    def end(self) -> None:
        """It happens no more."""
        self._met = self.met
        self._strikes.end()


class Faults:
    """Faults for code under test, each switched on by a `with` statement.

    They reach the running Spark application with all its catalogs, catalogs that `sqlext.local.open` opens in this
    thread within the block, and those of `places`: catalogs and tables of `sqlext.local` that were opened before. The
    objects are the real ones: a fault stands at their edge, between a call and its effect, and is gone after the block.

    A fault lets the first `after` occasions through, and happens at the next `times`. A block that ends without that
    raises FaultNotMet, unless `required` is False or another error ends it. Blocks may be nested, or be entered by one
    `with`.

        >>> import sqlext.local
        >>> from sqlext.testing import Faults
        >>> lake = sqlext.local.open(folder)
        >>> lake.create_namespace("shop")
        >>> orders = lake.create_table("CREATE TABLE shop.orders (id BIGINT, buyer STRING, PRIMARY KEY (id))")
        >>> with Faults(lake).lose_next_commit():
        ...     orders.append([{"id": 1, "buyer": "Ada"}])
        1
        >>> orders.metadata("snapshots").num_rows
        2
    """

    def __init__(self, *places: LocalCatalog | LocalTable, further: Callable[[], Iterable[object]] = tuple) -> None:
        """`further` is asked at each block for more places; whatever else it names is passed over."""
        self._places = places
        self._further = further
        self._armed: tuple[_Fault, ...] = ()
        self._interposed = ExitStack()
        self._unanswered = threading.local()

    def reach(self, *places: LocalCatalog | LocalTable) -> None:
        """Has the faults of later blocks reach these too."""
        self._places = (*self._places, *places)

    @contextmanager
    def lose_next_commit(
        self,
        times: int = 1,
        *,
        after: int = 0,
        table: str | None = None,
        by: Callable[[LocalTable], object] | None = None,
        required: bool = True,
    ) -> Iterator[SwitchedFault]:
        """The next commits lose their race: before each, another writer commits to the table.

        So the catalog refuses the commit, and sqlext tries again on the newer version. The other writer adds a snapshot
        without rows, with which nothing conflicts, or does what `by` does with the table as that writer sees it: if it
        changes rows that the statement has read, the statement conflicts, and is run again or fails as in production.

        `table` is a name such as `db.orders`, with backticks or without; by default any table. Commits that create a
        table, and those of care in the background, are let through.
        """
        failures: list[Exception] = []
        befalls, hint = partial(_lose_to, by, failures), self._of_commits(table)
        fault = _CommitFault(
            "lose_next_commit", Strikes.of(times, after), required, hint, table, befalls, failures=failures
        )
        with self._switched_on(fault) as switched:
            yield switched

    @contextmanager
    def lose_answer(
        self,
        times: int = 1,
        *,
        after: int = 0,
        table: str | None = None,
        checked: bool = False,
        required: bool = True,
    ) -> Iterator[SwitchedFault]:
        """The next commits land, and their answers are lost.

        Then neither the catalog answers when sqlext looks whether the commit is there, so that the statement ends in
        COMMIT_STATE_UNKNOWN, and the caller has to find out what became of it. With `checked` it answers, and the
        statement succeeds. Otherwise as `lose_next_commit`; commits that create a table lose their answers too.
        """
        befalls = partial(self._lose_answer, checked)
        fault = _CommitFault(
            "lose_answer", Strikes.of(times, after), required, self._of_commits(table), table, befalls, creations=True
        )
        with self._switched_on(fault) as switched:
            yield switched

    @contextmanager
    def fail_storage(
        self,
        access: Access,
        kind: str | None = None,
        *,
        times: int | None = 1,
        after: int = 0,
        path: str | None = None,
        required: bool = True,
    ) -> Iterator[SwitchedFault]:
        """The store refuses the next accesses: `write`, `read`, `delete` or `list`; with `times=None` all of them.

        `kind` is one of files: `data file` (delete files too), `deletion vector`, `manifest`, `manifest list`,
        `table metadata`, `hint`, and for `list` and deletions `folder`; `path` is a part of the location. By default
        any. Reads are those of sqlext: in Spark, data files are read by Spark, which this does not reach, and what is
        cached is not read.

        Raises ValueError for an access or a kind that there is not.
        """
        if access not in _OPERATIONS:
            raise ValueError(f"the store is not asked to {access!r}, but to {', '.join(_OPERATIONS)}")
        if kind is not None and kind not in FILE_KINDS:
            raise ValueError(f"no files are called {kind!r}; they are called {', '.join(FILE_KINDS)}")
        strikes = Strikes.of(times, after)
        around = _Refusal(strikes, access, kind, path)
        what = f"no file{'' if kind is None else f' of the kind {kind!r}'} was asked of the store to {access}"
        fault = _StorageFault("fail_storage", strikes, required, what, around)
        with self._switched_on(fault) as switched:
            yield switched

    @contextmanager
    def kill_worker(self, times: int = 1, *, required: bool = True) -> Iterator[SwitchedFault]:
        """The next Python workers of Spark that write a file are killed, as by `kill -9`, in the middle of it.

        Spark runs their tasks again, up to `spark.task.maxFailures` times, which in `local[2]` is never, and in
        `local[2, 4]` four times. Few rows are written by the driver, without a worker: the setting
        `sqlext.plan.force` of `tasks` has Spark's tasks write them.
        """
        strikes = Strikes.of(times)
        hint = (
            "no Python worker of Spark wrote a file. The driver writes few rows itself, unless the setting"
            " sqlext.plan.force is tasks"
        )
        fault = _StorageFault("kill_worker", strikes, required, hint, _Killing(strikes, os.getpid()))
        with self._switched_on(fault) as switched:
            yield switched

    # What stands at the edges

    def around_commit(self, place: CommitPlace, send: Callable[[], T]) -> T:
        """A compare-and-swap, with what befalls it."""
        self._unanswered.looks = 0
        if threading.current_thread().name == CARE_THREAD:
            return send()
        for fault in self._armed:
            if isinstance(fault, _CommitFault) and fault.concerns(place):
                send = partial(fault.befalls, fault.strikes, place, send)
        return send()

    def around_load(self, load: Callable[[], T]) -> T:
        """A look at a table, which fails after a lost answer."""
        left = getattr(self._unanswered, "looks", 0)
        if left:
            self._unanswered.looks = left - 1
            raise self._unanswered.error
        return load()

    def _lose_answer(self, checked: bool, strikes: Strikes, place: CommitPlace, send: Callable[[], T]) -> T:
        landed = send()
        if not strikes.take():
            return landed
        if not checked and place.is_alone:
            self._unanswered.looks = 1
            self._unanswered.error = NoAnswerOfCatalog("the answer of the catalog is lost (sqlext.testing)")
        elif not checked:
            self._unanswered.looks = COMMIT_STATUS_CHECK_RETRIES.default + 1
            self._unanswered.error = _refused("Reading", str(place.changes[0].identifier))
        name, reason = str(place.changes[0].identifier), "the answer of the catalog is lost (sqlext.testing)"
        raise CommitStateUnknown("CHANGE_STATE_UNKNOWN", name=name, reason=reason)

    @staticmethod
    def _of_commits(table: str | None) -> str:
        told = "" if table is None else f" of {table}"
        return (
            f"no commit{told} came by. Catalogs that are neither Spark's nor opened within the block are named by"
            " Faults(lake), or by faults.reach(lake) in a test; other processes are not reached"
        )

    # Switching on and off

    @contextmanager
    def _switched_on(self, fault: _Fault) -> Iterator[SwitchedFault]:
        switched = SwitchedFault(fault.strikes)
        try:
            if not self._armed:
                self._interpose(self._interposed)
            self._armed = (*self._armed, fault)
            yield switched
            fault.require_met()
        finally:
            # Blocks need not end in the order in which they began.
            self._armed = tuple(one for one in self._armed if one is not fault)
            if not self._armed:
                self._interposed.close()
            switched.end()
            fault.raise_failure()

    def _interpose(self, stack: ExitStack) -> None:
        """Puts the faults between the catalogs within reach and those that use them."""

        def seen(name: str, opened: OpenCatalog) -> Catalog:
            return self._between(opened.catalog, opened.options, stack)

        def opener(name: str, options: Mapping[str, str]) -> Catalog:
            return self._between(before(name, options), options, stack)

        before = CATALOG_OPENER.get()
        token = CATALOG_OPENER.set(opener)
        stack.callback(CATALOG_OPENER.reset, token)
        for opened in self._within_reach():
            stack.enter_context(opened.seen_through(seen))

    def _within_reach(self) -> Iterable[OpenCatalogs]:
        further = [one for one in self._further() if isinstance(one, LocalCatalog | LocalTable)]
        found = {id(one): one for one in map(opened_by, (*self._places, *further))}
        bridge = attached_bridge(active_context()) if "pyspark" in sys.modules else None
        if bridge is not None:
            found[id(bridge.catalogs.opened)] = bridge.catalogs.opened
        return found.values()

    def _between(self, catalog: Catalog, options: Mapping[str, str], stack: ExitStack) -> Catalog:
        if isinstance(catalog.io, SchemeIO):
            stack.enter_context(catalog.io.seen_through(_Watch(self._storage_faults)))
        return cast(Catalog, InterposedCatalog(catalog, options, self))

    def _storage_faults(self) -> tuple[Around, ...]:
        return tuple(one.around for one in self._armed if isinstance(one, _StorageFault))


@dataclass(frozen=True)
class _Fault:
    """What is to happen; `hint` says why it may not have."""

    name: str
    strikes: Strikes
    required: bool
    hint: str

    def raise_failure(self) -> None:
        """Raises the error of what was to bring the fault about, if it has failed."""

    def require_met(self) -> None:
        met, wanted = self.strikes.met, self.strikes.times or 1
        if self.required and met < wanted:
            expected = "once" if wanted == 1 else f"{wanted} times"
            happened = "not happened" if met == 0 else "happened once" if met == 1 else f"happened {met} times"
            raise FaultNotMet(f"{self.name} was to happen {expected}, and has {happened}: {self.hint}")


@dataclass(frozen=True)
class _CommitFault(_Fault):
    table: str | None
    befalls: Callable[[Strikes, CommitPlace, Callable[[], Any]], Any]
    creations: bool = False
    failures: list[Exception] = field(default_factory=list)

    def raise_failure(self) -> None:
        if self.failures:
            raise self.failures[0]

    def concerns(self, place: CommitPlace) -> bool:
        tables = [one.identifier for one in place.changes if self.creations or one.base is not None]
        if self.table is None:
            return bool(tables)
        names = {name for one in tables for name in (str(one), ".".join((*one.namespace, one.name)))}
        return self.table in names or self.table.removeprefix(f"{place.catalog.name}.") in names


@dataclass(frozen=True)
class _StorageFault(_Fault):
    around: Around


def _lose_to(
    by: Callable[[LocalTable], object] | None,
    failures: list[Exception],
    strikes: Strikes,
    place: CommitPlace,
    send: Callable[[], T],
) -> T:
    """Has another writer, with a catalog of its own, commit first. Its failure is none of the statement's."""
    if strikes.take():
        try:
            _commit_elsewhere(by, place)
        except Exception as failure:
            failures.append(failure)
    return send()


def _commit_elsewhere(by: Callable[[LocalTable], object] | None, place: CommitPlace) -> None:
    name = place.catalog.name
    environment = environment_of(name, place.options, open_catalog)
    identifier = next(one.identifier for one in place.changes if one.base is not None)
    if by is not None:
        by(LocalTable(environment, (name, *identifier.namespace, identifier.name)))
        return
    catalog = environment.catalogs.catalog(name)
    table = catalog.load_table(identifier)
    commit(catalog, identifier, AppendFiles(()), base=table, clock=system_clock, rng=random.Random())


class _Watch:
    """Has each call of a store pass the storage faults of the moment; a copy in a worker has those of its making."""

    def __init__(self, faults: Callable[[], tuple[Around, ...]]) -> None:
        self._faults = faults

    def __call__(self, store: FolderIO) -> FolderIO:
        for around in self._faults():
            store = WatchedIO(store, around)
        return store

    def __reduce__(self) -> tuple[Any, ...]:
        return _watch_with, (self._faults(),)


def _watch_with(faults: tuple[Around, ...]) -> _Watch:
    return _Watch(lambda: faults)


@dataclass(frozen=True)
class _Refusal:
    strikes: Strikes
    access: Access
    kind: str | None
    path: str | None

    def __call__(self, operation: str, location: str, effect: Callable[[], Any]) -> Any:
        if self._concerns(operation, location) and self.strikes.take():
            raise _refused({"write": "Writing", "read": "Reading"}.get(self.access, operation), location)
        return effect()

    def _concerns(self, operation: str, location: str) -> bool:
        is_kind = self.kind is None or kind_of(location) == self.kind
        return operation in _OPERATIONS[self.access] and is_kind and (self.path is None or self.path in location)


@dataclass(frozen=True)
class _Killing:
    """Kills processes other than the driver."""

    strikes: Strikes
    driver: int

    def __call__(self, operation: str, location: str, effect: Callable[[], Any]) -> Any:
        if os.getpid() == self.driver or operation != "create" or kind_of(location) not in _IN_WORKERS:
            return effect()
        if not self.strikes.take():
            return effect()
        stream = effect()
        if stream is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return _DyingStream(stream)


class _DyingStream:
    """A stream whose writer dies after its first bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, data: Any) -> None:
        self._stream.write(data)
        os.kill(os.getpid(), signal.SIGKILL)


def _refused(operation: str, location: str) -> StorageError:
    return StorageError("STORAGE_FAILURE", operation=operation, path=location, reason=_BY_THE_TEST)
