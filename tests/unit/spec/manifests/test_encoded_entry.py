"""Entries whose bytes are copied against entries that are decoded and encoded, in manifests of all writers.

`SQLEXT_TEST_SEED` replays a run, `SQLEXT_TEST_CASES` makes it longer.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import fastavro
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntryStatus, write_manifest
from pyiceberg.manifest import ManifestEntry as PyIcebergEntry
from pyiceberg.partitioning import PartitionField as PyIcebergField
from pyiceberg.partitioning import PartitionSpec as PyIcebergSpec
from pyiceberg.schema import Schema as PyIcebergSchema
from pyiceberg.transforms import IdentityTransform as PyIcebergIdentity
from pyiceberg.typedef import Record
from pyiceberg.types import LongType as PyIcebergLong
from pyiceberg.types import NestedField as PyIcebergNested

from sqlext.errors import CorruptionError
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests import encoded_entry as module
from sqlext.spec.manifests.content_file import PUFFIN, Content, ContentFile
from sqlext.spec.manifests.encoded_entry import EncodedEntry, EntryFormat, encode_entries, encoded_entries
from sqlext.spec.manifests.encoded_entry import encoded_entry as encoded
from sqlext.spec.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
)
from sqlext.spec.metadata.table_metadata import decode_table_metadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import DayTransform, IdentityTransform, Transform, VoidTransform
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)
from unit.spec import iceberg_tables

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))
CASES = int(os.environ.get("SQLEXT_TEST_CASES", "60"))
TYPES: tuple[Type, ...] = (
    BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), StringType(), BinaryType(), DateType(),
    TimeType(), TimestampType(), TimestamptzType(), DecimalType(9, 2), DecimalType(38, 10), UuidType(),
    TimestampNanoType(),
)  # fmt: skip
FOR_FASTAVRO = (BooleanType(), LongType(), DoubleType(), StringType(), DecimalType(9, 2), UuidType())
"""Types of which fastavro reads and writes all values."""
CODECS = ("gzip", "uncompressed", "snappy", "zstd")
NOT_LISTED = (0, 0, 0, 0, 0, 0)


def value(random: Random, type: Type) -> Any:
    if random.random() < 0.2:
        return None
    match type:
        case BooleanType():
            return random.random() < 0.5
        case FloatType():
            number = random.choice((0.0, -0.0, math.inf, math.nan, random.random()))
            return struct.unpack("<f", struct.pack("<f", number))[0]
        case DoubleType():
            return random.choice((0.0, -0.0, math.inf, math.nan, random.random()))
        case StringType():
            return random.choice(random.choice((("", "eu", "漢字", "PARQUET", "x" * 100), ("é", "ü", "eu"))))
        case BinaryType():
            return random.randbytes(random.choice((0, 3, 90)))
        case DecimalType(precision=precision, scale=scale):
            bound = 10 ** min(precision, random.choice((1, 5, precision)))
            return Decimal(random.randrange(-bound + 1, bound)).scaleb(-scale)
        case UuidType():
            return UUID(int=random.getrandbits(128))
    bits = 31 if isinstance(type, IntegerType | DateType) else 63
    return random.randrange(-(1 << random.choice((2, 10, bits))), 1 << random.choice((2, 10, bits)))


class Case:
    """A random table of one format version, and random manifests of it."""

    def __init__(self, random: Random, of_types: Sequence[Type] = TYPES) -> None:
        self.random = random
        self.version = random.choice((1, 2, 3))
        types = [random.choice(of_types) for _ in range(random.randint(0, 4))]
        transforms: list[Transform] = [
            VoidTransform() if random.random() < 0.1 else DayTransform() if isinstance(type, TimestampType)
            else IdentityTransform() for type in types
        ]  # fmt: skip
        self.schema = Schema(
            (NestedField(1, "id", LongType()), *(NestedField(n + 2, f"c {n}", type) for n, type in enumerate(types)))
        )
        self.spec = PartitionSpec(
            random.choice((0, 4)),
            tuple(PartitionField(n + 2, 1000 + n, f"p {n}", transform) for n, transform in enumerate(transforms)),
        )
        self.partition_types = [field.type for field in self.spec.partition_type(self.schema).fields]
        deletes = self.version > 1 and random.random() < 0.3
        self.content = ManifestContent.DELETES if deletes else ManifestContent.DATA

    @property
    def format(self) -> EntryFormat:
        return EntryFormat(self.version, self.schema, self.spec)

    def entry(self) -> ManifestEntry:
        random = self.random
        status = random.choice((EntryStatus.ADDED, EntryStatus.ADDED, EntryStatus.EXISTING, EntryStatus.DELETED))
        snapshot_id = random.choice((None, 5, random.getrandbits(62)))
        given = status != EntryStatus.ADDED or random.random() < 0.3
        numbers = (random.randrange(9), random.choice((None, random.randrange(9)))) if given else (None, None)
        return ManifestEntry(status, snapshot_id, *(numbers if self.version > 1 else (None, None)), self.file())  # type: ignore[call-arg]

    def file(self) -> ContentFile:
        random, version = self.random, self.version
        partition = tuple(None if str(type) == "unknown" else value(random, type) for type in self.partition_types)
        file = ContentFile(
            Content.DATA, f"file:///lake/t/{random.choice(('ü', 'a'))}{random.getrandbits(40)}.parquet",
            random.choice(("PARQUET", "ORC", "AVRO")), self.spec.spec_id, partition, random.randrange(1 << 40),
            random.randrange(1 << 40),
        )  # fmt: skip
        if random.random() < 0.8:
            counts = {column: random.randrange(1 << random.choice((3, 20, 40))) for column in (1, 2, 3)}
            bounds = {column: random.randbytes(random.choice((0, 8, 8, 30))) for column in (1, 3)}
            file = replace(
                file, column_sizes=counts, value_counts=counts, null_value_counts={}, nan_value_counts=None,
                lower_bounds=bounds, upper_bounds=bounds, split_offsets=random.choice((None, (), (4, 1 << 35))),
                sort_order_id=random.choice((None, 0)), key_metadata=random.choice((None, b"", b"\x00key")),
            )  # fmt: skip
        if version > 2 and self.content == ManifestContent.DATA and random.random() < 0.4:
            file = replace(file, first_row_id=random.getrandbits(40))
        if self.content == ManifestContent.DELETES:
            if random.random() < 0.5:
                return replace(file, content=Content.EQUALITY_DELETES, equality_ids=(1, 2))
            file = replace(file, content=Content.POSITION_DELETES, referenced_data_file="file:///lake/t/data.parquet")
            if version > 2:
                file = replace(file, file_format=PUFFIN, content_offset=4, content_size_in_bytes=random.randrange(999))
        return file

    def manifest(self, codecs: Sequence[str] = CODECS) -> tuple[ManifestFile, bytes]:
        random = self.random
        entries = [self.entry() for _ in range(random.choice((0, 1, 3, 60)))]
        data = encode_manifest(
            entries, schema=self.schema, spec=self.spec, content=self.content, format_version=self.version,
            codec=random.choice(codecs),
        )  # fmt: skip
        # Of format version 1, and of a table upgraded from it, all numbers are 0.
        number = random.choice((0, 7)) if self.version > 1 else 0
        first_row_id = random.choice((None, 0, 10_000)) if self.version > 2 else None
        if number == 0:
            entries = [
                replace(one, sequence_number=None) if one.status == EntryStatus.ADDED else one for one in entries
            ]
        listed = ManifestFile(
            f"m{random.getrandbits(60)}.avro", len(data), self.spec.spec_id, self.content, number, 0, 77, *NOT_LISTED,
            first_row_id=first_row_id if self.content == ManifestContent.DATA else None,
        )  # fmt: skip
        return listed, data


def decoded(manifests: Sequence[tuple[ManifestFile, bytes]], to: EntryFormat) -> list[ManifestEntry]:
    specs = {to.spec.spec_id: to.spec}
    return [entry for one, data in manifests for entry in decode_manifest(data, one, schema=to.schema, specs=specs)]


def written(entries: Sequence[EncodedEntry], content: ManifestContent, to: EntryFormat) -> list[ManifestEntry]:
    """The entries of a manifest of `entries`, in which they inherit nothing."""
    data = encode_entries(entries, content, to)
    number = 0 if to.format_version == 1 else 1_000
    none = ManifestFile("new.avro", len(data), to.spec.spec_id, content, number, 0, 0, *NOT_LISTED)
    found = decoded([(none, data)], to)
    header, _ = avro_file.decode_header(data)
    assert header["avro.schema"].decode() == to.writer.schema_text
    return found


def without_format_1(entries: Sequence[ManifestEntry], to: EntryFormat) -> list[ManifestEntry]:
    """What a manifest of the format can hold: in version 1 no sequence numbers, which are 0."""
    if to.format_version > 1:
        return list(entries)
    return [replace(one, sequence_number=0, file_sequence_number=0) for one in entries]


def require_same(manifests: Sequence[tuple[ManifestFile, bytes]], content: ManifestContent, to: EntryFormat) -> None:
    """Values as text, in which NaN equals itself and -0.0 differs from 0.0."""
    expected = without_format_1(decoded(manifests, to), to)
    copied = list(encoded_entries(manifests, to))
    assert [repr(one) for one in written(copied, content, to)] == [repr(one) for one in expected]
    for entry, one in zip(copied, expected, strict=True):
        assert repr((entry.key, entry.partition, entry.record_count, entry.first_row_id)) == repr(
            (one.file.key, one.file.partition, one.file.record_count, one.file.first_row_id)
        )


@pytest.fixture
def re_encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The manifests whose entries were decoded and encoded."""
    found: list[str] = []
    original = module._re_encoded

    def noted(manifest: ManifestFile, *rest: Any) -> Any:
        found.append(manifest.path)
        return original(manifest, *rest)

    monkeypatch.setattr(module, "_re_encoded", noted)
    return found


