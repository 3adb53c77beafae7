from __future__ import annotations

import gzip
import random
import zlib

import pyarrow as pa
import pytest

from sqlext.spec.stored_bytes.decompression import (
    ALWAYS_ALLOWED_BYTES,
    MAX_BLOCK_BYTES,
    gunzip,
    inflate,
    unsnappy,
    unzstd,
)

TEXT = b'{"snapshot-id": 1}' * 1000
BOMB = bytes(ALWAYS_ALLOWED_BYTES + 1)


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


def snappy(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="snappy", asbytes=True)) + zlib.crc32(data).to_bytes(4, "big")


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


CODECS = {"gzip": (gzip.compress, gunzip), "deflate": (raw_deflate, inflate), "zstd": (zstd, unzstd)}


@pytest.mark.parametrize(("compress", "decompress"), [*CODECS.values(), (snappy, unsnappy)])
@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_round_trip(compress, decompress, data: bytes) -> None:  # type: ignore[no-untyped-def]
    assert decompress(compress(data)) == data


@pytest.mark.parametrize(("compress", "decompress"), CODECS.values(), ids=CODECS)
def test_what_stands_for_far_more_than_it_is_is_refused(compress, decompress) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="stand for more than"):
        decompress(compress(BOMB))


@pytest.mark.parametrize(("compress", "decompress"), [(gzip.compress, gunzip), (raw_deflate, inflate)])
def test_what_ends_too_early_is_refused(compress, decompress) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(EOFError):
        decompress(compress(TEXT)[:-12])


def test_a_gzip_file_of_several_members() -> None:
    assert gunzip(gzip.compress(b"ab") + gzip.compress(b"cd") + bytes(20)) == b"abcd"


def test_a_block_has_an_end_however_little_it_is_compressed() -> None:
    """Snappy compresses at most 21 times, so only the absolute limit applies to it."""
    block = random.Random(1).randbytes(1 << 20) * (MAX_BLOCK_BYTES // (1 << 20) + 1)
    assert len(snappy(block)) * 100 > len(block)
    with pytest.raises(ValueError, match="stand for more than"):
        unsnappy(snappy(block))


def test_a_snappy_block_of_a_claimed_size() -> None:
    with pytest.raises(ValueError, match="stand for more than"):
        unsnappy(b"\xff\xff\xff\xff\x0f" + bytes(40))
    with pytest.raises(ValueError, match="does not begin with its size"):
        unsnappy(b"\xff" * 40)
