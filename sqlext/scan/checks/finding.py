"""What a check of a table finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """ERROR: rows or versions cannot be read, or are read wrongly. WARNING: nothing is read wrongly yet, but something
    is not what it says. NOTICE: it is allowed, and superfluous."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Check(Enum):
    """What was looked at."""

    UNREADABLE = "unreadable"
    CHECKSUM = "checksum"
    MISSING = "missing"
    SIZE = "size"
    POINTER = "pointer"
    ID = "id"
    REFERENCE = "reference"
    HISTORY = "history"
    SEQUENCE_NUMBER = "sequence number"
    ROW_ID = "row id"
    PARTITION_SPEC = "partition spec"
    PARTITION_VALUE = "partition value"
    BOUND = "bound"
    COUNT = "count"
    TOTAL = "total"
    DUPLICATE = "duplicate"
    DANGLING_DELETE = "dangling delete"
    DELETION_VECTOR = "deletion vector"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, at the object `path`. `snapshot_id` is the newest snapshot that has the
    object, None for what is of no snapshot. `way_out` says what mends it."""

    check: Check
    path: str
    found: str
    expected: str
    severity: Severity = Severity.ERROR
    snapshot_id: int | None = None
    way_out: str = ""
