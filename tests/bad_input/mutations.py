"""Damages files of tables at random: `python3 tests/bad_input/mutations.py --count 2000 --seed 1`.

Each case changes one file that sqlext reads in Python (metadata of a golden table or of a view, version hint, manifest
list, manifest, position deletes, deletion vector, statistics) and opens the table: it must be read, or refused with an
error of sqlext that names a file, within two seconds of processor time and 256 MB. A file with a checksum is read as it
was, or refused. One case is run again by its number: `--seed 1 --case 17`. Data files, which Spark reads, are damaged
in `test_damaged_data_files.py`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import resource
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from golden_tables.relocation import unpack
from sqlext.catalog.static_table import load_static_table
from sqlext.errors import SqlextError, UnsupportedError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.avro import avro_file
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.view_metadata import (
    ViewVersion,
    decode_view_metadata,
    encode_view_metadata,
    new_view_metadata,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, NestedField
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path, to_location

KNOWN_AS = "/golden"
MOST_SECONDS = 2.0
MOST_BYTES = 256 * 1024 * 1024

_GOLDEN = Path(__file__).parents[1] / "golden_tables"
_SETS = ("golden_dev", "golden_flink_dev")
_SYNC_SIZE = 16
_BOMB_BYTES = 1 << 28
_WRONG_VALUES = [
    *(None, "x", "", -1, 0, 2**31, 2**63, 10**300, 1.5, float("nan"), True),
    *([], {}, [None], {"type": "list"}, "\ud800"),
]
_VIEW = new_view_metadata(
    "3f2c7d1e-0f6b-4a58-9d3c-5b1a2e4c6d70",
    "file:///views/v",
    {"comment": "of a table"},
    ViewVersion(1, 0, 1_700_000_000_000, {}, ({"type": "sql", "sql": "SELECT 1 AS a", "dialect": "spark"},), ("db",)),
    Schema((NestedField(1, "a", IntegerType()),)),
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view by its metadata file, with the files of it that Python reads, and what is read of them."""

    folder: Path
    metadata: str
    files: tuple[str, ...]
    open: Callable[[LocalFileIO], Any]
    answer: Any

    @classmethod
    def of(cls, folder: Path, metadata: str, open_it: Callable[[LocalFileIO], Any]) -> Table:
        io = ReadingIO(folder)
        answer = open_it(io)
        return cls(folder, metadata, tuple(sorted(io.read_paths)), open_it, answer)


class UnpackedIO(LocalFileIO):
    """Golden tables below a folder that the tables themselves know as `KNOWN_AS`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def real(self, location: str) -> str:
        path = to_local_path(location)
        return f"{self.folder}{path.removeprefix(KNOWN_AS)}" if path.startswith(f"{KNOWN_AS}/") else path

    def read(self, location: str) -> bytes:
        return super().read(self.real(location))

    def size(self, location: str) -> int:
        return super().size(self.real(location))

    def exists(self, location: str) -> bool:
        return super().exists(self.real(location))

    def open_input(self, location: str) -> BinaryIO:
        return super().open_input(self.real(location))


class DamagedIO(UnpackedIO):
    """The files as they are, but one."""

    def __init__(self, folder: Path, path: str, data: bytes) -> None:
        super().__init__(folder)
        self._path, self._data = path, data

    def read(self, location: str) -> bytes:
        return self._data if to_local_path(location) == self._path else super().read(location)

    def size(self, location: str) -> int:
        return len(self._data) if to_local_path(location) == self._path else super().size(location)

    def open_input(self, location: str) -> BinaryIO:
        if to_local_path(location) == self._path:
            return cast(BinaryIO, pa.BufferReader(self._data))
        return super().open_input(location)


class ReadingIO(UnpackedIO):
    """Notes what is read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read_paths: set[str] = set()

    def read(self, location: str) -> bytes:
        self.read_paths.add(to_local_path(location))
        return super().read(location)

    def open_input(self, location: str) -> BinaryIO:
        self.read_paths.add(to_local_path(location))
        return super().open_input(location)


