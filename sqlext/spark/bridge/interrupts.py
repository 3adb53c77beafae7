"""A user's Ctrl-C while a command runs.

PySpark's own handler asks the JVM to cancel over the connection on which the main thread waits for the JVM: the call
fails, the connection is lost, and the statement's clean-up with it. Here another thread asks, and the command, which
runs in a thread of its own, fails and cleans up. The state is the module's, as a process has one SIGINT.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pyspark import SparkContext

from sqlext.errors import CommitStateUnknown

_REPEAT_S = 0.2

_lock = threading.Lock()
_running = 0
_requested = threading.Event()
_handlers: list[object] = []


def install(running: Callable[[], SparkContext | None]) -> None:
    """Takes SIGINT, where Python allows it: in the main thread. Outside of commands the handler before has it.

    `running` tells the application of the moment, as one that is stopped may be followed by another.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous in _handlers:
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if not (_running and _waits_for_jvm(frame)):
            if callable(previous):
                previous(number, frame)
        elif not _requested.is_set():
            _requested.set()
            threading.Thread(target=_cancel_jobs, args=(running,), daemon=True).start()

    _handlers[:] = [handle]
    signal.signal(signal.SIGINT, handle)


@contextmanager
def heeded() -> Iterator[None]:
    """Within it a failure that an interrupt caused becomes KeyboardInterrupt, but for one that leaves a commit open."""
    global _running
    with _lock:
        _running += 1
    try:
        yield
    except CommitStateUnknown:
        raise
    except Exception as failure:
        if _requested.is_set():
            raise KeyboardInterrupt from failure
        raise
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                _requested.clear()


def raise_if_requested() -> None:
    """KeyboardInterrupt where the user has asked for it: for the time after the last Spark job of a command."""
    if _requested.is_set():
        raise KeyboardInterrupt


def _cancel_jobs(running: Callable[[], SparkContext | None]) -> None:
    """Again and again: the command may be about to start its next job. Never once no command runs."""
    while _requested.is_set():
        with _lock:
            context = running()
            if _requested.is_set() and context is not None:
                context.cancelAllJobs()
        time.sleep(_REPEAT_S)


def _waits_for_jvm(frame: FrameType | None) -> bool:
    """Whether the main thread is within a call to the JVM, which no exception may tear."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False
