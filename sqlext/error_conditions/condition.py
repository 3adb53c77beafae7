"""One error condition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """SQLSTATE and message template of one error condition."""

    sqlstate: str
    template: str