def test_random_manifests_are_copied_as_they_are_decoded(re_encoded: list[str]) -> None:
    entries = 0
    for turn in range(CASES):
        case = Case(Random(f"{SEED}-{turn}"))
        manifests = [case.manifest() for _ in range(case.random.randint(1, 6))]
        try:
            require_same(manifests, case.content, case.format)
        except Exception as error:
            raise AssertionError(f"SQLEXT_TEST_SEED={SEED} turn {turn}: {error}") from error
        entries += len(decoded(manifests, case.format))
    assert entries > 10 * CASES
    # A text that is "PARQUET" can hide where records begin.
    assert len(re_encoded) < CASES


def test_texts_of_one_width_beside_nulls_are_copied(re_encoded: list[str]) -> None:
    """What stands in for a null is no text where two characters share a byte."""
    content = ManifestContent.DATA
    spec = PartitionSpec(0, (PartitionField(2, 1000, "p", IdentityTransform()),))
    schema = Schema((NestedField(1, "id", LongType()), NestedField(2, "region", StringType())))
    to = EntryFormat(2, schema, spec)
    files = [
        ContentFile(Content.DATA, f"file:///lake/t/{number}.parquet", "PARQUET", 0, (text,), 1, 100)
        for number, text in enumerate(("é", None, "ü", None))
    ]
    entries = [ManifestEntry(EntryStatus.ADDED, 5, None, None, file) for file in files]
    data = encode_manifest(entries, schema=schema, spec=spec, content=content, format_version=2)
    listed = ManifestFile("m.avro", len(data), 0, content, 7, 0, 77, *NOT_LISTED)
    require_same([(listed, data)], content, to)
    assert re_encoded == []


