"""What libraries do of the work that sqlext does itself, or did: manifests decoded, and columns put into buckets.

Libraries that are not installed are left out: `pip install polars-avro datafusion chdb polars-hash` adds all of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import multiprocessing
import random
import resource
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.avro.file import AvroFile
from pyiceberg.io.pyarrow import PyArrowFileIO

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, least, measured, peak_memory
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import (
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    encode_manifest,
)
from sqlext.spec.manifests.manifest_columns import decode_manifest_columns
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    Type,
    UuidType,
)
from sqlext.write.partitioner import transform_column

_MB = 2**20
_RUNS = 3

# Manifests

_TYPES: tuple[Type, ...] = (LongType(), StringType(), DoubleType(), DateType(), IntegerType())
_BY_DATE = PartitionSpec(0, (PartitionField(4, 1000, "c4", IdentityTransform()),))
_ENCODED = 10_000
_GOLDEN_TABLES = Path(__file__).parent.parent / "golden_tables"
_DAMAGED = 2_000
_MOST_BYTES = 6 * 2**30


@dataclass(frozen=True, slots=True)
class _Manifest:
    """A manifest of so many entries, with metrics of so many columns."""

    path: Path
    entries: int
    columns: int

    @property
    def schema(self) -> Schema:
        return Schema(tuple(NestedField(id, f"c{id}", _type(id)) for id in range(1, self.columns + 1)))

    @property
    def listed(self) -> ManifestFile:
        size, count = self.path.stat().st_size, self.entries
        return ManifestFile(str(self.path), size, 0, ManifestContent.DATA, 1, 1, 1, count, 0, 0, count, 0, 0)


def manifest_decoders(bench: Bench) -> Iterator[Result]:
    """Each decoder in a process of its own: seconds, the least of three runs, and memory at the peak of the first."""
    if bench.system.name != "sqlext":
        return
    folder = bench.data.parent / "manifests"
    folder.mkdir(parents=True, exist_ok=True)
    for entries, columns in ((1_000, 5), (10_000, 5), (100_000, 5), (1_000, 50), (10_000, 50)):
        manifest = _Manifest(folder / f"{entries}-{columns}.avro", entries, columns)
        if not manifest.path.exists():
            manifest.path.write_bytes(_encoded(manifest))
        case = f"{entries:,} entries, {columns} columns"
        for name, (package, _) in _DECODERS.items():
            if importlib.util.find_spec(package) is None:
                continue
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                cost, grown, found = process.submit(_decoded, name, manifest).result()
            system, _, mode = name.partition(" ")
            yield Result("manifest_decoders", case, system, mode, cost, found)
            yield Result("manifest_decoders", f"{case}: peak", system, mode, Cost(0, 0), "", grown / _MB)


def foreign_manifests(bench: Bench) -> Iterator[Result]:
    """How many manifests of Iceberg and Flink a decoder reads, and how many with one wrong bit that fastavro refuses.

    A panic is an error that is no `Exception`; a crash ends the process.
    """
    if bench.system.name != "sqlext":
        return
    with tempfile.TemporaryDirectory() as folder:
        written, damaged = _golden_manifests(Path(folder)), _damaged_manifests(Path(folder))
        known: list[_Verdict] = []
        for name, (package, _) in _DECODERS.items():
            if package == "sqlext" or importlib.util.find_spec(package) is None:
                continue
            found = _verdicts(name, [*written, *damaged])
            read = [one is _Verdict.READ for one in found[: len(written)]]
            of_damaged = found[len(written) :]
            known = known or of_damaged  # fastavro is the first
            wrongly = sum(
                one is _Verdict.READ and by_fastavro is not _Verdict.READ
                for one, by_fastavro in zip(of_damaged, known, strict=True)
            )
            told = f"{sum(read)} of {len(written)}; damaged: {wrongly} of {len(damaged)} read, "
            told += f"{of_damaged.count(_Verdict.PANIC)} panics, {of_damaged.count(_Verdict.CRASH)} crashes"
            yield Result("foreign_manifests", "read", name, told, Cost(0, 0), "")


class _Verdict(Enum):
    READ = "read"
    REFUSED = "refused"
    PANIC = "panic"
    CRASH = "crash"


def _verdicts(name: str, paths: Sequence[Path]) -> list[_Verdict]:
    found: list[_Verdict] = []
    while len(found) < len(paths):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _limit_memory) as process:
            try:
                found.extend(process.map(_verdict, itertools.repeat(name), paths[len(found) :]))
            except BrokenProcessPool:
                found.append(_Verdict.CRASH)
    return found


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))


def _verdict(name: str, path: Path) -> _Verdict:
    package, decode = _DECODERS[name]
    try:
        decode(importlib.import_module(package), _Manifest(path, 0, 0))
    except Exception:
        return _Verdict.REFUSED
    except BaseException:  # that of PyO3 is no Exception
        return _Verdict.PANIC
    return _Verdict.READ


def _golden_manifests(folder: Path) -> list[Path]:
    found = []
    for archive in sorted(_GOLDEN_TABLES.glob("*.zip")):
        with zipfile.ZipFile(archive) as opened:
            for number, member in enumerate(one for one in opened.namelist() if one.endswith(".avro")):
                data = opened.read(member)
                if any(field["name"] == "data_file" for field in avro_file.decode_schema(data)["fields"]):
                    found.append(folder / f"{archive.stem}-{number}.avro")
                    found[-1].write_bytes(data)
    return found


def _damaged_manifests(folder: Path) -> list[Path]:
    rng = random.Random(1)
    schema = Schema(tuple(NestedField(id, f"c{id}", _type(id)) for id in range(1, 6)))
    data = encode_manifest(
        [_entry(rng, number, 5) for number in range(60)],
        schema=schema, spec=_BY_DATE, content=ManifestContent.DATA, format_version=2, codec="null",
    )  # fmt: skip
    _, end = avro_file.decode_header(data)
    paths = [folder / f"damaged-{number}.avro" for number in range(_DAMAGED)]
    for path in paths:
        place = rng.randrange(end + 24, len(data) - 16)
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :])
    return paths


def _decoded(name: str, manifest: _Manifest) -> tuple[Cost, int, int]:
    package, decode = _DECODERS[name]
    module = importlib.import_module(package)
    found: list[int] = []
    with peak_memory() as memory:
        costs = [measured(lambda: found.append(decode(module, manifest)))]
    costs += [measured(lambda: found.append(decode(module, manifest))) for _ in range(_RUNS - 1)]
    return least(costs), memory.grown, found[0]


def _sqlext_columns(_: Any, manifest: _Manifest) -> int:
    parts = decode_manifest_columns(
        manifest.path.read_bytes(), manifest.listed, schema=manifest.schema, specs={0: _BY_DATE}
    )
    return sum(part.size for part in parts)


def _sqlext_rows(_: Any, manifest: _Manifest) -> int:
    return len(
        decode_manifest(manifest.path.read_bytes(), manifest.listed, schema=manifest.schema, specs={0: _BY_DATE})
    )


def _fastavro(fastavro: Any, manifest: _Manifest) -> int:
    with manifest.path.open("rb") as opened:
        return len(list(fastavro.reader(opened)))


def _duckdb(duckdb: Any, manifest: _Manifest) -> int:
    package = importlib.import_module("duckdb_extension_avro")
    (extension,) = Path(package.__file__ or "").parent.glob("extensions/*/*.duckdb_extension")
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        return int(connection.execute("SELECT * FROM read_avro(?)", [str(manifest.path)]).to_arrow_table().num_rows)


def _pyiceberg(_: Any, manifest: _Manifest) -> int:
    with AvroFile(PyArrowFileIO().new_input(str(manifest.path))) as records:
        return len(list(records))


def _pyiceberg_core(core: Any, manifest: _Manifest) -> int:
    return len(core.manifest.read_manifest_entries(manifest.path.read_bytes()).entries())


def _datafusion(datafusion: Any, manifest: _Manifest) -> int:
    return sum(batch.num_rows for batch in datafusion.SessionContext().read_avro(str(manifest.path)).collect())


def _chdb(chdb: Any, manifest: _Manifest) -> int:
    return int(chdb.query(f"SELECT * FROM file('{manifest.path}', Avro)", "ArrowTable").num_rows)


_DECODERS: dict[str, tuple[str, Callable[[Any, _Manifest], int]]] = {
    "sqlext columns": ("sqlext", _sqlext_columns),
    "sqlext rows": ("sqlext", _sqlext_rows),
    "fastavro": ("fastavro", _fastavro),
    "pyiceberg": ("pyiceberg", _pyiceberg),
    "pyiceberg-core": ("pyiceberg_core", _pyiceberg_core),
    "polars": ("polars", lambda polars, manifest: int(polars.read_avro(manifest.path).height)),
    "polars-avro": ("polars_avro", lambda polars, manifest: int(polars.read_avro(manifest.path).height)),
    "datafusion": ("datafusion", _datafusion),
    "duckdb": ("duckdb", _duckdb),
    "chdb": ("chdb", _chdb),
}


def _encoded(manifest: _Manifest) -> bytes:
    """Entries beyond `_ENCODED` are the blocks of those before them, again."""
    rng = random.Random(manifest.columns)
    entries = [_entry(rng, number, manifest.columns) for number in range(min(_ENCODED, manifest.entries))]
    data = encode_manifest(
        entries, schema=manifest.schema, spec=_BY_DATE, content=ManifestContent.DATA, format_version=2
    )
    _, end = avro_file.decode_header(data)
    times, rest = divmod(manifest.entries, len(entries))
    assert rest == 0
    return data + data[end + 16 :] * (times - 1)


def _entry(rng: random.Random, number: int, columns: int) -> ManifestEntry:
    ids = range(1, columns + 1)
    file = ContentFile(
        Content.DATA,
        f"s3://lake/bench/t/data/c4=2020-01-01/00000-{number}-{rng.getrandbits(128):032x}-00001.parquet",
        "PARQUET",
        0,
        (18_000 + number // 500,),
        1_000 + rng.randrange(100_000),
        rng.randrange(10**5, 10**8),
        column_sizes={id: rng.randrange(10**3, 10**6) for id in ids},
        value_counts=dict.fromkeys(ids, 1_000),
        null_value_counts={id: rng.choice((0, 0, rng.randrange(1_000))) for id in ids},
        nan_value_counts={id: 0 for id in ids if isinstance(_type(id), DoubleType)},
        lower_bounds={id: _bound(rng, _type(id)) for id in ids},
        upper_bounds={id: _bound(rng, _type(id)) for id in ids},
        split_offsets=(4,),
        sort_order_id=0,
    )
    return ManifestEntry(EntryStatus.ADDED, 1, None, None, file)


def _type(id: int) -> Type:
    return _TYPES[(id - 1) % len(_TYPES)]


def _bound(rng: random.Random, type: Type) -> bytes:
    match type:
        case StringType():
            return encode(type, f"{rng.getrandbits(64):016x}")
        case DoubleType():
            return encode(type, rng.uniform(0, 1e6))
    return encode(type, rng.randrange(20_000))


# Buckets

_ROWS = 1_000_000
_BUCKETS = 16


def bucket_hashes(bench: Bench) -> Iterator[Result]:
    """The buckets of a million values: as sqlext writes them, value by value, and by Polars' plugin."""
    if bench.system.name != "sqlext":
        return
    for case, (type, column) in _columns().items():
        yield _bucketed(case, "sqlext", lambda type=type, column=column: _by_sqlext(type, column))  # type: ignore[misc]
        yield _bucketed(case, "mmh3", lambda column=column: _value_by_value(column))  # type: ignore[misc]
        if isinstance(type, StringType) and importlib.util.find_spec("polars_hash") is not None:
            yield _bucketed(case, "polars-hash", lambda column=column: _by_polars_hash(column))  # type: ignore[misc]


