"""Prefixes of locations: slashes and spellings of schemes, and what is outside."""

from __future__ import annotations

import pytest

from sqlext.spec.manifests.path_prefix import PathOutsidePrefix, PathPrefix


@pytest.mark.parametrize(
    ("source", "path", "moved"),
    [
        ("/a/t", "/a/t/data/f", "s3://b/data/f"),
        ("/a/t/", "/a/t/data/f", "s3://b/data/f"),
        ("/a/t", "/a/t", "s3://b"),
        ("/a/t/", "/a/t", "s3://b"),
        ("file:///a/t", "/a/t/f", "s3://b/f"),
        ("/a/t", "file:///a/t/f", "s3://b/f"),
        ("/a/t", "file:/a/t/f", "s3://b/f"),
        ("file:/a/t", "file://localhost/a/t/f", "s3://b/f"),
        ("s3://x/t", "s3a://x/t/f%20 #?,g", "s3://b/f%20 #?,g"),
        ("S3N://x/t", "s3://x/t/f", "s3://b/f"),
    ],
)
def test_locations_below(source: str, path: str, moved: str) -> None:
    assert PathPrefix(source, "s3://b").moved(path) == moved
    assert PathPrefix(source, "s3://b/").moved(path) == (moved if moved != "s3://b" else "s3://b/")


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("/a/t", "/a/t2/f"),
        ("/a/t", "/a"),
        ("/a/t", "s3://a/t/f"),
        ("s3://a/t", "gs://a/t/f"),
        ("s3://x/t", "s3://y/t/f"),
        ("/a/t", "file:a/t/f"),
    ],
)
def test_locations_outside(source: str, path: str) -> None:
    with pytest.raises(PathOutsidePrefix) as caught:
        PathPrefix(source, "/b").moved(path)
    assert caught.value.path == path
