"""The column and offset indexes of a Parquet file, decoded (spec of Parquet: Page Index); PyArrow tells only whether
there are any."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 12


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page of a column chunk: its rows from `first_row` of the row group to before `end_row`, what its index says of
    them, and its bytes with its header."""

    first_row: int
    end_row: int
    size: int
    only_nulls: bool | None = None
    null_count: int | None = None
    least: bytes | None = None
    most: bytes | None = None


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """The indexes of a column chunk; `order` is 0 unordered, 1 ascending, 2 descending, None without a column index."""

    path: str
    order: int | None
    pages: tuple[IndexedPage, ...]


def page_indexes(file: Path | str) -> list[list[ChunkIndex]]:
    """The indexes of each row group's columns, those that have an offset index."""
    data = Path(file).read_bytes()
    footer = _Thrift(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little")).struct()
    return [list(_of_group(data, group)) for group in footer[4]]


def _of_group(data: bytes, group: dict[int, Any]) -> Iterator[ChunkIndex]:
    for chunk in group[1]:
        if 4 not in chunk:
            assert 6 not in chunk
            continue
        starts = [(one[1], one[2], one[3]) for one in _Thrift(data, chunk[4]).struct()[1]]
        ends = [first for _, _, first in starts[1:]] + [group[3]]
        index = _Thrift(data, chunk[6]).struct() if 6 in chunk else None
        pages = []
        for number, ((_, size, first), end) in enumerate(zip(starts, ends, strict=True)):
            said = () if index is None else (index[1][number], index[5][number], index[2][number], index[3][number])
            pages.append(IndexedPage(first, end, size, *said))
        path = ".".join(name.decode() for name in chunk[3][3])
        yield ChunkIndex(path, None if index is None else index[4], tuple(pages))


class _Thrift:
    """Thrift's compact protocol from an offset on."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def struct(self) -> dict[int, Any]:
        """The values of a struct by their field ids."""
        found: dict[int, Any] = {}
        id = 0
        while (head := self._byte()) != _STOP:
            id = id + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 0x0F
            found[id] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == _BINARY:
            return self._bytes(self._number())
        if kind == _LIST:
            head = self._byte()
            return [self._value(head & 0x0F) for _ in range(self._number() if head >> 4 == 15 else head >> 4)]
        assert kind == _STRUCT
        return self.struct()

    def _byte(self) -> int:
        self._position += 1
        return self._data[self._position - 1]

    def _bytes(self, count: int) -> bytes:
        self._position += count
        return self._data[self._position - count : self._position]

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)
