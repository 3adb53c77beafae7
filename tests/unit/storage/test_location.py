from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.storage.location import confine, data_location, join, metadata_location, to_local_path, to_location


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("file://localhost/a/b", "/a/b"),
        ("FILE:/a", "/a"),
        ("file:/a/c=1%2F2/x?y#z:1", "/a/c=1%2F2/x?y#z:1"),
        ("/a/b:c", "/a/b:c"),
    ],
)
def test_a_location_names_a_path_as_it_is_written(location: str, path: str) -> None:
    assert to_local_path(location) == path


@pytest.mark.parametrize("location", ["s3://bucket/a", "hdfs://host/a", "file://host/a", "gs:/a"])
def test_other_schemes_and_hosts_are_refused(location: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        to_local_path(location)
    assert raised.value.condition == "UNSUPPORTED_LOCATION"


@pytest.mark.parametrize("location", ["a/b", "", "./a", "file:a", "/a\0b"])
def test_relative_paths_and_nul_are_refused(location: str) -> None:
    with pytest.raises(AnalysisError) as raised:
        to_local_path(location)
    assert raised.value.condition == "INVALID_LOCATION"


def test_join_uses_single_slashes() -> None:
    assert join("file:///a/", "b/", "/c") == "file:///a/b/c"
    assert join("/", "a") == "/a"
    assert join("/a/") == "/a"


def test_a_path_becomes_a_location_and_back(tmp_path: Path) -> None:
    assert to_location(tmp_path) == f"file://{tmp_path}"
    assert to_local_path(to_location(tmp_path / "ä b%20")) == str(tmp_path / "ä b%20")


def test_new_files_go_where_the_table_says(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    plain = writer.create().metadata
    assert data_location(plain) == f"file://{tmp_path}/db/orders/data"
    assert metadata_location(plain) == f"file://{tmp_path}/db/orders/metadata"
    writer.catalog.drop_table(writer.load().identifier, purge=False)
    assert data_location(writer.create(properties={"write.data.path": "file:/x/"}).metadata) == "file:/x"


def test_confine_follows_links(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    assert confine(str(root / "a/b"), str(root)) == str((root / "a/b").resolve())
    for escape in (root / "link/t", root / "../outside", root, tmp_path / "root2"):
        with pytest.raises(AnalysisError) as raised:
            confine(str(escape), str(root))
        assert raised.value.condition == "PATH_OUTSIDE_WAREHOUSE"
