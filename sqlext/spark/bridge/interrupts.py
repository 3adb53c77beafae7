"""Handling of Ctrl-C while a command runs.

PySpark's handler cancels jobs over the connection on which the main thread waits for the JVM: the call fails, the
connection is lost, and the statement cannot clean up. Here another thread cancels jobs; the command, in its own thread,
fails and cleans up. The state is global, since a process has one SIGINT.
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
    """Handles SIGINT, if called in the main thread. Outside of commands the previous handler is called.

    `running` returns the current application, which may be a later one than at installation.
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
def interruptible() -> Iterator[None]:
    """Inside the block an error after an interrupt becomes KeyboardInterrupt, except CommitStateUnknown."""
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
    """Raises KeyboardInterrupt after an interrupt; for the part of a command after its last Spark job."""
    if _requested.is_set():
        raise KeyboardInterrupt


def _cancel_jobs(running: Callable[[], SparkContext | None]) -> None:
    """Cancels jobs repeatedly, since the command may be about to start one, until no command runs."""
    while _requested.is_set():
        with _lock:
            context = running()
            if _requested.is_set() and context is not None:
                context.cancelAllJobs()
        time.sleep(_REPEAT_S)


def _waits_for_jvm(frame: FrameType | None) -> bool:
    """Whether the main thread is in a call to the JVM, which an exception would break."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False
