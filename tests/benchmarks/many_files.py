"""Tables of very many data files that are not there: manifests and metadata only, for measuring the planning of scans.

Entries of one shape differ in fixed places of equal width, so that numpy writes them: a million take seconds. File
number `n` holds the 1,000 ids from `1000 * place(n)` on, where `place` scatters the ids over all manifests; days are
clustered.
"""

from __future__ import annotations

import datetime
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import (
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    encode_manifest,
    encode_manifest_list,
)
from sqlext.spec.metadata.reference import SnapshotReference
from sqlext.spec.metadata.snapshot import Snapshot, SnapshotLogEntry
from sqlext.spec.metadata.table_metadata import encode_table_metadata, new_table_metadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import (
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

FILES_PER_MANIFEST = 10_000
FILES_PER_DAY = 500
ROWS_PER_FILE = 1_000
FIRST_DAY = datetime.date(2020, 1, 1)

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType()),
        NestedField(2, "day", DateType()),
        NestedField(3, "customer", StringType()),
        NestedField(4, "amount", DoubleType()),
        NestedField(5, "sold_at", TimestamptzType()),
        NestedField(6, "quantity", IntegerType()),
        NestedField(7, "discount", DoubleType()),
        NestedField(8, "supplier", LongType()),
    )
)
BY_DAY = PartitionSpec(0, (PartitionField(2, 1000, "day", IdentityTransform()),))
_DAY_ZERO = (FIRST_DAY - datetime.date(1970, 1, 1)).days
_PRIME = 7_368_787

_Bytes = npt.NDArray[np.uint8]


def many_file_table(store: Path, table: Path, files: int, per_manifest: int = FILES_PER_MANIFEST) -> None:
    """Makes the table at folder `table`, which must not exist; manifests are made once in `store` and linked."""
    metadata_folder = table / "metadata"
    metadata_folder.mkdir(parents=True)
    manifests = []
    for start in range(0, files, per_manifest):
        count = min(per_manifest, files - start)
        kept = store / (
            f"{files}-{start}.avro" if per_manifest == FILES_PER_MANIFEST else f"{files}-{start}-{count}.avro"
        )
        if not kept.exists():
            store.mkdir(parents=True, exist_ok=True)
            kept.with_suffix(".part").write_bytes(_manifest(start, count, files))
            kept.with_suffix(".part").rename(kept)
        linked = metadata_folder / kept.name
        os.link(kept, linked)
        manifests.append(_listed(linked, start, count))
    encoded = encode_manifest_list(
        manifests, snapshot_id=1, parent_snapshot_id=None, sequence_number=1, format_version=2
    )
    path = metadata_folder / "snap-1.avro"
    path.write_bytes(encoded)
    summary = {"operation": "append", "total-data-files": str(files), "total-delete-files": "0"}
    summary |= {"total-records": str(files * ROWS_PER_FILE), "total-files-size": str(files * 50_000)}
    made = new_table_metadata(SCHEMA, BY_DAY, UNSORTED, str(table), {}, 2, _UUID, 0)
    metadata = replace(
        made,
        last_sequence_number=1,
        current_snapshot_id=1,
        snapshots=(Snapshot(1, None, 1, 1, str(path), summary, 0),),
        snapshot_log=(SnapshotLogEntry(1, 1),),
        refs={"main": SnapshotReference(1, "branch")},
    )
    (metadata_folder / "v1.metadata.json").write_bytes(encode_table_metadata(metadata))
    (metadata_folder / "version-hint.text").write_text("1")


