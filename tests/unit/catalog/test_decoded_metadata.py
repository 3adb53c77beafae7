"""Metadata that is not decoded again, while it is the same."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.catalog import decoded_metadata
from sqlext.catalog.decoded_metadata import DecodedMetadata
from sqlext.errors import CorruptionError
from sqlext.spec.metadata.metadata_text import decode_with_text
from sqlext.spec.metadata.table_metadata import encode_table_metadata


def test_what_a_commit_wrote_is_not_decoded_by_the_next_statement(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    landed = writer.append(1).table
    with patch.object(decoded_metadata, "decode_with_text", side_effect=AssertionError):
        assert writer.load().metadata is landed.metadata
        assert Writer(writer.catalog).append(2).attempts == 1
    assert warehouse_catalog(tmp_path).load_table(landed.identifier).metadata == writer.load().metadata


def test_other_bytes_at_the_location_are_other_metadata(tmp_path: Path) -> None:
    table = Writer(warehouse_catalog(tmp_path)).create()
    known = DecodedMetadata()
    data = encode_table_metadata(table.metadata)
    assert known.of(data, "m") is known.of(bytes(bytearray(data)), "m")
    other = replace(table.metadata, properties={"x": "y"})
    assert known.of(encode_table_metadata(other), "m") == other
    assert known.of(data, "m") == table.metadata
    with pytest.raises(CorruptionError):
        known.of(data[:-1], "m")
    assert known.of(data, "m") == table.metadata


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_versions_of_a_table_share_their_snapshots_whoever_wrote_them(tmp_path: Path, codec: str) -> None:
    mine, other = (Writer(warehouse_catalog(tmp_path), seed) for seed in (1, 2))
    mine.create(properties={"write.metadata.compression-codec": codec})
    for id in range(8):
        mine.append(id)
    before = mine.load().metadata
    other.append(8)
    after = mine.load().metadata
    assert len(after.snapshots) == 9
    assert all(one is known for one, known in zip(after.snapshots, before.snapshots, strict=False))
    landed = mine.append(9).table
    assert landed.metadata.snapshots[:9] == after.snapshots
    fresh = warehouse_catalog(tmp_path).load_table(landed.identifier)
    assert fresh.metadata == landed.metadata == other.load().metadata
    assert landed.metadata_location.endswith(".gz.metadata.json") == (codec == "gzip")


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_compressed_version_too_is_decoded_once(tmp_path: Path, codec: str) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create(properties={"write.metadata.compression-codec": codec})
    landed = writer.append(1).table
    assert writer.load().metadata is landed.metadata


def test_a_large_table_is_kept_though_it_exceeds_the_limit_alone(tmp_path: Path) -> None:
    table = Writer(warehouse_catalog(tmp_path)).create()
    known = DecodedMetadata()
    with patch.object(decoded_metadata, "_MOST_BYTES", 10):
        for location in ("a/m", "b/m"):
            data = known.encode(table.metadata, location, compressed=False)
            assert known.of(data, location) is known.of(data, location)
    assert list(known._known) == ["b/m"]


def test_threads_share_it(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    versions = [writer.create()] + [writer.append(id).table for id in range(12)]
    files = [(encode_table_metadata(one.metadata), one.metadata_location) for one in versions]
    known = DecodedMetadata()

    def read(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(60):
            number = rng.randrange(len(files))
            data, location = files[number]
            assert known.of(data, rng.choice([location, f"{location}.{seed}"])) == versions[number].metadata
            assert known.encode(versions[number].metadata, location, compressed=False) == data

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(read, range(4)))
    assert known._text_bytes == sum(texts.size for texts in known._texts.values())


def test_it_forgets_what_it_has_not_seen_for_long(tmp_path: Path) -> None:
    table = Writer(warehouse_catalog(tmp_path)).create()
    known = DecodedMetadata()
    with patch.object(decoded_metadata, "_MOST_BYTES", 5_000):
        for number in range(20):
            obj = {**json.loads(encode_table_metadata(table.metadata)), "properties": {"n": "x" * 1_000}}
            known.of(json.dumps(obj).encode(), f"m{number}")
    assert 0 < len(known._known) < 6
    assert known._bytes == sum(len(data) for data, _ in known._known.values()) <= 5_000
    assert known._text_bytes == sum(texts.size for texts in known._texts.values())
    with patch.object(decoded_metadata, "decode_with_text", wraps=decode_with_text) as decode:
        known.of(json.dumps(obj).encode(), "m19")
        assert not decode.called
