"""Checksums of metadata objects: each changed bit is found, and objects of other engines have none."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from sqlext.errors import CorruptionError
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests import puffin
from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, encode_deletion_vector
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile, decode_manifest_list, encode_manifest_list
from sqlext.spec.manifests.path_prefix import PathPrefix
from sqlext.spec.manifests.puffin import NewBlob, encode_puffin
from sqlext.spec.metadata.metadata_checksum import checksum_state, without_flipped_bit
from sqlext.spec.metadata.metadata_text import MetadataText, encode_with_text
from sqlext.spec.metadata.moved_metadata import moved_metadata
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import (
    TableMetadata,
    decode_table_metadata,
    encode_table_metadata,
    new_table_metadata,
    ungzipped,
)
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.stored_bytes import checksum
from sqlext.spec.stored_bytes.checksum import ChecksumState, PartChecksum, joined
from sqlext.spec.types import LongType, NestedField
from unit.spec import iceberg_tables


@pytest.mark.parametrize("seed", range(20))
def test_a_part_that_is_known_counts_as_if_it_was_read(seed: int) -> None:
    rng = random.Random(seed)
    parts = [rng.randbytes(rng.choice([0, 1, 3, 64, rng.randrange(100_000)])) for _ in range(rng.randrange(8))]
    known = [part if rng.random() < 0.4 else PartChecksum.of(part) for part in parts]
    whole = b"".join(parts)
    assert joined(known) == joined(parts) == (zlib.crc32(whole), len(whole))


def metadata(version: int = 2) -> TableMetadata:
    schema = Schema((NestedField(1, "größe", LongType()),))
    new = new_table_metadata(schema, UNPARTITIONED, UNSORTED, "file:///w/db/t", {"a": "b"}, version, "u" * 36, 1000)
    return replace(new, snapshots=(Snapshot(7, None, 1, 1000, "file:///w/db/t/metadata/s.avro", {"operation": "x"}),))


def gzipped() -> bytes:
    return encode_with_text(metadata(), MetadataText()).gzipped()


def manifest_list(manifests: int = 0) -> bytes:
    listed = [
        ManifestFile(f"file:///w/m{number}.avro", 1, 0, ManifestContent.DATA, 1, 1, 1, 1, 0, 0, 1, 0, 0)
        for number in range(manifests)
    ]
    return encode_manifest_list(listed, snapshot_id=1, parent_snapshot_id=None, sequence_number=1, format_version=2)


def vectors() -> bytes:
    blob = NewBlob(BLOB_TYPE, encode_deletion_vector(bytes(8)), (1,), {"referenced-data-file": "f", "cardinality": "0"})
    return encode_puffin([blob, blob], created_by="sqlext 1").data


def avro_state(data: bytes) -> ChecksumState:
    """WRONG also for bytes that no reader takes for an Avro file, as the caller of `checksum_state` finds."""
    try:
        return avro_file.checksum_state(data)
    except Exception:
        with pytest.raises(CorruptionError):
            decode_manifest_list(data)
        return ChecksumState.WRONG


Mending = Callable[[bytes], bytes | None]
OBJECTS: dict[str, tuple[Callable[[], bytes], Callable[[bytes], ChecksumState], Mending]] = {
    "plain metadata": (lambda: encode_table_metadata(metadata(3)), checksum_state, without_flipped_bit),
    "gzipped metadata": (gzipped, checksum_state, without_flipped_bit),
    "an empty manifest list": (manifest_list, avro_state, avro_file.without_flipped_bit),
    "a manifest list": (lambda: manifest_list(manifests=3), avro_state, avro_file.without_flipped_bit),
    "a Puffin file": (vectors, puffin.checksum_state, puffin.without_flipped_bit),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_each_changed_bit_is_found_and_can_be_mended(kind: str) -> None:
    make, state, mended = OBJECTS[kind]
    data = make()
    assert state(data) == ChecksumState.RIGHT
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert state(bytes(damaged)) == ChecksumState.WRONG, bit
        assert mended(bytes(damaged)) == data, bit


@pytest.mark.parametrize("kind", OBJECTS)
def test_exchanged_bytes_are_found(kind: str, rng: random.Random) -> None:
    """Where the mark of a checksum is, so few; a file without its mark is no longer of its format."""
    make, state, mended = OBJECTS[kind]
    data = make()
    for _ in range(400):
        begin, size = rng.randrange(len(data) - 1), rng.randrange(1, 3)
        damaged = data[:begin] + rng.randbytes(size) + data[begin + size :]
        assert damaged == data or state(damaged) == ChecksumState.WRONG, (begin, size)
        # What was more than one bit is left alone, and nothing else is made of it.
        assert mended(damaged) in (None, data), (begin, size)


@pytest.fixture
def rng() -> random.Random:
    return random.Random(20261126)


def test_files_of_other_engines_have_none() -> None:
    count = 0
    for name, data in iceberg_tables.metadata_files():
        assert checksum_state(data) == ChecksumState.ABSENT, name
        assert checksum_state(ungzipped(data)) == ChecksumState.ABSENT, name
        count += 1
    assert count > 50
    assert checksum_state(b"") == checksum_state(b"{}") == ChecksumState.ABSENT
    assert checksum_state(gzip.compress(b"{}")) == ChecksumState.ABSENT
    assert puffin.checksum_state(b"") == puffin.checksum_state(b"PFA1") == ChecksumState.ABSENT


def test_a_member_that_another_engine_has_kept_says_nothing() -> None:
    """It writes the members that it does not know as they were, at any place of its text."""
    obj = json.loads(encode_table_metadata(metadata()))
    kept = json.dumps({**obj, "last-updated-ms": 10**15}, separators=(",", ":"), ensure_ascii=False).encode()
    assert kept.rstrip(b"}").endswith(obj["sqlext-checksum"].encode() + b'"')
    assert checksum_state(kept) == ChecksumState.ABSENT
    assert checksum_state(json.dumps(obj, indent=1).encode()) == ChecksumState.ABSENT


def test_a_puffin_file_with_other_properties_has_a_checksum_of_its_own() -> None:
    made = puffin.with_properties(vectors(), lambda properties: {**properties, "referenced-data-file": "g"})
    assert made != vectors()
    assert puffin.checksum_state(made) == ChecksumState.RIGHT


def test_moved_metadata_has_a_checksum_of_its_own() -> None:
    """Also to a place of as many characters, where the text has the size that the checksum tells."""
    moved = moved_metadata(encode_table_metadata(metadata()), PathPrefix("file:///w", "file:///v"))
    assert decode_table_metadata(moved, "m").location == "file:///v/db/t"
    assert checksum_state(moved) == ChecksumState.RIGHT
    assert checksum_state(moved_metadata(gzipped(), PathPrefix("file:///w", "file:///v"))) == ChecksumState.ABSENT


def test_the_member_is_of_one_text_and_no_field_of_the_table() -> None:
    assert decode_table_metadata(encode_table_metadata(metadata()), "m") == metadata()
    assert decode_table_metadata(gzipped(), "m").extra == {}


def test_marks_that_are_alike_by_chance_are_rare(rng: random.Random) -> None:
    found = (checksum.state(rng.randbytes(8), b"sqlext\0\1", b"", b"") for _ in range(100_000))
    assert set(found) == {ChecksumState.ABSENT}
