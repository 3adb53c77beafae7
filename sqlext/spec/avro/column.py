"""Columns of decoded values: integers, byte strings, maps and lists, in as few bytes as their values need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = npt.NDArray[np.int64] | None
"""Numbers of rows; None: all."""

# For fewer words a row, a step of numpy for each column of them takes less than one for all columns.
_FEW_WORDS = 12
_SIGNED = tuple(np.dtype(f"i{width}") for width in (1, 2, 4, 8))


@dataclass(frozen=True, slots=True)
class Integers:
    """A column of integers: `values` has one per row, or a single one for all; `valid` None means no nulls."""

    size: int
    values: npt.NDArray[np.integer[Any]]
    valid: Mask | None = None

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes) + (0 if self.valid is None else int(self.valid.nbytes))

    def array(self) -> npt.NDArray[np.int64]:
        """One value per row; that of a null is arbitrary."""
        return np.broadcast_to(self.values.astype(np.int64), (self.size,))

    def pick(self, rows: Sequence[int]) -> list[int | None]:
        return _picked(self.values, self.valid, rows)


@dataclass(frozen=True, slots=True)
class OneWidth:
    """Byte strings of one width, of which bytes that are the same in all are held once, as in paths of one folder.

    `common` is one of them, and `differing` (rows or 1, places) has the bytes of all at `places`, which differ.
    """

    common: bytes
    places: npt.NDArray[np.intp]
    differing: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, values: npt.NDArray[np.uint8]) -> OneWidth:
        """`values` is a contiguous array (rows, width) with at least one row."""
        places = _differing_places(values)
        return cls(values[0].tobytes(), places, values[:, places] if len(places) else values[:1, :0])

    @property
    def nbytes(self) -> int:
        return len(self.common) + int(self.places.nbytes) + int(self.differing.nbytes)

    def array(self) -> npt.NDArray[np.uint8]:
        """All bytes: an array (rows or 1, width)."""
        return self._with(self.differing)

    def pick(self, rows: Sequence[int]) -> list[bytes]:
        if not len(self.places):
            return [self.common] * len(rows)
        return [row.tobytes() for row in self._with(self.differing[np.asarray(rows, np.int64)])]

    def spread(self, rows: npt.NDArray[np.int64], size: int) -> OneWidth:
        """`size` byte strings, of which those of `rows` are these. Others are one of them, not made-up bytes, which may
        be no text."""
        if not len(self.places):
            return self
        differing = np.repeat(self.differing[:1], size, axis=0)
        differing[rows] = self.differing
        return OneWidth(self.common, self.places, differing)

    def _with(self, differing: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        whole = np.empty((len(differing), len(self.common)), np.uint8)
        whole[:] = np.frombuffer(self.common, np.uint8)
        whole[:, self.places] = differing
        return whole


def _differing_places(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.intp]:
    """Places of the bytes in which the rows of an array differ."""
    width = values.shape[1]
    words = values.view(f"u{next(size for size in (8, 4, 2, 1) if width % size == 0)}")
    if words.shape[1] <= _FEW_WORDS:
        differences = np.array([np.bitwise_or.reduce(column ^ column[0]) for column in words.T])
    else:
        differences = np.bitwise_or.reduce(words ^ words[0], axis=0)
    return np.flatnonzero(differences.view(np.uint8))


@dataclass(frozen=True, slots=True)
class Octets:
    """A column of byte strings, which are Arrow's where their widths differ; `valid` as above."""

    size: int
    values: OneWidth | pa.BinaryArray
    valid: Mask | None = None

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes) + (0 if self.valid is None else int(self.valid.nbytes))

    @property
    def width(self) -> int | None:
        """The width of all values, None if they differ."""
        return len(self.values.common) if isinstance(self.values, OneWidth) else None

    def one_or_all(self) -> pa.BinaryArray:
        """One value per row, or a single one for all; a null is null, or one of the values. What is made of a single
        one holds for all rows, and has to be spread over them."""
        if not isinstance(self.values, OneWidth):
            return self.values
        array = self.values.array()
        rows, width = array.shape
        offsets = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
        values = pa.py_buffer(array)
        return pa.Array.from_buffers(pa.binary(), rows, [None, offsets, values])

    def pick(self, rows: Sequence[int]) -> list[bytes | None]:
        if isinstance(self.values, OneWidth):
            picked = self.values.pick(rows)
            if self.valid is None:
                return list(picked)
            return [value if self.valid[row] else None for row, value in zip(rows, picked, strict=True)]
        found: list[bytes | None] = self.values.take(pa.array(rows, pa.int64())).to_pylist()
        return found


@dataclass(frozen=True, slots=True)
class Pairs:
    """A column of maps with integer keys: a column for each key that is in some map; `valid` as of integers."""

    size: int
    columns: Mapping[int, Integers | Octets]
    valid: Mask | None = None

    @property
    def nbytes(self) -> int:
        own = 0 if self.valid is None else int(self.valid.nbytes)
        return own + sum(column.nbytes for column in self.columns.values())

    def pick(self, rows: Sequence[int]) -> list[dict[int, Any] | None]:
        picked: list[dict[int, Any] | None] = [{} if self.valid is None or self.valid[row] else None for row in rows]
        for key, column in self.columns.items():
            for into, value in zip(picked, column.pick(rows), strict=True):
                if value is not None and into is not None:
                    into[key] = value
        return picked


