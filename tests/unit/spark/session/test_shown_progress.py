"""Progress is shown where somebody looks, after a while, one statement at a time, and never on standard output."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import pytest

from sqlext.spark.session import shown_progress
from sqlext.spark.session.shown_progress import Display, NotebookDisplay, ShownProgress, TerminalDisplay, display_for
from sqlext.spark.session.work_progress import Step


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Recorded(Display):
    """Keeps what it is told, and says when it has been told `count` times."""

    def __init__(self, count: int) -> None:
        self.shown: list[tuple[str, Step | None]] = []
        self.ended = False
        self._count = count
        self.enough = threading.Event()

    def show(self, title: str, step: Step | None) -> None:
        self.shown.append((title, step))
        if len(self.shown) >= self._count:
            self.enough.set()

    def end(self) -> None:
        self.ended = True


def shown() -> ShownProgress:
    return ShownProgress({}, delay_s=0.01, interval_s=0.01)


def nothing() -> None:
    return None


@pytest.mark.parametrize(
    ("settings", "stream", "variables", "is_shown"),
    [
        ({}, Terminal(), {"TERM": "xterm"}, True),
        ({shown_progress.CONSOLE_PROGRESS: "true"}, Terminal(), {}, True),
        ({shown_progress.CONSOLE_PROGRESS: "False"}, Terminal(), {}, False),
        ({}, io.StringIO(), {}, False),
        ({}, Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_who_looks(
    settings: Mapping[str, str], stream: io.StringIO, variables: Mapping[str, str], is_shown: bool
) -> None:
    assert (display_for(settings, stream, variables) is not None) == is_shown


def test_without_rich_a_terminal_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_progress, "find_spec", lambda name: None)
    assert display_for({}, Terminal(), {}) is None


def test_a_notebook_needs_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    handle = SimpleNamespace(update=lambda data, raw: told.append(data["text/plain"]))
    display = SimpleNamespace(display=lambda data, **options: handle)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    )
    opened = display_for({}, io.StringIO(), {})
    assert opened is NotebookDisplay
    below = opened()
    below.show("CALL fsck", Step("check files", 12, 3_456))
    below.end()
    assert told == ["CALL fsck: check files 12 of 3,456", ""]


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))
    assert display_for({}, io.StringIO(), {}) is None


def test_a_bar_in_a_terminal_is_on_its_stream_alone(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Terminal()
    bar = TerminalDisplay(stream)
    bar.show("CALL lake.system.fsck on db.t", Step("check files", 12, 3_456))
    print("of the program")
    bar.end()
    assert "check files" in stream.getvalue()
    assert "12 of 3,456" in stream.getvalue()
    assert capsys.readouterr().out == "of the program\n"


def test_a_step_is_shown_before_the_tasks_of_jobs() -> None:
    display = Recorded(2)
    with shown().watched("MERGE INTO t", lambda: display, lambda: Step("write files", 1, 8)) as work:
        assert display.enough.wait(10)
        display.enough.clear()
        for _ in work.counted("delete files", [1], 1):
            while ("MERGE INTO t", Step("delete files", 0, 1)) not in display.shown:
                assert display.enough.wait(10)
                display.enough.clear()
    assert display.shown[0] == ("MERGE INTO t", Step("write files", 1, 8))
    assert display.ended


def test_short_statements_are_not_shown() -> None:
    opened: list[int] = []
    with ShownProgress({}, delay_s=60).watched("INSERT INTO t", lambda: opened.append(1) or Recorded(1), nothing):
        pass
    assert opened == []


def test_a_second_statement_is_not_shown_beside_the_first() -> None:
    both, first, second = shown(), Recorded(1), Recorded(1)
    with both.watched("first", lambda: first, nothing):
        assert first.enough.wait(10)
        with both.watched("second", lambda: second, nothing):
            assert not second.enough.wait(0.2)
    third = Recorded(1)
    with both.watched("third", lambda: third, nothing):
        assert third.enough.wait(10)


def test_beside_spark_s_own_bar_only_other_work_is_shown() -> None:
    display = Recorded(1)
    with shown().watched("MERGE INTO t", lambda: display, None) as work:
        assert not display.enough.wait(0.2)
        for _ in work.counted("delete files", [1], 1):
            assert display.enough.wait(10)
    assert display.shown[0] == ("MERGE INTO t", Step("delete files", 0, 1))


@pytest.mark.parametrize("broken", ["open", "tasks"])
def test_a_failure_to_show_is_none_of_the_statement(broken: str) -> None:
    def fail() -> None:
        failed.set()
        raise OSError("the terminal is gone")

    failed = threading.Event()
    opened: Callable[[], Display] = (lambda: fail() or Recorded(1)) if broken == "open" else (lambda: Recorded(1))
    with shown().watched("first", opened, fail if broken == "tasks" else nothing):
        assert failed.wait(10)


def test_an_error_of_the_statement_passes() -> None:
    display = Recorded(1)

    def refused() -> None:
        with shown().watched("first", lambda: display, nothing):
            assert display.enough.wait(10)
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        refused()
    assert display.ended
