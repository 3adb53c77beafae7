"""Answers of pure functions that many simulated processes ask for, kept: half of a seed's time is spent on these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from unittest.mock import patch

from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata


@lru_cache(maxsize=256)
def _decoded(data: bytes, location: str) -> TableMetadata:
    return decode_table_metadata(data, location)


@lru_cache(maxsize=1024)
def _confined(path: str, root: str) -> str:
    if not path.startswith(root + "/"):
        raise AssertionError(f"{path} is not below {root}")
    return path


@contextmanager
def pure_answers_kept() -> Iterator[None]:
    """No metadata is decoded twice, no link is looked for among folders that are in memory only, and no connection is
    prepared where none is made: the certificates take 30 ms."""
    with (
        patch("sqlext.catalog.warehouse_commit.decode_table_metadata", _decoded),
        patch("sqlext.storage.location.confine", _confined),
        patch("sqlext.catalog.rest.rest_catalog.decode_table_metadata", _decoded),
        patch("httpx.Client", lambda **given: None),
    ):
        yield