def golden_tables(folder: Path) -> list[Table]:
    """Every golden table, unpacked below `folder`, one of them once more with gzipped metadata, by its version hint."""
    io = UnpackedIO(folder)
    names: list[str] = []
    for name in _SETS:
        index = unpack(_GOLDEN / f"{name}.zip", folder / name, known_as=f"{KNOWN_AS}/{name}") / "index.json"
        names += [to_local_path(one["metadata"]) for one in json.loads(index.read_text())["tables"].values()]
    packed = names[0].removesuffix(".metadata.json") + ".gz.metadata.json"
    Path(io.real(packed)).write_bytes(gzip.compress(io.read(names[0]), mtime=0))
    hint = min(path for path in folder.rglob("version-hint.text")).relative_to(folder)
    view = f"{KNOWN_AS}/view.metadata.json"
    Path(io.real(view)).write_bytes(encode_view_metadata(_VIEW))
    tables = [_table(folder, name) for name in (*names, packed)]
    return [*tables, _hinted_table(folder, f"{KNOWN_AS}/{hint}"), _view(folder, view)]


def _table(folder: Path, metadata: str) -> Table:
    return Table.of(folder, metadata, lambda io: open_table(metadata, io))


def _hinted_table(folder: Path, hint: str) -> Table:
    table = str(Path(hint).parents[1])
    return Table.of(folder, hint, lambda io: load_static_table(table, io).metadata_location)


def _view(folder: Path, metadata: str) -> Table:
    return Table.of(folder, metadata, lambda io: decode_view_metadata(io.read(to_location(metadata)), metadata))


def open_table(metadata: str, io: LocalFileIO) -> Any:
    """All that Python does to read a table: metadata, plans of its snapshots, metadata tables; what it says of them."""
    table = load_static_table(to_location(metadata), io).metadata
    manifests = ManifestCache()
    deleted: list[Any] = []
    for snapshot in {one.snapshot_id: one for one in (*table.snapshots[-2:], table.current_snapshot()) if one}.values():
        try:
            plan = plan_scan(io, table, snapshot, AlwaysTrue(), manifests=manifests)
            deleted += [(task.file.file_path, task.position_deletes or b"") for task in plan.tasks]
        except UnsupportedError as error:
            if error.condition != "UNSUPPORTED_TABLE_FEATURE":
                raise
    for metadata_table in METADATA_TABLES.values():
        metadata_table.rows(TableState(io, table, "", table.current_snapshot(), manifests))
    return table, sorted(deleted)


def damaged(data: bytes, path: str, rng: random.Random) -> tuple[str, bytes]:
    """What was done to the file, and its bytes then."""
    structured: list[Callable[[bytes, random.Random], bytes]] = []
    if data[:4] == b"Obj\x01":
        structured = [_avro_count, _avro_bomb, _avro_schema, _avro_codec, _avro_header]
    elif data[:2] == b"\x1f\x8b":
        structured = [_gzip_bomb, _gzip_json]
    elif path.endswith(".json"):
        structured = [_json_value, _json_value, _json_key, _json_nested]
    elif path.endswith(".parquet"):
        structured = [_footer, _footer, _footer]
    elif path.endswith(".puffin"):
        structured = [_footer, _footer]
    change = rng.choice([_truncate, _flip, _flip, _noise, _cut_out, _repeat, *structured, *structured])
    return change.__name__.lstrip("_"), change(data, rng)


