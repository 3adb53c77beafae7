"""The logical type VARIANT of groups in a Parquet file, which pyarrow cannot write (spec: Appendix A, Parquet).

It is inserted into the file's footer, which is in Thrift's compact protocol. Only the footer's schema is parsed, a list
of elements with each group before its children; all else is copied.
"""

from __future__ import annotations

from collections.abc import Iterator

_MAGIC = b"PAR1"
_STOP, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 3, 7, 8, 9, 10, 12
_FLAGS = (1, 2)
_NUMBERS = (4, 5, 6)
# Field ids of FileMetaData and SchemaElement.
_SCHEMA, _NAME, _CHILDREN, _LOGICAL_TYPE = 2, 4, 5, 10
# LogicalType.VARIANT, field 16, with version 1 of the variant specification.
_VARIANT = bytes([_STRUCT, 2 * 16, 1 << 4 | _BYTE, 1, _STOP, _STOP])


def with_variants(end: bytes, groups: frozenset[tuple[str, ...]]) -> bytes:
    """`end`, the last bytes of a Parquet file, with the groups at these paths of names marked as variants.

    Raises ValueError if it does not hold the whole footer of a Parquet file with these groups.
    """
    length = int.from_bytes(end[-8:-4], "little")
    start = len(end) - 8 - length
    if end[-4:] != _MAGIC or start < 0:
        raise ValueError("no footer of a Parquet file")
    footer = end[start:-8]
    marks = dict(_marks(footer, groups))
    if len(marks) != len(groups):
        raise ValueError(f"the file lacks some of the groups {sorted(groups)}")
    done = 0
    pieces: list[bytes] = []
    for place, mark in marks.items():
        pieces += footer[done:place], mark
        done = place
    marked = b"".join((*pieces, footer[done:]))
    return b"".join((end[:start], marked, len(marked).to_bytes(4, "little"), _MAGIC))


def _marks(footer: bytes, groups: frozenset[tuple[str, ...]]) -> Iterator[tuple[int, bytes]]:
    """The offset in the footer where each group's element ends, and the bytes to insert there."""
    reader = _Reader(footer)
    id, kind = reader.field(0)
    while id != _SCHEMA:
        reader.skip(kind)
        id, kind = reader.field(id)
    _, count = reader.list_header()
    open_groups: list[tuple[str, int]] = []
    for number in range(count):
        name, children, last_id = reader.schema_element()
        above_it = (above for above, _ in open_groups[1:])
        if number and (*above_it, name) in groups:
            # A field's id is its distance from the one before; a group has no field after the logical type.
            yield reader.position - 1, bytes([(_LOGICAL_TYPE - last_id) << 4 | _STRUCT]) + _VARIANT
        if open_groups:
            above, left = open_groups[-1]
            open_groups[-1] = (above, left - 1)
        open_groups.append((name, children))
        while open_groups and open_groups[-1][1] == 0:
            open_groups.pop()


class _Reader:
    """Reads Thrift's compact protocol, as far as it takes to skip values."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def schema_element(self) -> tuple[str, int, int]:
        """Name, number of children and last field id of the element, which is read to its end."""
        name, children, last = "", 0, 0
        id, kind = self.field(0)
        while kind != _STOP:
            last = id
            if id == _NAME:
                name = self._bytes().decode("utf-8")
            elif id == _CHILDREN:
                children = self._zigzag()
            else:
                self.skip(kind)
            id, kind = self.field(id)
        return name, children, last

    def field(self, before: int) -> tuple[int, int]:
        """The id and kind of the next field; the kind is 0 at the end of a struct."""
        head = self._byte()
        if head == _STOP:
            return before, _STOP
        distance = head >> 4
        return (before + distance if distance else self._zigzag()), head & 0x0F

    def list_header(self) -> tuple[int, int]:
        """Kind and number of the elements that follow."""
        head = self._byte()
        count = head >> 4
        return head & 0x0F, self._number() if count == 15 else count

    def skip(self, kind: int) -> None:
        if kind in _FLAGS:
            return
        if kind == _BYTE:
            self.position += 1
        elif kind in _NUMBERS:
            self._number()
        elif kind == _DOUBLE:
            self.position += 8
        elif kind == _BINARY:
            self._bytes()
        elif kind in (_LIST, _SET):
            element, count = self.list_header()
            for _ in range(count):
                # A boolean in a list is a byte of its own.
                self.skip(_BYTE if element in _FLAGS else element)
        elif kind == _STRUCT:
            id, inner = self.field(0)
            while inner != _STOP:
                self.skip(inner)
                id, inner = self.field(id)
        else:
            raise ValueError(f"a footer of kind {kind}")

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]

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

    def _bytes(self) -> bytes:
        length = self._number()
        self.position += length
        return self._data[self.position - length : self.position]