def _days(start: int, count: int) -> npt.NDArray[np.int32]:
    return np.asarray(_DAY_ZERO + np.arange(start, start + count) // FILES_PER_DAY, np.int32)


def _listed(path: Path, start: int, count: int) -> ManifestFile:
    days = _days(start, count)
    day_range = FieldSummary(False, False, encode(DateType(), int(days[0])), encode(DateType(), int(days[-1])))
    rows = count * ROWS_PER_FILE
    return ManifestFile(
        str(path), path.stat().st_size, 0, ManifestContent.DATA, 1, 1, 1, count, 0, 0, rows, 0, 0, (day_range,)
    )


def _manifest(start: int, count: int, files: int) -> bytes:
    """The manifest of the files from `start` on."""
    template = _record(_DAY_ZERO)
    records = np.tile(np.frombuffer(template, np.uint8), (count, 1))
    numbers = np.arange(start, start + count, dtype=np.int64)
    ids = numbers * _PRIME % files * ROWS_PER_FILE
    random = np.random.default_rng(start)
    amounts, times = random.uniform(0, 1e6, count), random.integers(0, 2**50, count)
    low: dict[int, npt.NDArray[np.generic]] = {
        1: ids, 2: _days(start, count), 4: amounts, 5: times,
        6: random.integers(0, 50, count, np.int32), 7: random.uniform(0, 0.5, count),
        8: random.integers(0, 10**6, count),
    }  # fmt: skip
    high = {key: value + (ROWS_PER_FILE - 1 if key == 1 else 0 if key == 2 else 1) for key, value in low.items()}
    for bounds, marks in ((low, _LOWER), (high, _UPPER)):
        for key, mark in marks.items():
            raw = np.ascontiguousarray(bounds[key].astype(bounds[key].dtype, copy=False)).view(np.uint8)
            _put(records, template, mark, raw.reshape(count, -1))
    _put(records, template, _NUMBER, np.char.zfill(numbers.astype("S8"), 8).view(np.uint8).reshape(count, 8))
    for size in _SIZES.values():
        _put(records, template, _varint(size), _varints(random.integers(10_000, 900_000, count)))
    _put(records, template, _varint(_DAY_ZERO), _varints(_days(start, count)))
    header = _container([_entry(_DAY_ZERO)], "deflate")
    metadata, end = avro_file.decode_header(header)
    sync = header[end : end + 16]
    assert metadata["avro.codec"] == b"deflate"
    out = [header[: end + 16]]
    for block in range(0, count, _RECORDS_PER_BLOCK):
        part = records[block : block + _RECORDS_PER_BLOCK]
        packer = zlib.compressobj(6, wbits=-15)
        packed = packer.compress(part.tobytes()) + packer.flush()
        out += [_zigzag(len(part)), _zigzag(len(packed)), packed, sync]
    return b"".join(out)


def _put(records: _Bytes, template: bytes, mark: bytes, values: _Bytes) -> None:
    assert template.count(mark) == 1
    assert values.shape[1] == len(mark)
    place = template.index(mark)
    records[:, place : place + len(mark)] = values


def _entry(day: int) -> ManifestEntry:
    keys = range(1, 9)
    file = ContentFile(
        Content.DATA,
        "file:/lake/bench/many_files/data/day=2020-01-01/00000-0-5d3c1c0e-4f0a-4d0e-9c53-"
        + _NUMBER.decode()
        + ".parquet",
        "PARQUET",
        0,
        (day,),
        ROWS_PER_FILE,
        50_000,
        column_sizes=_SIZES,
        value_counts=dict.fromkeys(keys, ROWS_PER_FILE),
        null_value_counts=dict.fromkeys(keys, 0),
        nan_value_counts={4: 0, 7: 0},
        lower_bounds={3: b"Customer#0000001", **_LOWER},
        upper_bounds={3: b"Customer#9999999", **_UPPER},
        split_offsets=(4,),
        sort_order_id=0,
    )
    return ManifestEntry(EntryStatus.ADDED, 1, None, None, file)


def _record(day: int) -> bytes:
    """One entry as Avro codes it."""
    data = _container([_entry(day)], "null")
    _, end = avro_file.decode_header(data)
    size_at = end + 16 + 1  # the sync marker, and a count of one record
    length = len(data) - size_at - 16
    prefix = next(width for width in range(1, 4) if len(_zigzag(length - width)) == width)
    return data[size_at + prefix : -16]


def _container(entries: list[ManifestEntry], codec: str) -> bytes:
    return encode_manifest(
        entries, schema=SCHEMA, spec=BY_DAY, content=ManifestContent.DATA, format_version=2, codec=codec
    )


def _zigzag(value: int) -> bytes:
    return _varint(value)


def _varint(value: int) -> bytes:
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _varints(values: npt.NDArray[np.integer[Any]]) -> _Bytes:
    """Avro's form of numbers that all take three bytes."""
    doubled = values.astype(np.int64) * 2
    assert doubled.min() >= 1 << 14
    assert doubled.max() < 1 << 21
    return np.stack([doubled & 0x7F | 0x80, doubled >> 7 & 0x7F | 0x80, doubled >> 14], axis=1).astype(np.uint8)


_UUID = "6a0c1b52-8d3e-4f57-9a41-2f6a3c1d7e80"
_NUMBER = b"NNNNNNNN"
_RECORDS_PER_BLOCK = 250
_SIZES = {key: 123_456 + 7_001 * key for key in range(1, 9)}
_WIDTHS = {1: 8, 2: 4, 4: 8, 5: 8, 6: 4, 7: 8, 8: 8}
_LOWER = {key: bytes([0xA0 + key] * width) for key, width in _WIDTHS.items()}
_UPPER = {key: bytes([0xC0 + key] * width) for key, width in _WIDTHS.items()}
