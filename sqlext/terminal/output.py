"""What commands print: tables for people and pipes, one JSON document for programs.

Names are data of whoever made the table: control characters, by which a terminal takes orders, are shown as escapes.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

# As wide as any line: in a pipe nothing is folded.
_PIPE_WIDTH = 100_000
# What is left of a text before a table is rather shown row by row: a third of a time or of a snapshot's id is no use.
_LEAST_TEXT = 12
# Of SIMPLE_HEAD: a blank at each side of a column and one between two, of which the outermost are one each side.
_GAP = 3
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def console(*, to_errors: bool = False) -> Console:
    """The console of standard output or standard error: in colours and as wide as the terminal, plain in a pipe."""
    stream = sys.stderr if to_errors else sys.stdout
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, no_color=True, width=_PIPE_WIDTH, soft_wrap=True)


def shown(value: object) -> str:
    """A value as text that a terminal only shows: control characters are escapes, None is empty."""
    if value is None:
        return ""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))


def print_rows(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = (), title: str = ""
) -> None:
    """Prints a table; the columns `right` are aligned to the right, as numbers are.

    On a terminal texts are folded as far as they stay readable, and numbers never. Where that is too wide, each row is
    printed as lines of its columns, so that nothing is cut.
    """
    out = console()
    if title:
        out.print(Text(f"\n{title}" if not out.is_terminal else title, style="bold"))
    told = [[shown(value) for value in row] for row in rows]
    if out.is_terminal and told and _least_width(columns, told, right) > out.width:
        out.print()
        for one in told:
            print_facts(zip(columns, one, strict=True))
            out.print()
        return
    table = Table(box=box.SIMPLE_HEAD if out.is_terminal else None, pad_edge=False, header_style="bold")
    for column in columns:
        is_number = column in right
        table.add_column(
            Text(shown(column)),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number or not out.is_terminal,
        )
    for one in told:
        table.add_row(*map(Text, one))
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        # The last column is padded to its width, which is nothing that a pipe needs.
        out.print(line.rstrip(), markup=False, highlight=False)


def print_facts(facts: Iterable[tuple[str, object]], *, width: int = 0) -> None:
    """Prints a line for each name and value, the values below each other, behind at least `width` columns. Lines are
    broken by the terminal alone, so that what is copied from there is whole."""
    facts = list(facts)
    width = max(width, *(cell_len(shown(name)) + 2 for name, _ in facts)) if facts else width
    out = console()
    for name, value in facts:
        label = set_cell_size(shown(name), width)
        line = Text.assemble((label, "bold"), shown(value))
        line.rstrip()
        out.print(line, soft_wrap=True)


def print_line(text: str, style: str = "") -> None:
    """Prints a line of text."""
    console().print(Text(shown(text), style=style))


def print_lines(text: str) -> None:
    """Prints lines of text, such as a plan."""
    for line in text.splitlines():
        print_line(line)


def print_json(document: object) -> None:
    """Prints one JSON document of plain values, see `plain`."""
    sys.stdout.write(json.dumps(plain(document), indent=2, ensure_ascii=False) + "\n")


def print_error(text: str) -> None:
    """Prints a line to standard error, in red."""
    console(to_errors=True).print(Text(shown(text), style="red"))


def print_error_lines(text: str) -> None:
    """Prints lines of text, such as a statement with a mark below its fault, to standard error."""
    for line in text.splitlines():
        print_error(line)


def plain(value: Any) -> Any:
    """A value as JSON has it: dates and times as ISO 8601, decimals as text, bytes as hexadecimal digits, NaN and
    infinities as their names."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    return str(value)


def _least_width(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> int:
    """The columns of a terminal that a table needs at least."""
    widths = [max(map(cell_len, texts)) for texts in zip(map(shown, columns), *rows, strict=True)]
    least = [width if name in right else min(width, _LEAST_TEXT) for name, width in zip(columns, widths, strict=True)]
    return sum(least) + _GAP * len(least) - 1
