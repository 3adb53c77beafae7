"""Gzip files of parts that were compressed apart."""

from __future__ import annotations

import gzip
import random
import zlib

import pyarrow as pa
import pytest

from sqlext.spec.metadata.gzip_parts import deflated_part, gzip_of
from sqlext.spec.stored_bytes.checksum import PartChecksum
from sqlext.spec.stored_bytes.decompression import gunzip, gunzip_beginning


@pytest.mark.parametrize("seed", range(20))
def test_parts_in_any_sequence_are_one_member(seed: int) -> None:
    rng = random.Random(seed)
    parts = [rng.randbytes(rng.choice([0, 1, 70_000])) + b"abc" * rng.randrange(50_000) for _ in range(4)]
    chosen = rng.choices(parts, k=rng.randrange(6))
    known = [rng.choice((part, PartChecksum.of(part))) for part in chosen]
    data = gzip_of([(one, deflated_part(part)) for one, part in zip(known, chosen, strict=True)])
    whole = b"".join(chosen)
    member = zlib.decompressobj(31)
    assert member.decompress(data) == whole
    assert member.eof
    assert member.unused_data == b""
    assert gzip.decompress(data) == gunzip(data) == whole
    assert pa.CompressedInputStream(pa.BufferReader(data), "gzip").read() == whole
    assert gunzip_beginning(data, 10) == whole[:10]


def test_a_damaged_file_has_no_beginning() -> None:
    assert gunzip_beginning(b"\x1f\x8b damaged", 10) == b""