def _bucketed(case: str, system: str, work: Callable[[], pa.Array]) -> Result:
    buckets: list[pa.Array] = []
    costs = [measured(lambda: buckets.append(work())) for _ in range(_RUNS)]
    return Result("bucket_hashes", case, system, "", least(costs), str(pc.value_counts(buckets[0].cast(pa.int32()))))


def _columns() -> dict[str, tuple[Type, pa.Array]]:
    rng = np.random.default_rng(1)
    longs = pa.array(rng.integers(-(10**15), 10**15, _ROWS))
    wide = longs.cast(pa.decimal128(38, 0))
    texts = [f"customer {number:x}" for number in rng.integers(0, 2**60, _ROWS)]
    uuids = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), _ROWS, [None, pa.py_buffer(rng.bytes(16 * _ROWS))])
    return {
        "int": (IntegerType(), pa.array(rng.integers(-(2**31), 2**31, _ROWS, np.int32))),
        "long": (LongType(), longs),
        "date": (DateType(), pa.array(rng.integers(0, 20_000, _ROWS, np.int32)).cast(pa.date32())),
        "timestamp": (TimestampType(), longs.cast(pa.timestamp("us"))),
        "decimal(18,2)": (DecimalType(18, 2), pa.Array.from_buffers(pa.decimal128(18, 2), _ROWS, wide.buffers())),
        "uuid": (UuidType(), uuids),
        "string": (StringType(), pa.array(texts)),
        "string, 1,000 values": (StringType(), pa.array(texts[:1_000] * (_ROWS // 1_000))),
    }


def _by_sqlext(type: Type, column: pa.Array) -> pa.Array:
    return transform_column(BucketTransform(_BUCKETS), type, column)


def _value_by_value(column: pa.Array) -> pa.Array:
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    return pa.array([(mmh3.hash(_hashed(value)) & 0x7FFFFFFF) % _BUCKETS for value in column.to_pylist()])


def _hashed(value: Any) -> bytes | str:
    match value:
        case int():
            return value.to_bytes(8, "little", signed=True)
        case Decimal():
            unscaled = int(value.scaleb(2))
            return unscaled.to_bytes((unscaled ^ (unscaled >> 127)).bit_length() // 8 + 1, "big", signed=True)
        case bytes() | str():
            return value
    raise TypeError(f"{value!r} is not hashed")


def _by_polars_hash(column: pa.Array) -> pa.Array:
    polars = importlib.import_module("polars")
    importlib.import_module("polars_hash")
    hashed = (polars.col("value").nchash.murmur32() & 0x7FFFFFFF) % _BUCKETS
    return polars.DataFrame({"value": polars.from_arrow(column)}).select(hashed).to_series().to_arrow()


LIBRARIES: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "manifest_decoders": manifest_decoders,
    "foreign_manifests": foreign_manifests,
    "bucket_hashes": bucket_hashes,
}
