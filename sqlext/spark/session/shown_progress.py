"""Progress of long statements where somebody looks: in a terminal by rich, in a notebook as a line below the cell.

Nothing is shown in the first seconds of a statement, nor where standard error is a pipe or a file, where rich is not
installed (terminals), where `spark.ui.showConsoleProgress` is false, or while another statement is shown. Nothing is
written to standard output.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, TextIO, TypeAlias

from pyspark.sql import SparkSession

from sqlext.spark.session.work_progress import Step, WorkProgress
from sqlext.spark.shim.java_objects import java_context

CONSOLE_PROGRESS = "spark.ui.showConsoleProgress"
_DELAY_S = 2.0
_INTERVAL_S = 0.25


class Display(Protocol):
    """Shows one statement, from its creation to `end`, which leaves nothing behind."""

    def show(self, title: str, step: Step | None) -> None: ...

    def end(self) -> None: ...


Opened: TypeAlias = Callable[[], Display]


def display_for(settings: Mapping[str, Any], stream: TextIO, variables: Mapping[str, str]) -> Opened | None:
    """How progress is shown to a user of this process; None if nobody looks. `stream` is standard error, `variables`
    are those of the process's environment."""
    if str(settings.get(CONSOLE_PROGRESS, "")).lower() == "false":
        return None
    if _is_notebook():
        return NotebookDisplay
    if not stream.isatty() or variables.get("TERM") == "dumb" or find_spec("rich") is None:
        return None
    return lambda: TerminalDisplay(stream)


class ShownProgress:
    """Shows the statements of an application, one at a time; the others go on unseen."""

    def __init__(
        self, settings: Mapping[str, Any], *, delay_s: float = _DELAY_S, interval_s: float = _INTERVAL_S
    ) -> None:
        """`settings` are those of the application. A statement is shown after `delay_s` seconds, and anew each
        `interval_s`."""
        self._settings = settings
        self._delay_s = delay_s
        self._interval_s = interval_s
        self._shown = threading.Lock()
        self._spark_shows_jobs = str(settings.get(CONSOLE_PROGRESS, "")).lower() == "true"

    @contextmanager
    def of(self, spark: SparkSession, title: str) -> Iterator[WorkProgress]:
        """Shows the statement of this title while it lasts: what it tells to the `WorkProgress`, or else the tasks of
        its jobs."""
        opened = display_for(self._settings, sys.stderr, os.environ)
        # PySpark has Spark draw a bar of its jobs in the terminal, in the same line.
        beside_spark = self._spark_shows_jobs and opened is not NotebookDisplay
        with self.watched(title, opened, None if beside_spark else lambda: running_tasks(spark, title)) as work:
            yield work

    @contextmanager
    def watched(
        self, title: str, opened: Opened | None, tasks: Callable[[], Step | None] | None
    ) -> Iterator[WorkProgress]:
        """As `of`, on the display that `opened` makes; None: nobody looks. Without `tasks` only steps are shown."""
        work, ended = WorkProgress(), threading.Event()
        if opened is None:
            yield work
            return

        def watch(opened: Opened) -> None:
            if ended.wait(self._delay_s) or not self._shown.acquire(blocking=False):
                return
            display: Display | None = None
            try:
                while not ended.is_set():
                    step = work.now or (None if tasks is None else tasks())
                    if display is None and (step is not None or tasks is not None):
                        display = opened()
                    if display is not None:
                        display.show(title, step)
                    ended.wait(self._interval_s)
            except Exception:
                pass
            finally:
                if display is not None:
                    display.end()
                self._shown.release()

        watcher = threading.Thread(target=watch, args=(opened,), name="sqlext-progress", daemon=True)
        watcher.start()
        try:
            yield work
        finally:
            ended.set()
            watcher.join()


def running_tasks(spark: SparkSession, title: str = "") -> Step | None:
    """The tasks of the running jobs whose names have the title, see `JobNames`, or of all; None without one."""
    context = java_context(spark.sparkContext)
    store = context.statusStore()
    phase, done, total = "", 0, 0
    for number in context.statusTracker().getActiveJobIds():
        job = store.job(number)
        name = str(job.description().get()) if job.description().isDefined() else ""
        if title in name:
            phase = name.partition(title)[2].strip(": ") if title else ""
            done += job.numCompletedTasks() + job.numSkippedTasks()
            total += job.numTasks()
    return Step(phase or "tasks", done, total) if total else None


class TerminalDisplay:
    """A bar in the terminal behind `stream`, which vanishes at the end."""

    def __init__(self, stream: TextIO) -> None:
        console, bars = import_module("rich.console"), import_module("rich.progress")
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(bar_width=24),
            bars.TextColumn("{task.fields[figures]}", markup=False),
            bars.TimeElapsedColumn(),
            console=console.Console(file=stream),
            transient=True,
            # Otherwise what the program prints would go to standard error too.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=None, figures="")
        self._bar.start()

    def show(self, title: str, step: Step | None) -> None:
        done, total = (0, None) if step is None else (step.done, step.total)
        self._bar.update(
            self._task, description=_named(title, step), completed=done, total=total, figures=_figures(step)
        )

    def end(self) -> None:
        self._bar.stop()


class NotebookDisplay:
    """A line of text below the cell of a notebook, which is emptied at the end."""

    def __init__(self) -> None:
        self._handle = import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, title: str, step: Step | None) -> None:
        self._handle.update({"text/plain": f"{_named(title, step)} {_figures(step)}".rstrip()}, raw=True)

    def end(self) -> None:
        self._handle.update({"text/plain": ""}, raw=True)


def _named(title: str, step: Step | None) -> str:
    return title if step is None else f"{title}: {step.what}"


def _figures(step: Step | None) -> str:
    if step is None:
        return ""
    return f"{step.done:,}" if step.total is None else f"{step.done:,} of {step.total:,}"


def _is_notebook() -> bool:
    """Whether the process is the kernel of a notebook; IPython in a terminal is none."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
