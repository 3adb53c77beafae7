"""What a call of fsck may do, and a row of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlext.scan.checks.finding import Finding


class Repairing(Enum):
    """What a call may do: nothing; what loses no more than is lost; also a table from the files of one whose metadata
    is gone."""

    NOTHING = "false"
    DAMAGE = "true"
    FROM_FILES = "files"


@dataclass(frozen=True, slots=True)
class Answer:
    """One thing that is wrong, with what mends it or has been done."""

    finding: Finding
    repair: str
