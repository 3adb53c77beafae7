"""Checksums that sqlext writes into its metadata objects: metadata files, manifest lists, manifests, Puffin files.

Each object has its own checksum, a CRC-32 of all its other bytes, where the format lets a writer choose bytes that no
reader interprets: in the sync marker of an Avro file, as a property of a Puffin footer, as the last member of the JSON
of a metadata file, and in the name of a gzipped one. So a checksum never depends on another file, survives
copies, and is gone once another engine writes the object. CRC-32 finds each damage of up to 32 adjacent bits.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import eq

SIZE = 4
"""Of a CRC-32, in bytes."""

# The polynomial of CRC-32 with its bits in the order in which zlib takes them.
_POLYNOMIAL = 0xEDB88320
_WIDTH = 32
_ALL = (1 << _WIDTH) - 1
# So many positions of a bit are looked up at once.
_STRIDE = 4096


class ChecksumState(Enum):
    """Whether bytes are those that their checksum was computed of; ABSENT: none was written."""

    ABSENT = "absent"
    RIGHT = "right"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class PartChecksum:
    """What is known of a part of an object: its CRC-32, its size in bytes, and the power of x, modulo the polynomial,
    that carries the CRC-32 of all bytes before it over it."""

    crc: int
    size: int
    power: int

    @classmethod
    def of(cls, data: bytes) -> PartChecksum:
        return cls(zlib.crc32(data), len(data), _power(8 * len(data)))


def joined(parts: Iterable[bytes | PartChecksum]) -> tuple[int, int]:
    """The CRC-32 and the size of parts one behind the other. A part whose checksum is known is not read: a byte of it
    would take a nanosecond, and the whole takes microseconds."""
    crc = size = 0
    for part in parts:
        if isinstance(part, bytes):
            crc, size = zlib.crc32(part, crc), size + len(part)
        else:
            crc, size = _multiplied(part.power, crc) ^ part.crc, size + part.size
    return crc, size


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


def differs_in_one_bit(found: bytes, expected: bytes) -> bool:
    """Whether bytes of one size differ in a single bit."""
    return len(found) == len(expected) and sum((a ^ b).bit_count() for a, b in zip(found, expected, strict=True)) == 1


def without_flipped_bit(parts: Sequence[bytes], stored: int) -> list[bytes] | None:
    """`parts` with the one bit changed that makes `stored` their CRC-32; None if there is none."""
    computed, size = joined(parts)
    following = _bits_after(computed ^ stored, 8 * size)
    if following is None:
        return None
    byte, bit = divmod(8 * size - 1 - following, 8)
    mended = []
    for part in parts:
        if 0 <= byte < len(part):
            part = part[:byte] + bytes((part[byte] ^ 1 << bit,)) + part[byte + 1 :]
            byte = -1
        elif byte >= 0:
            byte -= len(part)
        mended.append(part)
    return mended


def _multiplied(first: int, second: int) -> int:
    """The product of two polynomials modulo that of CRC-32. The highest bit is the coefficient of 1."""
    product = 0
    while first:
        if first >> _WIDTH - 1:
            product ^= second
        first = first << 1 & _ALL
        second = second >> 1 ^ (_POLYNOMIAL if second & 1 else 0)
    return product


def _power(exponent: int) -> int:
    """x to the power of `exponent`, modulo the polynomial of CRC-32."""
    power, square = 1 << _WIDTH - 1, 1 << _WIDTH - 2
    while exponent:
        if exponent & 1:
            power = _multiplied(power, square)
        square = _multiplied(square, square)
        exponent >>= 1
    return power


def _bits_after(difference: int, bits: int) -> int | None:
    """How many of `bits` follow the one bit whose change changes the CRC-32 by `difference`.

    CRC-32 is linear: one bit changes it by the polynomial, which each bit that follows multiplies by x. So this is a
    discrete logarithm, found by strides (Shanks: baby steps, giant steps).
    """
    near, back = _steps()
    for stride in range(bits // _STRIDE + 1):
        if difference in near:
            following = stride * _STRIDE + near[difference]
            return following if following < bits else None
        difference = _product(back, difference)
    return None


@cache
def _steps() -> tuple[dict[int, int], list[int]]:
    """The change by a bit that is followed by less than a stride of others, and the matrix that goes a stride back."""
    near, value = {}, _POLYNOMIAL
    for following in range(_STRIDE):
        near[value] = following
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    back = []
    for column in range(_WIDTH):
        value = 1 << column
        for _ in range(_STRIDE):
            value = (value ^ _POLYNOMIAL) << 1 | 1 if value >> _WIDTH - 1 else value << 1
        back.append(value)
    return near, back


def _product(matrix: Sequence[int], vector: int) -> int:
    product = 0
    while vector:
        low = vector & -vector
        product ^= matrix[low.bit_length() - 1]
        vector ^= low
    return product
