"""Small files that would take much memory: refused by name, before they take it.

More of them, in each kind of file, are made at random in tests/bad_input/mutations.py.
"""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small_tables import ORDERS, Writer, rows_of, warehouse_catalog
from sqlext.errors import CorruptionError
from sqlext.storage.location import to_local_path

MOST_BYTES = 128 * 1024 * 1024
Json = dict[str, Any]


def gzipped(metadata: Json) -> bytes:
    return gzip.compress(json.dumps(metadata).encode() + b" " * (1 << 29), 9)


def nested_lists(metadata: Json) -> bytes:
    text = json.dumps({**metadata, "unknown": 0})
    return text.replace('"unknown": 0', '"unknown": ' + "[" * 100_000 + "]" * 100_000).encode()


def nested_types(metadata: Json) -> bytes:
    type: Any = "int"
    for number in range(500):
        type = {"type": "list", "element-id": 10 + number, "element-required": False, "element": type}
    metadata["schemas"][0]["fields"][1]["type"] = type
    return json.dumps(metadata).encode()


def a_number_of_many_digits(metadata: Json) -> bytes:
    text = json.dumps({**metadata, "last-updated-ms": 0})
    return text.replace('"last-updated-ms": 0', '"last-updated-ms": ' + "9" * 1_000_000).encode()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.append(1, base=writer.create())
    return writer


@pytest.mark.parametrize("make", [gzipped, nested_lists, nested_types, a_number_of_many_digits])
def test_metadata_that_would_be_large_or_deep_is_refused(writer: Writer, make: Callable[[Json], bytes]) -> None:
    path = Path(to_local_path(writer.load().metadata_location))
    data = make(json.loads(path.read_bytes()))
    assert len(data) < 2_000_000
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptionError) as raised:
            writer.catalog.load_table(ORDERS)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
    assert raised.value.parameters["path"].endswith(path.name)


@pytest.mark.parametrize("name", ["snap-*.avro", "*-m0.avro"])
def test_a_block_of_a_manifest_that_would_be_large_is_refused(writer: Writer, name: str) -> None:
    """The length that a block claims, and a block of zeros of that length."""
    table = writer.load()
    (path,) = Path(to_local_path(table.metadata.location), "metadata").glob(name)
    kept = path.read_bytes()
    sync = kept[-16:]
    start = kept.index(sync) + len(sync)
    compressed = gzip.compress(b"\0" * (1 << 28), 9)[10:-8]
    for block in (_long(1 << 60) + _long(1 << 60), _long(1) + _long(len(compressed)) + compressed + sync):
        path.write_bytes(kept[:start] + block)
        tracemalloc.start()
        try:
            with pytest.raises(CorruptionError) as raised:
                rows_of(table)
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        finally:
            tracemalloc.stop()
        assert raised.value.parameters["path"].endswith(path.name)


def _long(number: int) -> bytes:
    """As Avro writes one."""
    rest, out = number << 1, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*out, rest))