@pytest.mark.parametrize("version", [2, 3])
def test_manifests_of_an_earlier_format_version_are_written_as_of_this_one(version: int) -> None:
    for turn in range(CASES // 3):
        case = Case(Random(f"{SEED} upgrade {turn}"))
        case.version = version - 1
        case.content = ManifestContent.DATA
        manifests = [case.manifest() for _ in range(2)]
        require_same(manifests, case.content, replace(case.format, format_version=version))


def test_entries_of_objects_are_those_of_bytes() -> None:
    case = Case(Random(f"{SEED} objects"))
    manifests = [case.manifest() for _ in range(5)]
    of_objects = [encoded(entry, case.format) for entry in decoded(manifests, case.format)]
    assert [repr(one) for one in of_objects] == [repr(one) for one in encoded_entries(manifests, case.format)]


@pytest.mark.parametrize("codec", ["deflate", "null"])
def test_manifests_that_fastavro_wrote(codec: str, re_encoded: list[str]) -> None:
    """Its blocks are small."""
    for turn in range(CASES // 10):
        case = Case(Random(f"{SEED} fastavro {codec} {turn}"), FOR_FASTAVRO)
        listed, data = case.manifest(["gzip"])
        header, _ = avro_file.decode_header(data)
        schema, records = json.loads(header["avro.schema"]), list(fastavro.reader(io.BytesIO(data)))
        told = {key: text.decode() for key, text in header.items() if not key.startswith("avro.")}
        out = io.BytesIO()
        fastavro.writer(out, schema, records, codec=codec, sync_interval=300, metadata=told)
        require_same([(listed, out.getvalue()), (listed, data)], case.content, case.format)
    assert len(re_encoded) < CASES // 10


def test_a_schema_with_other_fields_is_not_copied(re_encoded: list[str]) -> None:
    """Such as one whose optional fields name null last, or one that lacks a metric."""
    case = Case(Random(f"{SEED} other"), FOR_FASTAVRO)
    case.version, case.content = 2, ManifestContent.DATA
    made = (case.manifest(["gzip"]) for _ in range(100))
    listed, data = next(one for one in made if len(list(fastavro.reader(io.BytesIO(one[1])))) > 1)
    header, _ = avro_file.decode_header(data)
    changes = (
        lambda fields: next(one for one in fields if one["name"] == "key_metadata").update(type=["bytes", "null"]),
        lambda fields: fields.remove(next(one for one in fields if one["name"] == "nan_value_counts")),
    )
    for number, change in enumerate(changes):
        schema = json.loads(header["avro.schema"])
        fields = next(one for one in schema["fields"] if one["name"] == "data_file")["type"]["fields"]
        change(fields)
        for field in fields:
            if field.get("default", 1) is None and field["type"][0] != "null":
                del field["default"]
        out = io.BytesIO()
        fastavro.writer(out, schema, list(fastavro.reader(io.BytesIO(data))))
        require_same([(listed, out.getvalue())], case.content, case.format)
        assert len(re_encoded) == number + 1


def icebergs_manifests() -> Iterator[tuple[EntryFormat, ManifestFile, bytes]]:
    seen: set[str] = set()
    for name, data in iceberg_tables.metadata_files():
        metadata = decode_table_metadata(data, name)
        for snapshot in metadata.snapshots:
            listed = iceberg_tables.read(snapshot.manifest_list)
            for manifest in decode_manifest_list(listed, snapshot.manifest_list) if listed else ():
                content = iceberg_tables.read(manifest.path)
                if content is not None and manifest.path not in seen:
                    seen.add(manifest.path)
                    spec = metadata.specs_by_id()[manifest.spec_id]
                    yield EntryFormat(metadata.format_version, metadata.schema(), spec), manifest, content


def test_manifests_that_iceberg_wrote(re_encoded: list[str]) -> None:
    count = 0
    for to, manifest, data in icebergs_manifests():
        require_same([(manifest, data)], manifest.content, to)
        count += 1
    assert count > 100
    # Those of a format version before the table's upgrade.
    assert len(re_encoded) < count / 5


@pytest.mark.parametrize("version", [1, 2])
def test_manifests_that_pyiceberg_wrote(tmp_path: Path, version: Any) -> None:
    schema = PyIcebergSchema(PyIcebergNested(1, "id", PyIcebergLong()), PyIcebergNested(2, "p", PyIcebergLong()))
    spec = PyIcebergSpec(PyIcebergField(2, 1000, PyIcebergIdentity(), "p"), spec_id=0)
    manifests = []
    for number in range(3):
        path = f"{tmp_path}/{number}.avro"
        with write_manifest(version, spec, schema, PyArrowFileIO().new_output(path), 77, "deflate") as writer:
            for file in range(40):
                data_file = DataFile.from_args(
                    content=DataFileContent.DATA, file_path=f"file:///t/{number}-{file}.parquet",
                    file_format=FileFormat.PARQUET, partition=Record(None if file == 3 else file), record_count=file,
                    file_size_in_bytes=999, column_sizes={1: 10}, value_counts={1: 5}, null_value_counts={1: 0},
                    nan_value_counts={}, lower_bounds={1: b"\x00" * 8}, upper_bounds={1: b"\x01" * 8},
                    split_offsets=[4], equality_ids=None, key_metadata=None, sort_order_id=None,
                )  # fmt: skip
                status = ManifestEntryStatus.ADDED
                writer.add_entry(PyIcebergEntry.from_args(status=status, snapshot_id=77, data_file=data_file))
        data = Path(path).read_bytes()
        manifests.append((ManifestFile(path, len(data), 0, ManifestContent.DATA, 3, 3, 77, *NOT_LISTED), data))
    ours = Schema((NestedField(1, "id", LongType()), NestedField(2, "p", LongType())))
    by_p = PartitionSpec(0, (PartitionField(2, 1000, "p", IdentityTransform()),))
    to = EntryFormat(version, ours, by_p)
    require_same(manifests, ManifestContent.DATA, to)
    require_same(manifests, ManifestContent.DATA, replace(to, format_version=3))


def test_a_manifest_without_a_sequence_number_of_its_own_gives_none() -> None:
    """Before the commit it has none, and a later attempt gets another."""
    case = Case(Random(f"{SEED} unassigned"))
    case.version, case.content = 3, ManifestContent.DATA
    new = ManifestEntry(EntryStatus.ADDED, 77, None, None, case.file())
    known = ManifestEntry(EntryStatus.EXISTING, 5, 3, 2, case.file())
    data = encode_manifest([new, known], schema=case.schema, spec=case.spec, content=case.content, format_version=3)
    listed = ManifestFile(
        "own.avro", len(data), case.spec.spec_id, case.content, UNASSIGNED_SEQUENCE_NUMBER, 2, 77, *NOT_LISTED
    )
    for to in (case.format, replace(case.format, format_version=2)):
        found = [(one.sequence_number, one.file_sequence_number) for one in encoded_entries([(listed, data)], to)]
        assert found == [(None, None), (3, 2)]


def test_a_damaged_manifest_is_refused_by_name_or_read_as_it_is_decoded() -> None:
    refused = 0
    for turn in range(CASES):
        case = Case(Random(f"{SEED} damaged {turn}"))
        listed, data = case.manifest()
        place = case.random.randrange(len(data))
        damaged = data[:place] + bytes([data[place] ^ 1 << case.random.randrange(8)]) + data[place + 1 :]
        if case.random.random() < 0.3:
            damaged = data[:place]
        copied: list[EncodedEntry] | None = None
        with suppress(CorruptionError):
            copied = list(encoded_entries([(listed, damaged), (listed, data)], case.format))
        if copied is None:
            with pytest.raises(CorruptionError, match=listed.path):
                list(encoded_entries([(listed, damaged)], case.format))
            refused += 1
            continue
        with suppress(CorruptionError):  # of a metric that is copied and not read
            expected = without_format_1(decoded([(listed, damaged), (listed, data)], case.format), case.format)
            assert [repr(one) for one in written(copied, case.content, case.format)] == list(map(repr, expected))
    assert refused > CASES / 10
