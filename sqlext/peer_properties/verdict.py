"""What comes of a property that peers have: done, without effect here, or refused; and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlext.name_pattern import is_named_by

Outcome: TypeAlias = Literal["done", "no effect", "refused"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one property, or of all that the pattern `name` stands for, see `name_pattern`.

    A value that is one of `idle`, in whatever case, asks for nothing that is not done anyway, and passes.
    """

    name: str
    outcome: Outcome
    reason: str = ""
    way_out: str = ""
    idle: tuple[str, ...] = ()

    def is_of(self, name: str) -> bool:
        """Whether it is a property of that name."""
        return is_named_by(self.name, name)

    def is_idle(self, value: str) -> bool:
        """Whether the value asks for nothing that is not done anyway."""
        return value.strip().lower() in self.idle


def done(names: str) -> Iterator[Verdict]:
    """Rows for properties that are honoured, one name a line."""
    return _rows("done", "", "", names)


def no_effect(reason: str, names: str) -> Iterator[Verdict]:
    """Rows for properties that are accepted with a warning, one name a line: none of them changes which rows are seen.

    Behind ` = ` stand the values without a warning, with `|` between them.
    """
    return _rows("no effect", reason, "", names)


def refused(reason: str, way_out: str, names: str) -> Iterator[Verdict]:
    """Rows for properties that are refused, one name a line; behind ` = ` stand the values that are not."""
    return _rows("refused", reason, way_out, names)


def _rows(outcome: Outcome, reason: str, way_out: str, names: str) -> Iterator[Verdict]:
    for line in names.split("\n"):
        name, _, idle = line.strip().partition(" = ")
        if name:
            yield Verdict(name, outcome, reason, way_out, tuple(idle.split("|")) if idle else ())
