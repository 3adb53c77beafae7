"""Where in a statement a place of the SQL is that was made of it, so that errors are told in the user's own text.

Lowered SQL holds pieces of the statement as they are written: a place is found again by the text around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# So many characters on either side tell a place from others, and are soon compared in a long statement.
_FARTHEST = 500
# Places with so many equal characters on one side are looked at first: of any place there may be one per character.
_NEAREST = 16


@dataclass(frozen=True, slots=True)
class ErrorPlace:
    """A place in a statement: by characters from its beginning; by its line, from 1, and characters in it, from 0."""

    offset: int
    line: int
    position: int


def offset_of(text: str, line: int, position: int) -> int:
    """The offset of a place that is told by line, from 1, and position in it, from 0; the end of the text at most."""
    start = 0
    for _ in range(line - 1):
        end = text.find("\n", start)
        if end < 0:
            return len(text)
        start = end + 1
    return min(start + position, len(text))


def place_in(statement: str, lowered: str, start: int, length: int) -> ErrorPlace | None:
    """The place of the statement from which `length` characters are those of `lowered` from `start` on.

    Of several the one with the most equal characters around it. None where there is none, or two have as many.
    """
    end = start + length
    before, behind = lowered[max(0, start - _FARTHEST) : start], lowered[end : end + _FARTHEST]
    likest: list[tuple[int, int]] = []
    for around in (_NEAREST, 0):
        first = min(start, around)
        offsets = {offset + first for offset in _occurrences(lowered[start - first : end], statement)}
        offsets.update(_occurrences(lowered[start : end + around], statement))
        likest = sorted(
            (_alike(before[::-1], statement, offset - 1, -1) + _alike(behind, statement, offset + length, 1), offset)
            for offset in offsets
        )
        # Those that are left out are less like it: on neither side by so many characters.
        if likest and likest[-1][0] >= 2 * around:
            break
    if not likest or (len(likest) > 1 and likest[-1][0] == likest[-2][0]):
        return None
    offset = likest[-1][1]
    line_start = statement.rfind("\n", 0, offset) + 1
    return ErrorPlace(offset, statement.count("\n", 0, offset) + 1, offset - line_start)


def _occurrences(fragment: str, text: str) -> Iterator[int]:
    """Where the fragment begins in the text, also within an occurrence before; everywhere for an empty one."""
    offset = text.find(fragment)
    while offset >= 0:
        yield offset
        offset = text.find(fragment, offset + 1)


def _alike(wanted: str, text: str, start: int, step: int) -> int:
    """How many characters of the text, from `start` on by steps of 1 or -1, are those of `wanted`."""
    at = start
    for number, character in enumerate(wanted):
        if not 0 <= at < len(text) or text[at] != character:
            return number
        at += step
    return len(wanted)
