"""Names that can have been meant by one that is none: the one measure for all suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is a slip of; None where there is none, as a guess may lead to something else.

    A slip writes the same letters with other separators or case, leaves out or adds whole words around at least two,
    or has another letter in every six at most.
    """
    measured = [(far, one) for one in known if (far := _far(_words(name), _words(one))) is not None]
    return min(measured)[1] if measured else None


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """`Did you mean …?` where a name is near enough, else what `otherwise` says."""
    near = nearest(name, known)
    return otherwise if near is None else f"Did you mean {near}?"


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[-._\s]+", _HUMP.sub("-", name).lower()) if word)


def _far(given: tuple[str, ...], known: tuple[str, ...]) -> int | None:
    """How far two names are from one another, or None for too far."""
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
    """Letters that are added, left out or changed, or change places with the next."""
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
