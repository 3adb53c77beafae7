"""Suggestions for a misspelt name, by edit distance and by words."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name in `known` that `name` is most likely a misspelling of; None if no name is similar enough.

    Names are similar if they differ only in case and separators, if one consists of two or more adjacent words of the
    other, or if at most one letter in six differs.
    """
    measured = [(far, one) for one in known if (far := _far(_words(name), _words(one))) is not None]
    return min(measured)[1] if measured else None


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """`Did you mean …?` with the nearest name, or `otherwise` if none is similar enough."""
    near = nearest(name, known)
    return otherwise if near is None else f"Did you mean {near}?"


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[-._\s]+", _HUMP.sub("-", name).lower()) if word)


def _far(given: tuple[str, ...], known: tuple[str, ...]) -> int | None:
    """The edit distance of two names, 0 if only separators differ; None if they are not similar."""
    if "".join(given) == "".join(known):
        return 0
    text, other = "-".join(given), "-".join(known)
    distance = _distance(text, other)
    if distance <= max(1, max(len(text), len(other)) // 6) and 2 * distance < min(len(text), len(other)):
        return distance
    shorter, longer = sorted((given, known), key=len)
    within = any(longer[at : at + len(shorter)] == shorter for at in range(len(longer) - len(shorter) + 1))
    return distance if within and len(shorter) >= 2 else None


def _distance(text: str, other: str) -> int:
    """The Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of adjacent letters."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(text, 1):
        after = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(row[j] + 1, after[j - 1] + 1, row[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and text[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            after.append(cost)
        before, row = row, after
    return row[-1]
