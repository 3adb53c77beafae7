from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import fastavro
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile as PyIcebergManifestFile
from pyiceberg.manifest import read_manifest_list

from sqlext.errors import CorruptionError
from sqlext.spec import single_value
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
    summarise_partitions,
)
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, DayTransform, IdentityTransform
from sqlext.spec.types import DecimalType, DoubleType, IntegerType, NestedField, StringType, TimestampType, UuidType
from unit.spec import iceberg_tables

SCHEMA = Schema(
    (
        NestedField(1, "id", IntegerType(), True),
        NestedField(2, "ts", TimestampType()),
        NestedField(3, "price €", DecimalType(9, 2)),
        NestedField(4, "u", UuidType()),
        NestedField(5, "x", DoubleType()),
        NestedField(6, "s", StringType()),
    )
)
SPEC = PartitionSpec(
    3,
    (
        PartitionField(1, 1000, "id_bucket", BucketTransform(4)),
        PartitionField(2, 1001, "ts_day", DayTransform()),
        PartitionField(3, 1002, "price €", IdentityTransform()),
        PartitionField(4, 1003, "u", IdentityTransform()),
        PartitionField(5, 1004, "x", IdentityTransform()),
        PartitionField(3, 1005, "price_again", IdentityTransform()),
    ),
)
PARTITION = (3, 17501, Decimal("-14.20"), UUID(int=7), 0.5, Decimal("1.00"))


def content_file(partition: tuple[object, ...] = PARTITION) -> ContentFile:
    return ContentFile(
        content=Content.DATA,
        file_path="file:///w/t/data/a.parquet",
        file_format="PARQUET",
        spec_id=3,
        partition=partition,
        record_count=10,
        file_size_in_bytes=1000,
        column_sizes={1: 10, 6: 20},
        value_counts={1: 10, 6: 10},
        null_value_counts={1: 0, 6: 2},
        nan_value_counts={},
        lower_bounds={1: b"\x00\x00\x00\x00", 6: b"a"},
        upper_bounds={1: b"\x09\x00\x00\x00", 6: b"z"},
        split_offsets=(4, 500),
        sort_order_id=0,
    )


def entry(status: EntryStatus = EntryStatus.ADDED, **partition: tuple[object, ...]) -> ManifestEntry:
    numbers = (None, None, None) if status == EntryStatus.ADDED else (1, 2, 2)
    return ManifestEntry(status, *numbers, content_file(**partition))  # type: ignore[call-arg]


def manifest_file(path: str = "file:///w/t/m.avro", length: int = 100, **changes: object) -> ManifestFile:
    manifest = ManifestFile(
        path, length, 3, ManifestContent.DATA, 5, 2, 77, 1, 0, 0, 10, 0, 0, (FieldSummary(False, False, b"a", b"b"),)
    )
    return replace(manifest, **changes)  # type: ignore[arg-type]


def encoded(entries: list[ManifestEntry], format_version: int = 2, codec: str = "deflate") -> bytes:
    return encode_manifest(
        entries, schema=SCHEMA, spec=SPEC, content=ManifestContent.DATA, format_version=format_version, codec=codec
    )


def icebergs_manifests() -> Iterator[tuple[TableMetadata, ManifestFile, bytes]]:
    seen: set[str] = set()
    for name, data in iceberg_tables.metadata_files():
        metadata = decode_table_metadata(data, name)
        for snapshot in metadata.snapshots:
            manifests = iceberg_tables.read(snapshot.manifest_list)
            for manifest in decode_manifest_list(manifests, snapshot.manifest_list) if manifests else ():
                content = iceberg_tables.read(manifest.path)
                if content is not None and manifest.path not in seen:
                    seen.add(manifest.path)
                    yield metadata, manifest, content


def test_icebergs_manifests_are_encoded_as_they_were() -> None:
    count = 0
    for metadata, manifest, data in icebergs_manifests():
        specs = metadata.specs_by_id()
        entries = decode_manifest(data, manifest, schema=metadata.schema(), specs=specs)
        header, _ = avro_file.decode_header(data)
        schema = Schema.from_json(json.loads(header["schema"]))
        ours = encode_manifest(
            entries,
            schema=schema,
            spec=specs[manifest.spec_id],
            content=manifest.content,
            format_version=int(header["format-version"]),
        )
        our_header, _ = avro_file.decode_header(ours)
        if b'"first_row_id"' in header["avro.schema"] or int(header["format-version"]) < 3:
            assert our_header["avro.schema"] == header["avro.schema"], manifest.path
        assert our_header.get("content") == header.get("content")
        assert decode_manifest(ours, manifest, schema=schema, specs=specs) == entries
        if manifest.partitions:
            partitions = [one.file.partition for one in entries]
            assert summarise_partitions(partitions, specs[manifest.spec_id], schema) == manifest.partitions
        count += 1
    assert count > 30


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstd", "null"])
def test_entries_round_trip_and_inherit(version: int, codec: str) -> None:
    manifest = manifest_file(sequence_number=0 if version == 1 else 5)
    decoded = decode_manifest(encoded([entry()], version, codec), manifest, schema=SCHEMA, specs={3: SPEC})
    number = manifest.sequence_number
    assert decoded == [ManifestEntry(EntryStatus.ADDED, 77, number, number, content_file())]


