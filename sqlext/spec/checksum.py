"""Checksums that sqlext writes into its metadata objects: metadata files, manifest lists, manifests, Puffin files.

Each object has its own checksum, a CRC-32 of all its other bytes, where the format lets a writer choose bytes that no
reader interprets: in the sync marker of an Avro file, as a property of a Puffin footer, as the last member of the JSON
of a metadata file, and as the extra field of a gzipped one. So a checksum never depends on another file, survives
copies, and is gone once another engine writes the object. CRC-32 finds each damage of up to 32 adjacent bits.
"""

from __future__ import annotations

from enum import Enum
from operator import eq

SIZE = 4
"""Of a CRC-32, in bytes."""


class ChecksumState(Enum):
    """Whether bytes are those that their checksum was computed of; ABSENT: none was written."""

    ABSENT = "absent"
    RIGHT = "right"
    WRONG = "wrong"


def state(mark: bytes, expected_mark: bytes, stored: bytes, computed: bytes) -> ChecksumState:
    """The state of an object in which `mark` is found where sqlext writes `expected_mark`, with the checksum `stored`.

    Damage may be in the mark, so a mark that is like the expected one says that a checksum was written.
    """
    if not _resembles(mark, expected_mark):
        return ChecksumState.ABSENT
    is_right = mark == expected_mark and stored == computed
    return ChecksumState.RIGHT if is_right else ChecksumState.WRONG


def _resembles(mark: bytes, expected: bytes) -> bool:
    """Whether three in four bytes are equal. Of 8 random bytes so many are by a chance of 4e-13."""
    return len(mark) == len(expected) and 4 * sum(map(eq, mark, expected)) >= 3 * len(expected)
