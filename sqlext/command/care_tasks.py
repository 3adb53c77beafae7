"""Work on tables in the background of a process: one thread, which the end of the process may stop at any moment."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

CARE_THREAD = "sqlext-care"
"""The name of the thread."""
_LOG = logging.getLogger("sqlext")
_MOST_TOLD = 100

# The uuid of a table, and the kind of work.
_Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CareTask:
    """One task, such as the expiry of a table's snapshots. Times are in milliseconds since 1970.

    `told` is what the task did, or why it failed.
    """

    table: str
    kind: str
    state: Literal["waiting", "running", "done", "failed"]
    asked_ms: int
    begun_ms: int | None = None
    ended_ms: int | None = None
    told: str = ""


class CareTasks:
    """The tasks of a process, one after the other; thread-safe. `clock` gives milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._waiting: deque[tuple[_Key, CareTask, Callable[[], str]]] = deque()
        self._open: set[_Key] = set()
        self._commits: dict[str, int] = {}
        self._ended: deque[CareTask] = deque(maxlen=_MOST_TOLD)
        self._asked_ms: dict[_Key, int] = {}
        self._running: CareTask | None = None
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def counted_commit(self, uuid: str) -> int:
        """How many commits to the table of that uuid have been counted before this one."""
        with self._changed:
            before = self._commits.get(uuid, 0)
            self._commits[uuid] = before + 1
            return before

    def ask(
        self,
        uuid: str,
        table: str,
        kind: str,
        work: Callable[[], str],
        *,
        pause_ms: int,
        at_once: bool = False,
    ) -> bool:
        """Has `work` done for the table of that uuid, which returns what it did; False if work of this kind for the
        table waits or runs, or was asked for less than `pause_ms` ago. With `at_once` the caller's thread does it."""
        with self._changed:
            now_ms, key = self._clock(), (uuid, kind)
            since_ms = now_ms - self._asked_ms.get(key, now_ms - pause_ms)
            # A clock that went back ends the pause.
            if key in self._open or 0 <= since_ms < pause_ms:
                return False
            self._asked_ms[key] = now_ms
            self._open.add(key)
            if not at_once:
                self._queue(key, CareTask(table, kind, "waiting", now_ms), work)
        if at_once:
            self._do(key, CareTask(table, kind, "running", now_ms, now_ms), work)
        return True

    def tasks(self) -> Sequence[CareTask]:
        """Those that wait or run, and the last that ended; in the order in which they were asked for."""
        with self._changed:
            running = [] if self._running is None else [self._running]
            return [*self._ended, *running, *(task for _, task, _ in self._waiting)]

    def wait(self, timeout_s: float) -> bool:
        """Waits until nothing is left to do; whether that is so after `timeout_s` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, timeout_s)

    def _work(self) -> None:
        while (begun := self._next()) is not None:
            self._do(*begun)
            with self._changed:
                self._running = None

    def _do(self, key: _Key, task: CareTask, work: Callable[[], str]) -> None:
        ended = replace(task, state="failed", told="interrupted")
        try:
            ended = replace(task, state="done", told=work())
        except Exception as failure:
            if not _is_end_of_process(failure):
                _LOG.warning("%s of %s failed: %s", task.kind, task.table, failure)
                ended = replace(task, state="failed", told=str(failure))
        finally:
            with self._changed:
                self._ended.append(replace(ended, ended_ms=self._clock()))
                self._open.discard(key)

    def _queue(self, key: _Key, task: CareTask, work: Callable[[], str]) -> None:
        """Has the thread, which is started if there is none, do the work. The lock is held."""
        self._waiting.append((key, task, work))
        if self._thread is None:
            thread = threading.Thread(target=self._work, name=CARE_THREAD, daemon=True)
            thread.start()
            self._thread = thread

    def _next(self) -> tuple[_Key, CareTask, Callable[[], str]] | None:
        with self._changed:
            if not self._waiting:
                # The thread ends, so that none is left where nothing is cared for.
                self._thread = None
                self._changed.notify_all()
                return None
            key, task, work = self._waiting.popleft()
            self._running = replace(task, state="running", begun_ms=self._clock())
            return key, self._running, work


def _is_end_of_process(failure: Exception) -> bool:
    """Whether Python starts no more threads, as the process ends: by the text, since there is no class for it."""
    return isinstance(failure, RuntimeError) and "interpreter shutdown" in str(failure)
