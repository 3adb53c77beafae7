"""Columns against fastavro's records: random schemas and values, in all forms in which Avro lets a writer code them.

`SQLEXT_TEST_SEED` replays a run, `SQLEXT_TEST_CASES` makes it longer.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import fastavro
import pytest

from sqlext.spec.avro.avro_columns import NotColumnar, decode_columns, locate_records
from sqlext.spec.avro.column import Columns

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261125"))
CASES = int(os.environ.get("SQLEXT_TEST_CASES", "400"))
FORMATS = ("PARQUET", "parquet", "ORC", "avro", "PUFFIN")
PLAIN = ("boolean", "int", "long", "float", "double", "bytes", "string")
MAP_VALUES = ("int", "long", "bytes", "string")
ANCHOR = {"name": "file_format", "type": "string"}


def long(value: int) -> bytes:
    zigzag = value << 1 ^ value >> 63
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


class Shape:
    """A random schema, and random values of it as Avro codes them."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names = 0
        before = [self._field(1) for _ in range(random.randint(0, 4))]
        after = [self._field(1) for _ in range(random.randint(0, 4))]
        self.record = {"type": "record", "name": self._name("r"), "fields": [*before, ANCHOR, *after]}

    def block(self, count: int) -> bytes:
        return b"".join(self._encoded(self.record) for _ in range(count))

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def _field(self, depth: int) -> dict[str, Any]:
        if depth and self._random.random() < 0.2:
            fields = [self._field(depth - 1) for _ in range(self._random.randint(0, 3))]
            return {"name": self._name("f"), "type": {"type": "record", "name": self._name("r"), "fields": fields}}
        type = self._type()
        form = self._random.random()
        return {
            "name": self._name("f"),
            "type": ["null", type] if form < 0.4 else [type, "null"] if form < 0.6 else type,
        }

    def _type(self) -> Any:
        match self._random.randrange(5):
            case 0:
                return {"type": "fixed", "name": self._name("x"), "size": self._random.randint(1, 17)}
            case 1:
                pair = [{"name": "key", "type": "int"}, {"name": "value", "type": self._random.choice(MAP_VALUES)}]
                return {"type": "array", "items": {"type": "record", "name": self._name("k"), "fields": pair}}
            case 2:
                return {"type": "array", "items": self._random.choice(("int", "long"))}
        return self._random.choice(PLAIN)

    def _encoded(self, type: Any) -> bytes:
        match type:
            case [one, other]:
                chosen = self._random.randrange(2)
                return long(chosen) + self._encoded((one, other)[chosen])
            case {"type": "record", "fields": fields}:
                return b"".join(
                    self._text(self._random.choice(FORMATS)) if field is ANCHOR else self._encoded(field["type"])
                    for field in fields
                )
            case {"type": "fixed", "size": size}:
                return self._random.randbytes(size)
            case {"type": "array", "items": items}:
                return b"".join(self._item_blocks(items)) + b"\x00"
        return self._plain(type)

    def _item_blocks(self, items: Any) -> Iterator[bytes]:
        """A writer may divide an array, and state the size of a part, whose count is negative then."""
        for _ in range(self._random.choice((0, 1, 1, 1, 2))):
            count = self._random.choice((1, 2, 2, 5))
            coded = b"".join(self._encoded(items) for _ in range(count))
            yield long(-count) + long(len(coded)) + coded if self._random.random() < 0.3 else long(count) + coded

    def _plain(self, type: str) -> bytes:
        random = self._random
        match type:
            case "null":
                return b""
            case "boolean":
                return bytes([random.randrange(2)])
            case "int" | "long":
                most = 31 if type == "int" else 63
                bits = random.choice((2, 2, 7, 14, 15, most))
                edges = (-(1 << bits), (1 << bits) - 1, 1 << min(bits, most - 1))
                return long(random.choice((*edges, random.randrange(-(1 << bits), 1 << bits))))
            case "float":
                return struct.pack("<f", random.choice((0.0, -0.0, random.random())))
            case "double":
                return struct.pack("<d", random.choice((0.0, float("inf"), random.random())))
            case "bytes":
                data = random.randbytes(random.choice((0, 4, 4, 4, 9, 200)))
                return long(len(data)) + data
        return self._text("".join(random.choices("aé漢", k=random.choice((0, 3, 3, 90)))))

    def _text(self, text: str) -> bytes:
        return long(len(text.encode())) + text.encode()


