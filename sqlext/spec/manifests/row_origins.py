"""Where the rows of a rewritten data file come from: the replaced file and the position of each.

A rewrite that keeps the order of rows has long runs of rows that followed each other before; one run a file, if rows
that were deleted before are not counted. A sort has none, and then a row takes about eight bytes. A commit reads the
origins only if another one has deleted rows of a replaced file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap64

from sqlext.errors import CorruptionError
from sqlext.spec.manifests.position_set import position_array, position_set
from sqlext.spec.types import LongType, NestedField

ORIGIN_COLUMNS = (
    NestedField(2147483000, "__sqlext_source", LongType(), required=True),
    NestedField(2147483001, "__sqlext_position", LongType(), required=True),
)
"""Behind the columns of rows that a rewrite moves, and not stored: a number that the job has given to the row's data
file, and the row's position in it, or its ordinal: see `RowOrigins.dead`."""

Integers = NDArray[np.int64]

_KIND = "file of row origins"
_HEADER = struct.Struct("<qqB")
_NARROW, _WIDE = np.uint32, np.int64


@dataclass(frozen=True, slots=True)
class RowOrigins:
    """The origins of the rows of one data file, in order; `sources` are the paths of replaced files, by number.

    `packed` is as `OriginRuns.packed`, in memory or in a file at `location`. With `dead` it has ordinals in place of
    positions: 0 for the first row of the replaced file that is not in `dead[path]`, the serialized positions of rows
    that were deleted when the rewrite read it.
    """

    sources: tuple[str, ...]
    packed: bytes = b""
    location: str | None = None
    dead: Mapping[str, bytes] | None = None

    def moved(self, read: Callable[[str], bytes], deleted: Mapping[str, BitMap64]) -> BitMap64:
        """The positions in the new file of rows that were at `deleted` positions, by path, of replaced files.

        Positions that the new file has no row of do not count. `read` reads a file. Raises CorruptionError for a file
        of origins.
        """
        moved = BitMap64()
        if deleted.keys().isdisjoint(self.sources):
            return moved
        numbers, firsts, lengths = self._runs(read)
        starts = np.cumsum(lengths) - lengths
        for number, path in enumerate(self.sources):
            positions = self._counted(path, deleted.get(path, BitMap64()))
            of_source = np.flatnonzero(numbers == number)
            if not len(positions) or not len(of_source):
                continue
            of_source = of_source[np.argsort(firsts[of_source], kind="stable")]
            found = np.searchsorted(firsts[of_source], positions, side="right") - 1
            positions, runs = positions[found >= 0], of_source[found[found >= 0]]
            offsets = positions - firsts[runs]
            inside = offsets < lengths[runs]
            moved.update(position_set((starts[runs] + offsets)[inside]))
        return moved

    def _counted(self, path: str, positions: BitMap64) -> Integers:
        """The positions as `packed` has them, without those of dead rows."""
        dead = None if self.dead is None else self.dead.get(path)
        if dead is None:
            return position_array(positions)
        before = BitMap64.deserialize(dead)
        left = position_array(positions - before)
        return left - np.searchsorted(position_array(before), left)

    def _runs(self, read: Callable[[str], bytes]) -> tuple[Integers, Integers, Integers]:
        """Of each run: number of the source, first position there, and length."""
        data = self.packed
        if self.location is not None:
            try:
                data = read(self.location)
            except FileNotFoundError as error:
                raise CorruptionError("CORRUPT_FILE", path=self.location, kind=_KIND, reason=error) from error
        try:
            _, columns = _unpacked(data)
        except (ValueError, OSError, struct.error, pa.ArrowException) as error:
            raise CorruptionError("CORRUPT_FILE", path=self.location or "", kind=_KIND, reason=error) from error
        return columns


def row_origins(
    packed: bytes,
    sources: Mapping[int, str],
    location: str | None = None,
    dead: Mapping[str, bytes] | None = None,
) -> RowOrigins:
    """The origins of a file by `OriginRuns.packed`; `sources` are the paths of replaced files by key. With `location`
    a file there has the packed origins, of which `packed` may be the head alone. `dead` is as in `RowOrigins`."""
    paths = tuple(sources[key] for key in _keys(packed).tolist())
    return RowOrigins(paths, b"" if location is not None else packed, location, dead)


class OriginRuns:
    """Collects the origins of a file's rows as it is written."""

    def __init__(self) -> None:
        self._runs: list[tuple[Integers, Integers, Integers]] = []

    def add(self, sources: Integers, positions: Integers) -> None:
        """The next rows: a key of the replaced file, which the caller chooses, and the position or ordinal there."""
        if not len(positions):
            return
        breaks = np.flatnonzero((np.diff(positions) != 1) | (np.diff(sources) != 0)) + 1
        firsts = np.concatenate(([0], breaks))
        lengths = np.diff(np.concatenate((firsts, [len(positions)])))
        self._runs.append((sources[firsts], positions[firsts], lengths))

    def packed(self) -> bytes:
        """A head with the keys, then the runs, compressed."""
        nothing = np.zeros(0, np.int64)
        sources, firsts, lengths = (
            np.concatenate(parts) for parts in zip(*(self._runs or [(nothing, nothing, nothing)]), strict=True)
        )
        keys, numbers = np.unique(sources, return_inverse=True)
        wide = bool(len(firsts)) and max(int(firsts.max()), int(lengths.max())) > np.iinfo(_NARROW).max
        kind = _WIDE if wide else _NARROW
        columns = b"".join(np.ascontiguousarray(column.astype(kind)).tobytes() for column in (numbers, firsts, lengths))
        head = _HEADER.pack(len(keys), len(firsts), wide) + keys.astype(np.int64).tobytes()
        return head + bytes(pa.compress(columns, codec="zstd", asbytes=True))


def head_of(packed: bytes) -> bytes:
    """The part of `OriginRuns.packed` that has the keys."""
    return packed[: _HEADER.size + 8 * _HEADER.unpack_from(packed)[0]]


def _keys(packed: bytes) -> Integers:
    return np.frombuffer(packed, np.int64, _HEADER.unpack_from(packed)[0], _HEADER.size)


def _unpacked(packed: bytes) -> tuple[Integers, tuple[Integers, Integers, Integers]]:
    count, runs, wide = _HEADER.unpack_from(packed)
    kind: Any = np.dtype(_WIDE if wide else _NARROW)
    data = pa.decompress(packed[_HEADER.size + 8 * count :], 3 * runs * kind.itemsize, codec="zstd", asbytes=True)
    columns = np.frombuffer(data, kind).astype(np.int64).reshape(3, runs)
    return _keys(packed), (columns[0], columns[1], columns[2])