@dataclass(frozen=True, slots=True)
class Lists:
    """A column of lists of integers: `items[k]` holds the k-th of each, null where the list is shorter."""

    size: int
    items: tuple[Integers, ...]
    valid: Mask | None = None

    @property
    def nbytes(self) -> int:
        return (0 if self.valid is None else int(self.valid.nbytes)) + sum(item.nbytes for item in self.items)

    def pick(self, rows: Sequence[int]) -> list[tuple[int, ...] | None]:
        parts = [item.pick(rows) for item in self.items]
        return [
            tuple(part[at] for part in parts if part[at] is not None)  # type: ignore[misc]
            if self.valid is None or self.valid[row]
            else None
            for at, row in enumerate(rows)
        ]


Column: TypeAlias = Integers | Octets | Pairs | Lists
Columns: TypeAlias = dict[str, Column | None]
"""Columns by name; None: all values are null."""


def _picked(values: npt.NDArray[Any], valid: Mask | None, rows: Sequence[int]) -> list[Any]:
    if len(values) == 1:
        constant = values[0].item()
        return [constant if valid is None or valid[row] else None for row in rows]
    index = np.asarray(rows, np.int64)
    taken = values[index].tolist()
    if valid is None:
        return list(taken)
    return [value if there else None for value, there in zip(taken, valid[index].tolist(), strict=True)]


def integers(values: npt.NDArray[Any], size: int) -> Integers:
    """The column in as few bytes as its values need."""
    low, high = values.min(), values.max()
    if low == high:
        return Integers(size, values[:1].astype(np.int64))
    fitting = (of for of in _SIGNED if np.iinfo(of).min <= low and high <= np.iinfo(of).max)
    return Integers(size, values.astype(next(fitting)))


def spread(column: Column, rows: npt.NDArray[np.int64], size: int) -> Column:
    """A column of `size` rows, null but for `rows`, which are those of `column`."""
    match column:
        case Integers():
            return spread_integers(column, rows, size)
        case Octets():
            return _spread_octets(column, rows, size)
        case Pairs():
            columns = {key: spread(inner, rows, size) for key, inner in column.columns.items()}
            return Pairs(size, columns, _spread_mask(column.valid, rows, size))  # type: ignore[arg-type]
        case Lists():
            items = tuple(spread_integers(item, rows, size) for item in column.items)
            return Lists(size, items, _spread_mask(column.valid, rows, size))


def _spread_mask(valid: Mask | None, rows: npt.NDArray[np.int64], size: int) -> Mask:
    mask = np.zeros(size, np.bool_)
    mask[rows] = True if valid is None else valid
    return mask


def spread_integers(column: Integers, rows: npt.NDArray[np.int64], size: int) -> Integers:
    valid = _spread_mask(column.valid, rows, size)
    if len(column.values) == 1:
        return Integers(size, column.values, valid)
    values = np.zeros(size, column.values.dtype)
    values[rows] = column.values
    return Integers(size, values, valid)


def _spread_octets(column: Octets, rows: npt.NDArray[np.int64], size: int) -> Octets:
    valid = _spread_mask(column.valid, rows, size)
    if isinstance(column.values, OneWidth):
        return Octets(size, column.values.spread(rows, size), valid)
    places = np.full(size, -1, np.int64)
    places[rows] = np.arange(len(rows))
    return Octets(size, column.values.take(pa.array(places, mask=places < 0)), valid)


def merged(pieces: Sequence[tuple[Rows, Integers | Octets]], size: int) -> Integers | Octets:
    """One column of pieces whose rows are given; where two have the same row, the later one counts."""
    if len(pieces) == 1 and pieces[0][0] is None:
        return pieces[0][1]
    placed = [(np.arange(size) if rows is None else rows, column) for rows, column in pieces]
    pieces_in_place = [(rows, spread(column, rows, size)) for rows, column in placed]
    if len(pieces_in_place) == 1:
        column = pieces_in_place[0][1]
        assert isinstance(column, (Integers, Octets))
        return column
    there = _spread_mask(None, np.concatenate([rows for rows, _ in placed]), size)
    valid = None if there.all() else there
    if isinstance(placed[0][1], Integers):
        values = np.zeros(size, np.int64)
        for rows, piece in pieces_in_place:
            assert isinstance(piece, Integers)
            values[rows] = piece.array()[rows]
        return Integers(size, integers(values, size).values, valid)
    octets: list[bytes | None] = [None] * size
    for rows, piece in pieces_in_place:
        for row, value in zip(rows.tolist(), piece.pick(rows.tolist()), strict=True):
            octets[row] = value  # type: ignore[assignment]
    return Octets(size, pa.array(octets, pa.binary()), valid)