def records(record: Mapping[str, Any], blocks: Sequence[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """All records as fastavro reads them: those of a block are coded as the items of an array are."""
    schema = fastavro.parse_schema({"type": "array", "items": record})
    found: list[dict[str, Any]] = []
    for count, block in blocks:
        if count:
            found += fastavro.schemaless_reader(io.BytesIO(long(count) + block + b"\x00"), schema, None)
    return found


def values(type: Any, read: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The values of each field of `read`, those of records inside too, as columns hold them."""
    for field in type["fields"]:
        name, inner = field["name"], [record[field["name"]] for record in read]
        if isinstance(field["type"], dict) and field["type"]["type"] == "record":
            yield from values(field["type"], inner)
        else:
            yield name, [held(field["type"], value) for value in inner]


def held(type: Any, value: Any) -> Any:
    """Numbers with a fraction as their bytes, maps as dictionaries, in which the later of two equal keys counts."""
    if isinstance(type, list):
        (type,) = (branch for branch in type if branch != "null")
    match value:
        case float():
            return struct.pack("<f" if type == "float" else "<d", value)
        case str():
            return value.encode()
        case [{"key": _}, *_]:
            return {pair["key"]: held(None, pair["value"]) for pair in value}
        case []:
            return {} if isinstance(type["items"], dict) else ()
        case list():
            return tuple(value)
    return value


def picked(columns: Columns, name: str, rows: Sequence[int]) -> list[Any]:
    column = columns[name]
    return [None] * len(rows) if column is None else list(column.pick(rows))


def same(columns: Columns, record: Mapping[str, Any], read: Sequence[Any]) -> bool:
    expected = dict(values(record, read))
    if not read:
        return not columns
    every = range(len(read))
    return columns.keys() == expected.keys() and all(
        picked(columns, name, every) == of_field for name, of_field in expected.items()
    )


def random_case(random: Random) -> tuple[dict[str, Any], list[tuple[int, bytes]]]:
    shape = Shape(random)
    counts = [random.choice((0, 1, 2, 7, 30)) for _ in range(random.randint(1, 4))]
    return shape.record, [(count, shape.block(count)) for count in counts]


def test_columns_hold_what_fastavro_reads() -> None:
    fields = 0
    for turn in range(CASES):
        random = Random(f"{SEED}-{turn}")
        record, blocks = random_case(random)
        read = records(record, blocks)
        columns = decode_columns(record, blocks, "file_format")
        assert same(columns, record, read), f"SQLEXT_TEST_SEED={SEED} turn {turn}: {record}"
        some = sorted(random.sample(range(len(read)), len(read) // 2))
        for name, of_field in values(record, read):
            assert not read or picked(columns, name, some) == [of_field[row] for row in some], f"{SEED} {turn} {name}"
        fields += len(columns)
    assert fields > 3 * CASES


def test_fields_that_are_not_wanted_are_passed_over() -> None:
    """What is left has the same values, and every record and field begins where it does otherwise."""
    for turn in range(CASES):
        random = Random(f"{SEED} wanted {turn}")
        record, blocks = random_case(random)
        whole = locate_records(record, blocks, "file_format")
        wanted = frozenset(name for name in whole.columns if random.random() < 0.3)
        found = locate_records(record, blocks, "file_format", wanted)
        told = f"SQLEXT_TEST_SEED={SEED} turn {turn}: {record}"
        assert found.columns.keys() == wanted, told
        every = range(len(whole.ends))
        assert all(picked(found.columns, name, every) == picked(whole.columns, name, every) for name in wanted), told
        assert found.ends.tolist() == whole.ends.tolist(), told
        assert {name: at.tolist() for name, at in found.starts.items()} == {
            name: at.tolist() for name, at in whole.starts.items()
        }, told


def test_records_are_where_they_are_said_to_be() -> None:
    random = Random(f"{SEED} places")
    record, blocks = random_case(random)
    found = locate_records(record, blocks, "file_format")
    first = next(name for name, _ in values(record, []))
    pieces = [found.data[start:end] for start, end in zip(found.starts[first], found.ends, strict=True)]
    assert b"".join(pieces) == b"".join(block for _, block in blocks)
    assert records(record, [(1, piece) for piece in pieces]) == records(record, blocks)


def test_a_damaged_block_is_read_as_fastavro_does_or_not_at_all() -> None:
    refused = 0
    for turn in range(CASES):
        random = Random(f"{SEED} damaged {turn}")
        record, blocks = random_case(random)
        at = random.randrange(len(blocks))
        count, block = blocks[at]
        if not block:
            continue
        place = random.randrange(len(block))
        damaged = block[:place] + bytes([block[place] ^ 1 << random.randrange(8)]) + block[place + 1 :]
        blocks[at] = (count, damaged)
        try:
            columns = decode_columns(record, blocks, "file_format")
        except NotColumnar:
            refused += 1
            continue
        try:
            read = records(record, blocks)
        except UnicodeDecodeError:  # columns hold texts as bytes
            continue
        assert same(columns, record, read), f"SQLEXT_TEST_SEED={SEED} turn {turn}: byte {place} of block {at}"
    assert CASES / 20 < refused < CASES * 0.8


@pytest.mark.parametrize(
    "type",
    [
        ["null", "int", "string"],
        {"type": "enum", "name": "e", "symbols": ["a"]},
        {"type": "map", "values": "int"},
        {"type": "array", "items": "string"},
    ],
)
def test_shapes_that_have_no_column_are_left_to_fastavro(type: Any) -> None:
    record = {"type": "record", "name": "r", "fields": [ANCHOR, {"name": "f", "type": type}]}
    with pytest.raises(NotColumnar):
        decode_columns(record, [(1, b"\x0ePARQUET\x00")], "file_format")


def test_a_format_that_is_elsewhere_too_is_left_to_fastavro() -> None:
    record = {"type": "record", "name": "r", "fields": [{"name": "path", "type": "string"}, ANCHOR]}
    block = b"\x10\x0ePARQUET\x0ePARQUET"
    assert len(records(record, [(1, block)])) == 1
    with pytest.raises(NotColumnar):
        decode_columns(record, [(1, block)], "file_format")