def test_existing_entries_keep_their_numbers() -> None:
    existing = entry(EntryStatus.EXISTING)
    assert decode_manifest(encoded([existing]), manifest_file(), schema=SCHEMA, specs={3: SPEC}) == [existing]


def test_an_existing_entry_without_number_is_corrupt() -> None:
    orphan = replace(entry(), status=EntryStatus.EXISTING)
    with pytest.raises(CorruptionError, match="no sequence number"):
        decode_manifest(encoded([orphan]), manifest_file(), schema=SCHEMA, specs={3: SPEC})


def test_row_ids_are_inherited_in_order() -> None:
    decoded = decode_manifest(
        encoded([entry(), entry()], 3), manifest_file(first_row_id=100), schema=SCHEMA, specs={3: SPEC}
    )
    assert [one.file.first_row_id for one in decoded] == [100, 110]


def test_null_partition_values_round_trip() -> None:
    nothing = (None,) * 6
    decoded = decode_manifest(encoded([entry(partition=nothing)]), manifest_file(), schema=SCHEMA, specs={3: SPEC})
    assert decoded[0].file.partition == nothing


def test_pyiceberg_reads_what_we_write(tmp_path: Path) -> None:
    data = encoded([entry()])
    (tmp_path / "m.avro").write_bytes(data)
    manifests = encode_manifest_list(
        [manifest_file(f"file://{tmp_path}/m.avro", len(data), sequence_number=UNASSIGNED_SEQUENCE_NUMBER)],
        snapshot_id=77,
        parent_snapshot_id=None,
        sequence_number=6,
        format_version=2,
    )
    (tmp_path / "snap.avro").write_bytes(manifests)
    io_ = PyArrowFileIO()
    theirs: list[PyIcebergManifestFile] = list(read_manifest_list(io_.new_input(f"file://{tmp_path}/snap.avro")))
    assert (theirs[0].sequence_number, theirs[0].min_sequence_number, theirs[0].added_snapshot_id) == (6, 2, 77)
    (their_entry,) = theirs[0].fetch_manifest_entry(io_)
    assert their_entry.sequence_number == 6
    assert their_entry.data_file.lower_bounds == {1: b"\x00\x00\x00\x00", 6: b"a"}
    assert their_entry.data_file.split_offsets == [4, 500]
    assert list(their_entry.data_file.partition)[:3] == [3, 17501, Decimal("-14.20")]


def test_fastavro_reads_the_container() -> None:
    many = [entry()] * 9_000
    assert len(list(fastavro.reader(io.BytesIO(encoded(many))))) == 9_000


@pytest.mark.parametrize("version", [1, 2, 3])
def test_manifest_lists_round_trip(version: int) -> None:
    number = 0 if version == 1 else 5
    manifest = manifest_file(sequence_number=number, min_sequence_number=min(number, 2))
    data = encode_manifest_list(
        [manifest], snapshot_id=1, parent_snapshot_id=2, sequence_number=9, format_version=version
    )
    assert decode_manifest_list(data) == [manifest]


def test_unknown_counts_of_version_1_stay_unknown() -> None:
    manifest = manifest_file(sequence_number=0, min_sequence_number=0, added_files_count=None, added_rows_count=None)
    data = encode_manifest_list([manifest], snapshot_id=1, parent_snapshot_id=2, sequence_number=0, format_version=1)
    assert decode_manifest_list(data) == [manifest]
    with pytest.raises(ValueError, match="added_files_count"):
        encode_manifest_list([manifest], snapshot_id=1, parent_snapshot_id=2, sequence_number=1, format_version=2)


def test_summaries_leave_nan_out_of_bounds_and_order_zeros() -> None:
    spec = PartitionSpec(0, (PartitionField(5, 1000, "x", IdentityTransform()),))
    entries = [entry(partition=(value,)) for value in (0.0, -0.0, math.nan, None)]
    (summary,) = summarise_partitions([one.file.partition for one in entries], spec, SCHEMA)
    double = DoubleType()
    assert summary == FieldSummary(True, True, single_value.encode(double, -0.0), single_value.encode(double, 0.0))
    assert summarise_partitions([(math.nan,)], spec, SCHEMA) == (FieldSummary(False, True),)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        encoded([entry()])[:-20],
        b"x" + encoded([entry()]),
        encoded([entry()])[:60] + b"\xff" * 50 + encoded([entry()])[110:],
    ],
    ids=["empty", "cut off", "shifted", "overwritten"],
)
def test_damaged_manifests_are_named(data: bytes) -> None:
    with pytest.raises(CorruptionError, match=r"m\.avro"):
        decode_manifest(data, manifest_file(), schema=SCHEMA, specs={3: SPEC})
    with pytest.raises(CorruptionError, match=r"snap\.avro"):
        decode_manifest_list(data, "snap.avro")


def test_a_manifest_of_an_unknown_spec_is_corrupt() -> None:
    with pytest.raises(CorruptionError, match="partition spec 3"):
        decode_manifest(encoded([entry()]), manifest_file(), schema=SCHEMA, specs={})


def test_version_1_has_no_delete_manifests() -> None:
    with pytest.raises(ValueError, match="version 1"):
        encode_manifest([], schema=SCHEMA, spec=SPEC, content=ManifestContent.DELETES, format_version=1)
