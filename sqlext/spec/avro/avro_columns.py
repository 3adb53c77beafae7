"""The records of Avro blocks as columns: all records are decoded at once, one step of numpy per field.

Avro is read front to back, and where a record begins is known only when the one before it has been read. But every
manifest entry holds the name of its file's format, a word that is seldom elsewhere: where a block has as many of them
as records, each is one record's. Decoding goes on from those words in all records together, and is checked by each
record's end being the next one's beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlext.spec.avro.column import (
    Column,
    Columns,
    Integers,
    Lists,
    Octets,
    OneWidth,
    Pairs,
    Rows,
    integers,
    merged,
    spread,
    spread_integers,
)

Positions: TypeAlias = npt.NDArray[np.int64]

_ANCHORS = tuple(
    bytes([2 * len(word)]) + word for name in (b"PARQUET", b"PUFFIN", b"AVRO", b"ORC") for word in (name, name.lower())
)
_PADDING = 64
_MAX_ITEMS = 100_000
_FIXED_WIDTHS = {"float": 4, "double": 8}
_LOW_BITS = np.uint8(0x7F)


class NotColumnar(ValueError):
    """The blocks are damaged, or of a shape that only reading one record after the other tells."""


@dataclass(frozen=True, slots=True)
class LocatedRecords:
    """Records as columns, and where they are in `data`, the plain bytes of all blocks.

    `starts` has the offset of each field of each record, `ends` that of each record's end.
    """

    columns: Columns
    data: bytes
    starts: Mapping[str, Positions]
    ends: Positions


def decode_columns(record: Mapping[str, Any], blocks: Sequence[tuple[int, bytes]], anchor: str) -> Columns:
    """The columns of `locate_records`; none without a record. Raises NotColumnar."""
    return locate_records(record, blocks, anchor).columns


def locate_records(
    record: Mapping[str, Any],
    blocks: Sequence[tuple[int, bytes]],
    anchor: str,
    wanted: AbstractSet[str] | None = None,
) -> LocatedRecords:
    """The fields of all records; those of records inside are told apart by their names alone.

    `record` is a schema of physical types whose field names are unique throughout; `anchor` names the one that holds a
    file format. `blocks` are (records, plain bytes). Only `wanted` fields, by default all, become columns; of others
    only the ends are found. Raises NotColumnar.
    """
    blocks = [(count, block) for count, block in blocks if count]
    if any(count < 0 or count > len(block) for count, block in blocks):
        raise NotColumnar("a block has fewer bytes than records")
    fields = list(_flattened(record))
    names = [name for name, _ in fields]
    if anchor not in names or len(set(names)) < len(names):
        raise NotColumnar(f"not one field is {anchor}")
    size = sum(count for count, _ in blocks)
    if not size:
        return LocatedRecords({}, b"", {}, np.zeros(0, np.int64))
    try:
        return _Decoder(blocks, size).decode(fields, names.index(anchor), wanted)
    except (IndexError, KeyError, TypeError, OverflowError, pa.ArrowInvalid) as error:
        raise NotColumnar(str(error)) from error


def _flattened(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for field in record["fields"]:
        if isinstance(field["type"], dict) and field["type"].get("type") == "record":
            yield from _flattened(field["type"])
        else:
            yield field["name"], field["type"]


class _Decoder:
    """`data` is all blocks one after the other and some padding, `at` where each record is being read."""

    def __init__(self, blocks: Sequence[tuple[int, bytes]], size: int) -> None:
        self._blocks = blocks
        self._size = size
        self._bytes = b"".join([*(block for _, block in blocks), bytes(_PADDING)])
        self._data = np.frombuffer(self._bytes, np.uint8)
        ends = np.cumsum([len(block) for _, block in blocks], dtype=np.int64)
        self._block_starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        self._block_ends = ends
        self._named: dict[str, Any] = {}

    def decode(self, fields: Sequence[tuple[str, Any]], anchor: int, wanted: AbstractSet[str] | None) -> LocatedRecords:
        for _, type in fields:
            self._note_names(type)
        anchors = self._anchors()
        columns: Columns = {}
        places: dict[str, Positions] = {}

        def read(of: Sequence[tuple[str, Any]], at: Positions) -> Positions:
            for name, type in of:
                places[name] = at
                if wanted is None or name in wanted:
                    columns[name], at = self._read(type, at)
                else:
                    at = self._skip(type, at)
            return at

        ends = read(fields[anchor:], anchors)
        first_of_block = np.cumsum([0, *(count for count, _ in self._blocks[:-1])])
        starts = np.empty(self._size, np.int64)
        starts[1:] = ends[:-1]
        starts[first_of_block] = self._block_starts
        last_of_block = np.append(first_of_block[1:], self._size) - 1
        if not np.array_equal(ends[last_of_block], self._block_ends):
            raise NotColumnar("the last record of a block does not end with it")
        if not np.array_equal(read(fields[:anchor], starts), anchors):
            raise NotColumnar("a record does not begin where the one before it ends")
        return LocatedRecords(columns, self._bytes, places, ends)

    def _note_names(self, type: Any) -> None:
        if isinstance(type, list):
            for branch in type:
                self._note_names(branch)
        elif isinstance(type, dict):
            if "name" in type:
                self._named[type["name"]] = type
            for inner in (type.get("items"), *(field["type"] for field in type.get("fields", ()))):
                self._note_names(inner)

    def _anchors(self) -> Positions:
        """Where the anchor field of each record begins."""
        found = np.zeros(0, np.int64)
        expected = [count for count, _ in self._blocks]
        for word in _ANCHORS:
            found = np.sort(np.concatenate([found, self._places(word)]))
            counts = np.searchsorted(found, self._block_ends) - np.searchsorted(found, self._block_starts)
            if counts.tolist() == expected:
                return found
        raise NotColumnar("the word that tells records apart is also elsewhere")

    def _places(self, word: bytes) -> Positions:
        places = np.flatnonzero(self._data[:-_PADDING] == word[0])
        for offset, byte in enumerate(word[1:], 1):
            places = places[self._data[places + offset] == byte]
        return places.astype(np.int64)

    def _read(self, type: Any, at: Positions) -> tuple[Column | None, Positions]:
        if isinstance(type, str):
            type = self._named.get(type, type)
        match type:
            case ["null", branch]:
                return self._optional(branch, at, null=0)
            case [branch, "null"]:
                return self._optional(branch, at, null=1)
            case "null":
                return None, at
            case "int" | "long":
                values, after = self._varint(at)
                return integers(values, len(at)), after
            case "boolean":
                truths = self._data[at]
                if truths.max() > 1:
                    raise NotColumnar("a boolean is neither true nor false")
                return integers(truths, len(at)), at + 1
            case "float" | "double":
                width = _FIXED_WIDTHS[type]
                return self._octets(at, np.asarray([width])), at + width
            case "bytes" | "string":
                lengths, at = self._varint(at)
                return self._octets(at, lengths), at + lengths
            case {"type": "fixed", "size": size}:
                return self._octets(at, np.asarray([size])), at + size
            case {"type": "array", "items": {"type": "record", "fields": [{"type": "int"}, {"type": value}]}}:
                return self._pairs(value, at)
            case {"type": "array", "items": "int" | "long"}:
                return self._lists(at)
        raise NotColumnar(f"no column for {type}")

    def _skip(self, type: Any, at: Positions) -> Positions:
        """Where the values that begin there end, as of `_read`."""
        if isinstance(type, str):
            type = self._named.get(type, type)
        match type:
            case ["null", branch]:
                return self._skip_optional(branch, at, null=0)
            case [branch, "null"]:
                return self._skip_optional(branch, at, null=1)
            case "int" | "long":
                return self._varint(at)[1]
            case "bytes" | "string":
                lengths, at = self._varint(at)
                self._require_inside(at, lengths)
                return at + lengths
            case {"type": "array", "items": {"type": "record", "fields": [{"type": "int"}, {"type": value}]}}:
                return self._items(at, lambda positions, _: self._skip(value, self._varint(positions)[1]))
            case {"type": "array", "items": "int" | "long"}:
                return self._items(at, lambda positions, _: self._varint(positions)[1])
        return self._read(type, at)[1]

    def _skip_optional(self, type: Any, at: Positions, *, null: int) -> Positions:
        rows, at = self._present(at, null), at + 1
        if rows is None:
            return self._skip(type, at)
        if len(rows):
            at[rows] = self._skip(type, at[rows])
        return at

    def _optional(self, type: Any, at: Positions, *, null: int) -> tuple[Column | None, Positions]:
        rows, at = self._present(at, null), at + 1
        if rows is None:
            return self._read(type, at)
        if not len(rows):
            return None, at
        column, ends = self._read(type, at[rows])
        at[rows] = ends
        return None if column is None else spread(column, rows, len(at)), at

    def _present(self, at: Positions, null: int) -> Rows:
        """Which unions do not hold the branch `null`."""
        branch = self._data[at]
        there = branch == (2 if null == 0 else 0)
        if there.all():
            return None
        if not np.array_equal(~there, branch == (0 if null == 0 else 2)):
            raise NotColumnar("a union has no such branch")
        return np.flatnonzero(there)

    def _varint(self, at: Positions) -> tuple[npt.NDArray[np.int64], Positions]:
        """The numbers that begin there, a single one if all are found equal, and where they end."""
        values, after = np.zeros(1, np.int64), at
        for shift in range(0, 70, 7):
            byte, after = self._data.take(after), after + 1
            if (byte == byte[0]).all():
                byte = byte[:1]
            values = values | (byte & _LOW_BITS).astype(np.int64) << shift
            goes_on = byte >= 0x80
            if not goes_on.any():
                return _unzigzag(values), after
            if not goes_on.all():
                return self._longer(values, after, np.flatnonzero(goes_on), shift + 7)
        raise NotColumnar("a number does not end")

    def _longer(
        self, values: npt.NDArray[np.int64], after: Positions, rows: npt.NDArray[np.int64], first: int
    ) -> tuple[npt.NDArray[np.int64], Positions]:
        """Goes on with those numbers that are longer than others."""
        for shift in range(first, 70, 7):
            byte = self._data.take(after[rows])
            values[rows] |= (byte & _LOW_BITS).astype(np.int64) << shift
            after[rows] += 1
            rows = rows[byte >= 0x80]
            if not len(rows):
                return _unzigzag(values), after
        raise NotColumnar("a number does not end")

    def _octets(self, at: Positions, lengths: npt.NDArray[np.int64]) -> Octets:
        """`lengths` has one for each, or a single one for all."""
        self._require_inside(at, lengths)
        if len(lengths) == 1:
            return Octets(len(at), OneWidth.of(self._window(at, int(lengths[0]))))
        whole = memoryview(self._data)  # type: ignore[arg-type]
        values = [whole[start:end] for start, end in zip(at.tolist(), (at + lengths).tolist(), strict=True)]
        return Octets(len(at), pa.array(values, pa.binary()))

    def _require_inside(self, at: Positions, lengths: npt.NDArray[np.int64]) -> None:
        if lengths.min() < 0 or (at + lengths).max() > len(self._data):
            raise NotColumnar("a byte string is longer than its block")

    def _window(self, at: Positions, width: int) -> npt.NDArray[np.uint8]:
        if width == 0:
            return np.zeros((1, 0), np.uint8)
        windows = np.ndarray((len(self._data) - width + 1,), f"V{width}", self._data.data, 0, (1,))
        values: npt.NDArray[np.uint8] = windows[at].view(np.uint8).reshape(len(at), width)
        return values

    def _item_counts(self, at: Positions) -> tuple[npt.NDArray[np.int64], Positions]:
        counts, at = self._varint(at)
        if counts.min() < 0:  # such a block states its size in bytes, too
            counts = np.broadcast_to(counts, at.shape)
            sized = np.flatnonzero(counts < 0)
            _, at[sized] = self._varint(at[sized])
            counts = np.abs(counts)
        if counts.max() > _MAX_ITEMS:
            raise NotColumnar("an array has too many items")
        return counts, at

    def _items(self, at: Positions, read: Callable[[Positions, Rows], Positions]) -> Positions:
        """Calls `read` (positions, rows) -> ends for the first items of all arrays, then for the second ones, ..."""
        rows: Rows = None
        while True:
            counts, after = self._item_counts(at if rows is None else at[rows])
            if rows is None:
                at = after
            else:
                at[rows] = after
            if len(counts) == 1:
                if counts[0] == 0:
                    return at
            elif counts.min() == 0:
                having = counts > 0
                rows = np.flatnonzero(having) if rows is None else rows[having]
                counts = counts[having]
            fewest = int(counts.min())
            for item in range(int(counts.max())):
                of_item = rows
                if item >= fewest:
                    having = counts > item
                    of_item = np.flatnonzero(having) if rows is None else rows[having]
                if of_item is None:
                    at = read(at, None)
                else:
                    at[of_item] = read(at[of_item], of_item)

    def _pairs(self, value_type: Any, at: Positions) -> tuple[Pairs, Positions]:
        if value_type not in ("bytes", "string", "int", "long"):
            raise NotColumnar(f"no column for maps to {value_type}")
        parts: dict[int, list[tuple[Rows, Integers | Octets]]] = {}
        size = len(at)

        def read(positions: Positions, rows: Rows) -> Positions:
            keys, positions = self._varint(positions)
            numbers, positions = self._varint(positions)
            after = positions + numbers if value_type in ("bytes", "string") else positions
            if len(keys) == 1:
                column = self._map_values(value_type, positions, numbers)
                parts.setdefault(int(keys[0]), []).append((rows, column))
                return after
            for key in np.unique(keys).tolist():
                of_key = np.flatnonzero(keys == key)
                column = self._map_values(
                    value_type, positions[of_key], numbers if len(numbers) == 1 else numbers[of_key]
                )
                parts.setdefault(key, []).append((of_key if rows is None else rows[of_key], column))
            return after

        at = self._items(at, read)
        return Pairs(size, {key: merged(pieces, size) for key, pieces in parts.items()}), at

    def _map_values(self, type: str, at: Positions, numbers: npt.NDArray[np.int64]) -> Integers | Octets:
        """Of `numbers` themselves, or of the strings that have them as lengths."""
        return self._octets(at, numbers) if type in ("bytes", "string") else integers(numbers, len(at))

    def _lists(self, at: Positions) -> tuple[Lists, Positions]:
        items: list[Integers] = []
        size = len(at)

        def read(positions: Positions, rows: Rows) -> Positions:
            values, positions = self._varint(positions)
            item = integers(values, len(positions))
            items.append(item if rows is None else spread_integers(item, rows, size))
            return positions

        at = self._items(at, read)
        return Lists(size, tuple(items)), at


def _unzigzag(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # the shift is that of all 64 bits, the sign among them
    halved: npt.NDArray[np.int64] = (values.view(np.uint64) >> np.uint64(1)).view(np.int64)
    return halved ^ -(values & 1)
