"""Tables on terminals of any width: nothing of a value is left out."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

import pytest

from sqlext.terminal.output import print_facts, print_rows
from unit.terminal.command_line import CommandLine

ID = 1079024229835162801
COLUMNS = ("day", "carrier", "flight", "snapshot", "note")
ROWS = [
    ("2013-12-31", "UA", 1545, ID, "left out late and delayed by the weather"),
    ("2014-01-01", "B6", 9108, ID, None),
]

Printed = Callable[..., list[str]]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """The lines that a terminal of a width is given."""

    def lines(width: int, rows: Sequence[Sequence[object]] = ROWS) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        print_rows(COLUMNS, rows, right=("flight", "snapshot"))
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()

    return lines


@pytest.mark.parametrize("width", range(20, 131))
def test_no_number_is_cut_and_no_column_is_left_out(printed: Printed, width: int) -> None:
    lines = printed(width)
    words = " ".join(lines).split()
    assert words.count(str(ID)) == 2
    assert {*COLUMNS, "1545", "9108", "UA", "B6", "2013-12-31", "2014-01-01", "weather"} <= set(words)
    is_table = any("─" in line for line in lines)
    assert not is_table or all(len(line) <= width for line in lines)


def test_what_is_too_wide_is_shown_row_by_row(printed: Printed) -> None:
    assert printed(40) == [
        "",
        "day       2013-12-31",
        "carrier   UA",
        "flight    1545",
        f"snapshot  {ID}",
        # the terminal breaks it, so that a copy of it is one line
        "note      left out late and delayed by the weather",
        "",
        "day       2014-01-01",
        "carrier   B6",
        "flight    9108",
        f"snapshot  {ID}",
        "note",
        "",
    ]
    assert any("─" in line for line in printed(80))
    assert any("─" in line for line in printed(40, []))


def test_names_of_facts_are_as_wide_as_a_terminal_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts([("名前", "a"), ("id", 5)])
    print_facts([("id", None)], width=9)
    print_facts([])
    assert capsys.readouterr().out == "名前  a\nid    5\nid\n"


def test_a_pipe_has_a_line_for_each_row(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert len(run("history", "db.orders").out.splitlines()) == 4
