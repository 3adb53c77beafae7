"""Abilities in a console of SQL, which prints rows, with tabs between cells, and errors one after the other: a marker
tells them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from matrix.ability import Ability
from matrix.attempts import Attempt

_MARKER = re.compile(r"== (\w+) (\d+)")


def statements(chosen: Iterable[Ability]) -> Iterator[str]:
    """Those of the abilities, each after one that prints a marker."""
    for ability in chosen:
        for number, statement in enumerate(ability.statements):
            yield f"SELECT '== {ability.name} {number}'"
            yield statement


def attempts(chosen: Iterable[Ability], lines: Iterable[str], error: re.Pattern[str]) -> Iterator[Attempt]:
    """What the lines of the console say of each ability. `error` matches the first line of a statement's error."""
    printed: dict[tuple[str, int], list[str]] = {}
    current: list[str] = []
    for line in lines:
        marker = _MARKER.fullmatch(line.strip())
        if marker:
            current = printed.setdefault((marker[1], int(marker[2])), [])
        elif line.strip():
            current.append(line.rstrip("\n"))
    for ability in chosen:
        parts = [printed.get((ability.name, number)) for number in range(len(ability.statements))]
        yield _attempt(ability.name, parts, error)


def _attempt(name: str, parts: list[list[str] | None], error: re.Pattern[str]) -> Attempt:
    for number, part in enumerate(parts):
        if part is None:
            return Attempt(name, None, number, "the console ended before it")
        if any(error.match(line) for line in part):
            return Attempt(name, None, number, "\n".join(part))
    return Attempt(name, "\n".join(parts[-1] or []).replace("\t", " "))
