"""Avro object container files whose schema text is exactly ours.

Iceberg's readers find columns by the `field-id` attributes of the header's schema, so the header is written here,
text in, text out; fastavro codes the records. Logical types are left to the caller: values are physical.
"""

from __future__ import annotations

import io
import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import fastavro
import pyarrow as pa

from sqlext.spec.stored_bytes import checksum
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.spec.stored_bytes.decompression import inflate, unsnappy, unzstd

_MAGIC = b"Obj\x01"
_SYNC_SIZE = 16
# A sync marker of sqlext is this, the checksum of all bytes outside of sync markers, and the number of these bytes.
_CHECKSUM_MARK = b"sqlext\0\1"
_WORD = 0xFFFFFFFF
_BLOCK_RECORDS = 4_000
_MOST_LONG_BYTES = 10
_NO_SYNC = "a block does not end where it should"
# In bytes, of the types that are not null.
_SMALLEST = {"boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


def encode(
    records: Sequence[Any], *, schema_text: str, record_schema: Any, metadata: Mapping[str, str], codec: str
) -> bytes:
    """A container file. `record_schema` is what `array_of` made of the schema in `schema_text`."""
    blocks = (records[start : start + _BLOCK_RECORDS] for start in range(0, len(records), _BLOCK_RECORDS))
    plain = ((len(block), _array_items(block, record_schema)) for block in blocks)
    return _container(plain, schema_text, metadata, codec)


def encode_pieces(pieces: Iterable[bytes], *, schema_text: str, metadata: Mapping[str, str], codec: str) -> bytes:
    """A container file of records that are encoded already, each in one piece."""
    left = iter(pieces)
    blocks = iter(lambda: list(itertools.islice(left, _BLOCK_RECORDS)), [])
    return _container(((len(block), b"".join(block)) for block in blocks), schema_text, metadata, codec)


def _container(blocks: Iterable[tuple[int, bytes]], schema_text: str, metadata: Mapping[str, str], codec: str) -> bytes:
    """A file of blocks, given as the number of records and their plain bytes."""
    compress = _COMPRESS[codec]
    header = {"avro.schema": schema_text, "avro.codec": codec, **metadata}
    pairs = b"".join(_encoded_bytes(text.encode()) for pair in header.items() for text in pair)
    parts = [_MAGIC + encoded_long(len(header)) + pairs + encoded_long(0)]
    parts += [encoded_long(count) + _encoded_bytes(compress(plain)) for count, plain in blocks]
    sync = _CHECKSUM_MARK + _checksum(parts)
    return b"".join(piece for part in parts for piece in (part, sync))


def _checksum(parts: Iterable[bytes]) -> bytes:
    value = size = 0
    for part in parts:
        value = zlib.crc32(part, value)
        size += len(part)
    return value.to_bytes(checksum.SIZE, "big") + (size & _WORD).to_bytes(checksum.SIZE, "big")


def checksum_state(data: bytes) -> ChecksumState:
    """Of the bytes of a container file. Raises ValueError or EOFError for bytes that are none, so that it is not known
    where its sync markers are."""
    parts, syncs = _cut(data)
    sync = syncs[0]
    if any(one != sync for one in syncs):
        raise ValueError(_NO_SYNC)
    size = len(_CHECKSUM_MARK)
    return checksum.state(sync[:size], _CHECKSUM_MARK, sync[size:], _checksum(parts))


def without_flipped_bit(data: bytes) -> bytes | None:
    """A file of sqlext as it was before one bit of it changed; None if that is not what happened."""
    with suppress(ValueError, EOFError):
        parts, syncs = _cut(data)
        right = _CHECKSUM_MARK + _checksum(parts)
        if checksum.differs_in_one_bit(b"".join(syncs), right * len(syncs)):
            return b"".join(piece for part in parts for piece in (part, right))
    # The bit is not in a sync marker, so all of these are equal, but may be where nothing leads to.
    begin = data.find(_CHECKSUM_MARK)
    sync = data[begin : begin + _SYNC_SIZE] if begin >= 0 else b""
    if len(sync) < _SYNC_SIZE or not data.endswith(sync):
        return None
    pieces = data.removesuffix(sync).split(sync)
    stored = int.from_bytes(sync[len(_CHECKSUM_MARK) : -checksum.SIZE], "big")
    mended = checksum.without_flipped_bit(pieces, stored)
    if mended is None or _CHECKSUM_MARK + _checksum(mended) != sync:
        return None
    return b"".join(piece for part in mended for piece in (part, sync))


def _cut(data: bytes) -> tuple[list[bytes], list[bytes]]:
    """Header and blocks of a file, and the sync marker after each. Raises ValueError or EOFError."""
    _, start = decode_header(data)
    source = io.BytesIO(data)
    source.seek(start)
    parts, syncs = [data[:start]], [_read(source, _SYNC_SIZE)]
    while (begin := source.tell()) < len(data):
        _read_long(source)
        size = _read_long(source)
        if size < 0:
            raise ValueError("a block has a negative size")
        source.seek(size, io.SEEK_CUR)
        parts.append(data[begin : source.tell()])
        syncs.append(_read(source, _SYNC_SIZE))
    return parts, syncs


def decode_header(data: bytes) -> tuple[dict[str, bytes], int]:
    """The header's metadata and the position of the first block. Raises ValueError."""
    if data[:4] != _MAGIC:
        raise ValueError("it does not begin like an Avro file")
    source = io.BytesIO(data)
    source.seek(len(_MAGIC))
    metadata: dict[str, bytes] = {}
    while (count := _read_long(source)) != 0:
        if count < 0:
            count = -count
            _read_long(source)
        for _ in range(count):
            key = _read_bytes(source).decode()
            metadata[key] = _read_bytes(source)
    return metadata, source.tell()


def decode_schema(data: bytes) -> Any:
    """The schema in a file's header, as JSON. Raises ValueError, KeyError, or EOFError where `data` ends within it."""
    metadata, _ = decode_header(data)
    return json.loads(metadata["avro.schema"])


def decode_blocks(data: bytes, start: int, *, codec: str, record_schema: Any, smallest_record: int) -> list[Any]:
    """The records of all blocks from `start`, where the header ends. Raises ValueError, EOFError or an Avro error."""
    records: list[Any] = []
    for count, block in plain_blocks(data, start, codec=codec, smallest_record=smallest_record):
        records += _read_items(block, count, record_schema)
    return records


def plain_blocks(data: bytes, start: int, *, codec: str, smallest_record: int) -> Iterator[tuple[int, bytes]]:
    """Count and uncompressed bytes of the records of each block from `start`. Raises ValueError or EOFError.

    `smallest_record` is the `smallest_size` of the records' schema: no block holds more of them than it has room for.
    """
    decompress = _DECOMPRESS.get(codec)
    if decompress is None:
        raise ValueError(f"its codec {codec!r} is not supported")
    source = io.BytesIO(data)
    source.seek(start)
    sync = _read(source, _SYNC_SIZE)
    while source.tell() < len(data):
        count = _read_long(source)
        block = decompress(_read_bytes(source))
        if not 0 <= count * max(1, smallest_record) <= len(block):
            raise ValueError(f"a block of {len(block)} bytes claims to hold {count} records")
        yield count, block
        if _read(source, _SYNC_SIZE) != sync:
            raise ValueError(_NO_SYNC)


def encoded_value(value: Any, parsed: Any) -> bytes:
    """A value alone, by a schema that `fastavro.parse_schema` has parsed."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    return out.getvalue()


def array_of(record: Any) -> Any:
    """The parsed schema of an array of records: one call codes a whole block, whose bytes are an array's."""
    return fastavro.parse_schema({"type": "array", "items": record})


def smallest_size(schema: Any) -> int:
    """The fewest bytes in which a value of an Avro schema is coded.

    Raises ValueError for an array whose items take no room: its count alone would make a reader loop for ever.
    """
    return _smallest(schema, {})


def _smallest(schema: Any, named: dict[str, int]) -> int:
    match schema:
        case [*branches]:
            return 1 + min((_smallest(branch, named) for branch in branches), default=0)
        case {"type": "record", "fields": fields}:
            # A record that holds itself counts as nothing there.
            named.setdefault(_full_name(schema), 0)
            size = sum(_smallest(field["type"], named) for field in fields)
            named[_full_name(schema)] = size
            return size
        case {"type": "array", "items": items}:
            if _smallest(items, named) == 0:
                raise ValueError("its schema has an array of items without content")
            return 1
        case {"type": "map", "values": values}:
            _smallest(values, named)
            return 1
        case {"type": "fixed", "size": int(size)} if size >= 0:
            named[_full_name(schema)] = size
            return size
        case {"type": "enum"}:
            named[_full_name(schema)] = 1
            return 1
        case {"type": str() | dict() | list() as inner} if inner not in ("record", "array", "map", "fixed"):
            return _smallest(inner, named)
        case str():
            return named.get(schema, _SMALLEST.get(schema, 0))
    raise ValueError(f"{schema!r} is no Avro schema")


def _full_name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("name", ""))


