"""Abilities of sqlext, each in a file of `abilities`, with what it answers on every Spark, in every way to run.

A `.sql` file runs as it is in any SQL front end. Its first comment is the title, the others say:

    -- section: the section of docs/sql.md
    -- expect: the one cell of the last statement, or the cells of its one row with blanks between them
    -- expect error: the error condition with which the last statement is refused
    -- refused on 4.0, 4.1 in Thrift: CONDITION: why these Sparks, in these ways to run, cannot do it

`on` or `in` may be left out. A statement begins at the start of a line, and goes on in lines with indentation.

A `.py` file is an ability of Python's API: its docstring is the title, SECTION and EXPECTED are as above, and
`answer(spark, folder)` gives the cell. REFUSED may have lines as `refused` above.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "abilities"
WAYS = ("driver", "spark-sql", "Thrift", "Connect", "cluster")
"""The ways to run; each is a module of `ways`."""
PYTHON_WAYS = ("driver", "Connect", "cluster")
"""The ways whose program is in Python."""

Answer = Callable[[Any, Path], str]
_REFUSED = re.compile(
    r"refused(?: on (?P<sparks>[\d., ]+))?(?: in (?P<ways>[\w, -]+))?: (?P<condition>[\w.]+): (?P<why>.+)"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error condition of an ability on some Sparks, in some ways to run; where these are empty, on all of them."""

    sparks: tuple[str, ...]
    ways: tuple[str, ...]
    condition: str
    why: str


@dataclass(frozen=True, slots=True)
class Ability:
    """What is run, and what it should answer. One of Python's API has no statements."""

    name: str
    title: str
    section: str
    expected: str
    is_error: bool
    """Whether `expected` is the error condition of the last statement."""
    refusals: tuple[Refusal, ...]
    statements: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        return not self.statements

    def ways(self) -> tuple[str, ...]:
        """The ways to run in which it exists."""
        return PYTHON_WAYS if self.is_python else WAYS

    def refusal(self, spark: str, way: str) -> Refusal | None:
        """How a Spark, such as 4.1, refuses it in a way to run; None where it should answer."""
        for one in self.refusals:
            if (not one.sparks or spark in one.sparks) and (not one.ways or way in one.ways):
                return one
        return None

    def answer(self) -> Answer:
        """The function of an ability of Python's API."""
        answer: Answer = import_module(f"matrix.abilities.{self.name}").answer
        return answer

    def path(self) -> Path:
        return FOLDER / (self.name + (".py" if self.is_python else ".sql"))


@cache
def abilities() -> tuple[Ability, ...]:
    """All of them, by name. Raises ValueError for a file that does not say what an ability says."""
    return tuple(sorted([*_of_sql(), *_of_python()], key=lambda one: one.name))


def _of_sql() -> Iterator[Ability]:
    for path in FOLDER.glob("*.sql"):
        lines = path.read_text().splitlines()
        told = [line.removeprefix("-- ") for line in lines if line.startswith("--")]
        parts = dict(line.split(": ", 1) for line in told[1:] if not line.startswith("refused"))
        expected = parts.get("expect error") or parts.get("expect")
        if "section" not in parts or expected is None:
            raise ValueError(f"{path.name} has no section, or expects nothing")
        statements = _statements([line for line in lines if not line.startswith("--")])
        refusals = tuple(_refusal(path, line) for line in told if line.startswith("refused"))
        yield Ability(path.stem, told[0], parts["section"], expected, "expect error" in parts, refusals, statements)


def _statements(lines: list[str]) -> tuple[str, ...]:
    """Each ends in `;` at the end of a line, and begins at the start of one: the others go on with indentation."""
    statements: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            statements[-1].append(line.strip())
        elif line:
            statements.append([line])
    return tuple(" ".join(parts).removesuffix(";") for parts in statements)


def _of_python() -> Iterator[Ability]:
    for path in FOLDER.glob("*.py"):
        module = ast.parse(path.read_text())
        values = {
            one.targets[0].id: ast.literal_eval(one.value)
            for one in module.body
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        }
        refusals = tuple(_refusal(path, line) for line in values.get("REFUSED", ()))
        title = ast.get_docstring(module) or ""
        yield Ability(path.stem, title, values["SECTION"], values["EXPECTED"], False, refusals, ())


def _refusal(path: Path, line: str) -> Refusal:
    said = _REFUSED.fullmatch(line)
    if said is None:
        raise ValueError(f"{path.name}: not understood: {line}")
    sparks, ways = (tuple(filter(None, re.split(", *", said[part] or ""))) for part in ("sparks", "ways"))
    return Refusal(sparks, ways, said["condition"], said["why"])
