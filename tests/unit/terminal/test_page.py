"""The examples of docs/terminal.md, run as they stand: commands, and what is printed where the page says it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from unit.terminal.command_line import CommandLine

PAGE = Path(__file__).resolve().parents[3] / "docs" / "terminal.md"


def examples() -> list[tuple[str, str]]:
    """Each command, and the lines that are printed; none where the page has none."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for example in block.split("$ sqlext ")[1:]:
            command, _, printed = example.partition("\n")
            found.append((command, printed))
    return found


@pytest.mark.parametrize(("command", "printed"), examples(), ids=lambda text: text.partition("\n")[0])
def test_an_example_prints_what_the_page_says(run: CommandLine, command: str, printed: str) -> None:
    done = run(*shlex.split(command))
    assert done.out
    if printed:
        assert words(done.out) == words(printed)


def words(text: str) -> list[list[str]]:
    """The words of each line; columns are as wide as the version of sqlext, which is any."""
    return [re.sub(r"sqlext \d\S*", "sqlext VERSION", line).split() for line in text.splitlines()]


def test_the_page_has_every_command(run: CommandLine) -> None:
    commands = re.findall(r"^  (\w+) ", run("--help").out.partition("Commands:")[2], re.MULTILINE)
    assert len(commands) == 9
    rows = re.findall(r"^\| `sqlext (\w+)", PAGE.read_text(), re.MULTILINE)
    assert rows == commands