def _array_items(records: Sequence[Any], record_schema: Any) -> bytes:
    encoded = encoded_value(records, record_schema)
    # An array is its count, its items, and a zero.
    return encoded[len(encoded_long(len(records))) : -1]


def _read_items(block: bytes, count: int, record_schema: Any) -> list[Any]:
    items: list[Any] = fastavro.schemaless_reader(
        io.BytesIO(encoded_long(count) + block + b"\x00"), record_schema, None
    )
    return items


def encoded_long(value: int) -> bytes:
    """An int or long as Avro has it."""
    zigzag = (value << 1) ^ (value >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def _encoded_bytes(data: bytes) -> bytes:
    return encoded_long(len(data)) + data


def _read(source: io.BytesIO, size: int) -> bytes:
    data = source.read(size) if size >= 0 else b""
    if len(data) != size:
        raise EOFError("it ends too early")
    return data


def _read_long(source: io.BytesIO) -> int:
    value = 0
    for shift in range(0, 7 * _MOST_LONG_BYTES, 7):
        byte = _read(source, 1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise ValueError(f"a number has more than {_MOST_LONG_BYTES} bytes")


def _read_bytes(source: io.BytesIO) -> bytes:
    return _read(source, _read_long(source))


def _deflate(block: bytes) -> bytes:
    compressor = zlib.compressobj(level=6, wbits=-15)
    return compressor.compress(block) + compressor.flush()


def _snappy(block: bytes) -> bytes:
    compressed: bytes = pa.compress(block, codec="snappy", asbytes=True)
    return compressed + zlib.crc32(block).to_bytes(4, "big")


def _zstd(block: bytes) -> bytes:
    compressed: bytes = pa.compress(block, codec="zstd", asbytes=True)
    return compressed


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstd,
}
_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": inflate,
    "snappy": unsnappy,
    "zstandard": unzstd,
}
