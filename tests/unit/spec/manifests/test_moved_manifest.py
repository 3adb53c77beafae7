"""Manifests with other locations, of Iceberg's files and of sqlext's: all else stays, as decoded by fastavro alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from sqlext.errors import CorruptionError
from sqlext.spec.avro.avro_columns import NotColumnar
from sqlext.spec.manifests import moved_manifest
from sqlext.spec.manifests.manifest import EntryStatus
from sqlext.spec.manifests.moved_manifest import (
    listed_deletes,
    moved_data_manifest,
    moved_delete_manifest,
    moved_manifest_list,
)
from sqlext.spec.manifests.path_prefix import PathOutsidePrefix, PathPrefix

ARCHIVE = Path(__file__).parents[3] / "golden_tables" / "golden_dev.zip"
PATH_ID = 2147483546


def avro_files() -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        yield from ((name, archive.read(name)) for name in archive.namelist() if name.endswith(".avro"))


def records(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    reader = fastavro.reader(io.BytesIO(data))
    header = {key: value for key, value in reader.metadata.items() if key != "avro.sync"}
    return header, list(reader)


MANIFESTS = [(name, data) for name, data in avro_files() if b"manifest_entry" in data[:20_000] and "/metadata/" in name]
LISTS = [(name, data) for name, data in avro_files() if "snap-" in name]


def assert_equal(data: bytes, header: dict[str, Any], expected: list[Any]) -> None:
    own, found = records(data)
    assert own == header
    # As text, as NaN is not equal to itself.
    assert repr(found) == repr(expected)


def prefix_of(paths: list[str]) -> PathPrefix:
    root = paths[0]
    while not all(path.startswith(root) for path in paths):
        root = root[:-1]
    return PathPrefix(root[: root.rindex("/")], "s3://a-much-longer-bucket/of/another/place")


def is_of_deletes(entries: list[Any]) -> bool:
    return any(entry["data_file"].get("content") for entry in entries)


def test_there_are_manifests_of_all_kinds() -> None:
    kinds = set()
    for _, data in MANIFESTS:
        header, entries = records(data)
        kinds.add((header.get("format-version", "1"), is_of_deletes(entries)))
    assert {("2", False), ("2", True), ("3", False)} <= kinds
    assert LISTS


@pytest.mark.parametrize("columnar", [True, False])
def test_data_manifests_keep_all_but_locations(monkeypatch: pytest.MonkeyPatch, columnar: bool) -> None:
    def no_columns(*given: object) -> object:
        raise NotColumnar("for a test")

    if not columnar:
        monkeypatch.setattr(moved_manifest, "locate_records", no_columns)
    tried = 0
    for name, data in MANIFESTS:
        header, entries = records(data)
        if is_of_deletes(entries) or not entries:
            continue
        prefix = prefix_of([entry["data_file"]["file_path"] for entry in entries])
        moved = moved_data_manifest(data, name, prefix)
        assert [(one.path, one.is_live) for one in moved.files] == [
            (entry["data_file"]["file_path"], entry["status"] != 2) for entry in entries
        ]
        for entry in entries:
            entry["data_file"]["file_path"] = prefix.moved(entry["data_file"]["file_path"])
        assert_equal(moved.data, header, entries)
        tried += 1
    assert tried > 5


def test_delete_manifests_also_have_other_bounds_and_sizes() -> None:
    tried = 0
    for name, data in MANIFESTS:
        header, entries = records(data)
        if not is_of_deletes(entries):
            continue
        files = [entry["data_file"] for entry in entries]
        named = [file.get("referenced_data_file") for file in files]
        bounds = [pair for file in files for bound in ("lower_bounds", "upper_bounds") for pair in file[bound] or ()]
        places = [pair["value"].decode() for pair in bounds if pair["key"] == PATH_ID]
        prefix = prefix_of([*(file["file_path"] for file in files), *places, *(one for one in named if one)])
        sizes = {file["file_path"]: 10_000 + number for number, file in enumerate(files)}
        assert [one.path for one in listed_deletes(data, name)] == [file["file_path"] for file in files]
        moved = moved_delete_manifest(data, name, prefix, sizes)
        for entry in entries:
            file = entry["data_file"]
            if entry["status"] != EntryStatus.DELETED:
                file["file_size_in_bytes"] = sizes[file["file_path"]]
            file["file_path"] = prefix.moved(file["file_path"])
            if file.get("referenced_data_file"):
                file["referenced_data_file"] = prefix.moved(file["referenced_data_file"])
        for pair in bounds:
            if pair["key"] == PATH_ID:
                pair["value"] = prefix.moved(pair["value"].decode()).encode()
        assert_equal(moved.data, header, entries)
        tried += 1
    assert tried


def test_manifest_lists_have_the_new_lengths() -> None:
    for name, data in LISTS:
        header, listed = records(data)
        if not listed:
            continue
        prefix = prefix_of([one["manifest_path"] for one in listed])
        lengths = {one["manifest_path"]: number for number, one in enumerate(listed)}
        moved = moved_manifest_list(data, name, prefix, lengths)
        for one in listed:
            one["manifest_length"] = lengths[one["manifest_path"]]
            one["manifest_path"] = prefix.moved(one["manifest_path"])
        assert_equal(moved, header, listed)


def test_a_location_outside_and_a_damaged_file() -> None:
    name, data = next((name, data) for name, data in MANIFESTS if records(data)[1])
    with pytest.raises(PathOutsidePrefix):
        moved_data_manifest(data, name, PathPrefix("/nowhere", "/b"))
    with pytest.raises(CorruptionError) as caught:
        moved_data_manifest(data[: len(data) // 2], name, PathPrefix("/nowhere", "/b"))
    assert caught.value.parameters["path"] == name