# Of any file


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _noise(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    noise = rng.choice([rng.randbytes(8), b"\xff" * 10, b"\x00" * 16, b"\x80" * 40, rng.randbytes(200)])
    return data[:start] + noise + data[start + len(noise) * rng.randrange(2) :]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randrange(1, 100) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    end = rng.randrange(start, len(data)) + 1
    return data[:end] + data[start:end] * rng.choice([1, 3]) + data[end:]


def _footer(data: bytes, rng: random.Random) -> bytes:
    """Changes bytes among the last ones, where Parquet and Puffin describe the file."""
    size = min(len(data), rng.choice([12, 64, 1000]))
    return data[:-size] + rng.choice([_flip, _noise, _cut_out])(data[-size:], rng)


# JSON


def _json_value(data: bytes, rng: random.Random) -> bytes:
    obj = json.loads(data)
    places = list(_places(obj))
    holder, key = rng.choice(places)
    holder[key] = rng.choice(_WRONG_VALUES)
    return json.dumps(obj).encode()


def _json_key(data: bytes, rng: random.Random) -> bytes:
    obj = json.loads(data)
    holder, key = rng.choice([place for place in _places(obj) if isinstance(place[0], dict)])
    value = holder.pop(key)
    if rng.randrange(2):
        holder[key.upper()] = value
    return json.dumps(obj).encode()


def _json_nested(data: bytes, rng: random.Random) -> bytes:
    """Thousands of levels, in a place of some value."""
    text = data.decode()
    holder, key = rng.choice(list(_places(json.loads(data))))
    depth = rng.choice([200, 900, 5_000, 200_000])
    deep = rng.choice(["[" * depth + "]" * depth, '{"type":' * depth + "1" + "}" * depth, "9" * depth])
    mark = json.dumps(holder[key])
    return text.replace(mark, deep, 1).encode() if mark in text else deep.encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


# gzip


def _gzip_bomb(data: bytes, rng: random.Random) -> bytes:
    return _compressed(rng.choice([b" ", b"[", b"0"]), _BOMB_BYTES, wbits=31)


@cache
def _compressed(byte: bytes, size: int, *, wbits: int) -> bytes:
    compressor = zlib.compressobj(1, wbits=wbits)
    piece = byte * (1 << 20)
    return b"".join(compressor.compress(piece) for _ in range(size >> 20)) + compressor.flush()


def _gzip_json(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(rng.choice([_json_value, _flip, _truncate])(gzip.decompress(data), rng))


# Avro


def _avro_count(data: bytes, rng: random.Random) -> bytes:
    """A block that claims another number of records."""
    header, metadata, blocks = _avro_parts(data)
    claimed = rng.choice([0, 1, 1 << 20, 1 << 40, (1 << 62), -1, -(1 << 62)])
    return header + b"".join(_avro_block(metadata, claimed, payload) for _, payload in blocks)


def _avro_bomb(data: bytes, rng: random.Random) -> bytes:
    """A block of very many zeros, in few bytes."""
    _, metadata, _ = _avro_parts(data)
    codec = rng.choice([b"deflate", b"zstandard", b"snappy"])
    # snappy does no more than 21 times: 8 MB of it are no bomb
    size = _BOMB_BYTES if codec == b"snappy" else rng.choice([1 << 23, _BOMB_BYTES])
    if codec == b"deflate":
        payload = _compressed(b"\x00", size, wbits=-15)
    else:
        payload = _zstd_zeros(size) if codec == b"zstandard" else _snappy_zeros(size)
    blocks = [(rng.choice([1, 1 << 18, 1 << 21, size]), payload)]
    return _avro_file({**metadata, "avro.codec": codec}, blocks)


@cache
def _zstd_zeros(size: int) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as compressed:
        for _ in range(size >> 20):
            compressed.write(bytes(1 << 20))
    return bytes(sink.getvalue().to_pybytes())


@cache
def _snappy_zeros(size: int) -> bytes:
    """A zero and copies of 64 more, with the checksum that Avro puts behind them."""
    checksum = 0
    for _ in range(size >> 20):
        checksum = zlib.crc32(bytes(1 << 20), checksum)
    claimed = bytearray()
    while size >> 7 * (len(claimed) + 1):
        claimed.append(0x80 | size >> 7 * len(claimed) & 0x7F)
    claimed.append(size >> 7 * len(claimed))
    blocks = b"\x00\x00" + b"\xfe\x01\x00" * (size // 64 - 1) + b"\xfa\x01\x00"
    return bytes(claimed) + blocks + checksum.to_bytes(4, "big")


def _avro_schema(data: bytes, rng: random.Random) -> bytes:
    """Another schema over the same blocks."""
    _, metadata, blocks = _avro_parts(data)
    schema = metadata["avro.schema"]
    changed = rng.choice([_json_value, _json_key, _json_nested, _flip])(schema, rng)
    return _avro_file({**metadata, "avro.schema": changed}, blocks)


def _avro_codec(data: bytes, rng: random.Random) -> bytes:
    _, metadata, blocks = _avro_parts(data)
    codec = rng.choice([b"null", b"snappy", b"zstandard", b"bzip2", b"\xff", b""])
    return _avro_file({**metadata, "avro.codec": codec}, blocks)


def _avro_header(data: bytes, rng: random.Random) -> bytes:
    """A header that claims very many entries, or a very long one."""
    return (
        data[:4]
        + rng.choice([avro_file.encoded_long(1 << 50), avro_file.encoded_long(-(1 << 50)), b"\xff" * 20])
        + data[4:]
    )


def _avro_parts(data: bytes) -> tuple[bytes, dict[str, bytes], list[tuple[int, bytes]]]:
    metadata, start = avro_file.decode_header(data)
    source = io.BytesIO(data)
    source.seek(start)
    sync = source.read(_SYNC_SIZE)
    blocks = []
    while source.tell() < len(data):
        count = avro_file._read_long(source)
        blocks.append((count, avro_file._read_bytes(source)))
        source.read(_SYNC_SIZE)
    return data[: start + _SYNC_SIZE], {**metadata, "": sync}, blocks


def _avro_block(metadata: dict[str, bytes], count: int, payload: bytes) -> bytes:
    return avro_file.encoded_long(count) + avro_file.encoded_long(len(payload)) + payload + metadata[""]


def _avro_file(metadata: dict[str, bytes], blocks: list[tuple[int, bytes]]) -> bytes:
    entries = {key.encode(): value for key, value in metadata.items() if key}
    header = b"".join(avro_file.encoded_long(len(part)) + part for entry in entries.items() for part in entry)
    body = b"".join(_avro_block(metadata, count, payload) for count, payload in blocks)
    return b"Obj\x01" + avro_file.encoded_long(len(entries)) + header + b"\x00" + metadata[""] + body


# Runs


def run_case(tables: list[Table], seed: int, number: int) -> tuple[str, str, str | None]:
    """The kind of file that was damaged, what the case was, and what was wrong with how it went."""
    rng = random.Random(f"{seed}/{number}")
    table = rng.choice(tables)
    path = rng.choice(table.files) if rng.randrange(3) else table.metadata
    sound = UnpackedIO(table.folder).read(path)
    change, data = damaged(sound, path, rng)
    case = f"case {number}: {change} of {path}"
    start = time.process_time()
    try:
        answer = table.open(DamagedIO(table.folder, path, data))
    except SqlextError as error:
        fault = None if _names_a_file(str(error)) else f"names no file: {error}"
        if "malloc" in str(error) or error.condition == "INTERNAL_ERROR":
            fault = f"takes too much memory: {error}"
    except BaseException as error:
        fault = f"{type(error).__name__}: {str(error)[:300]}\n{traceback.format_exc(limit=-9)[-2500:]}"
    else:
        wrong = _has_checksum(sound, change) and answer != table.answer
        fault = "is read as something else, and has a checksum" if wrong else None
    took = time.process_time() - start
    return kind_of(path, sound), case, f"took {took:.1f} s" if fault is None and took > MOST_SECONDS else fault


def kind_of(path: str, data: bytes) -> str:
    if data[:4] == b"PFA1":
        return "Puffin"
    if data[:2] == b"\x1f\x8b":
        return "gzipped metadata"
    if data[:4] == b"Obj\x01":
        return "manifest list" if Path(path).name.startswith("snap-") else "manifest"
    return {".json": "view" if "view-uuid" in str(data) else "metadata", ".parquet": "position deletes"}.get(
        Path(path).suffix, Path(path).name
    )


def _has_checksum(sound: bytes, change: str) -> bool:
    """Whether a file says itself that it was damaged: deletion vectors and gzip have checksums."""
    return sound[:4] == b"PFA1" or (sound[:2] == b"\x1f\x8b" and not change.startswith("gzip"))


def _names_a_file(message: str) -> bool:
    """By a name that the damage may have changed: at its end or at its beginning."""
    suffixes = ("version-hint.text", ".json", ".avro", ".parquet", ".puffin", ".orc", ".stats")
    return f"{KNOWN_AS}/" in message or any(suffix in message for suffix in suffixes)


def _limit_memory() -> None:
    """What is in use already, and so much more, for the next case."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, resource.RLIM_INFINITY))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", type=int, default=None)
    given = parser.parse_args()
    seed = random.randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        tables = golden_tables(Path(folder).resolve())
        numbers = range(given.count) if given.case is None else [given.case]
        wrong = 0
        kinds: Counter[str] = Counter()
        for number in numbers:
            _limit_memory()
            kind, case, fault = run_case(tables, seed, number)
            kinds[kind] += 1
            if fault is not None:
                wrong += 1
                print(f"{case}\n  {fault}", flush=True)
    for kind, count in kinds.most_common():
        print(f"{kind}: {count}")
    print(f"{len(numbers)} cases, {wrong} wrong", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
