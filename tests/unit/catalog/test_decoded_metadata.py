"""Metadata that is not decoded again, while it is the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.catalog import decoded_metadata
from sqlext.catalog.decoded_metadata import DecodedMetadata
from sqlext.errors import CorruptionError
from sqlext.spec.metadata.table_metadata import decode_table_metadata, encode_table_metadata


def test_what_a_commit_wrote_is_not_decoded_by_the_next_statement(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    landed = writer.append(1).table
    with patch.object(decoded_metadata, "decode_table_metadata", side_effect=AssertionError):
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


def test_it_forgets_what_it_has_not_seen_for_long(tmp_path: Path) -> None:
    table = Writer(warehouse_catalog(tmp_path)).create()
    known = DecodedMetadata()
    with patch.object(decoded_metadata, "_MOST_BYTES", 5_000):
        for number in range(20):
            obj = {**json.loads(encode_table_metadata(table.metadata)), "properties": {"n": "x" * 1_000}}
            known.of(json.dumps(obj).encode(), f"m{number}")
    assert 0 < len(known._known) < 6
    assert known._bytes == sum(len(data) for data, _ in known._known.values()) <= 5_000
    with patch.object(decoded_metadata, "decode_table_metadata", wraps=decode_table_metadata) as decode:
        known.of(json.dumps(obj).encode(), "m19")
        assert not decode.called
