"""Which manifests this process reads, and which are read elsewhere."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import pytest

from sqlext.errors import NotFoundError
from sqlext.scan.files.manifest_cache import EntriesOf, ManifestCache
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.spec.expression import And, Comparison, Predicate
from sqlext.spec.manifests.manifest import ManifestEntry, ManifestFile
from sqlext.storage.location import to_local_path
from unit.scan.small_table import SCHEMA, MeetingIO, RecordingIO, SmallTable, added, bounds, data_file

HALF: Predicate = And(Comparison(">=", 1, 50), Comparison("=", 2, "a"))


class Elsewhere:
    """Another process, as far as it gets copies; keeps the names of what it reads."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, manifests: Sequence[ManifestFile], read: EntriesOf) -> list[list[ManifestEntry]]:
        self.read += [Path(one.path).name for one in manifests]
        copied = pickle.loads(pickle.dumps((list(manifests), read)))
        return [copied[1](one) for one in copied[0]]


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    made = SmallTable(tmp_path)
    for name, count in (("small.avro", 3), ("large.avro", 100), ("other.avro", 60)):
        files = [data_file(f"{name}-{n}", "ab"[n % 2], **bounds(n, n + 5)) for n in range(count)]
        made.add_manifest(name, [added(file) for file in files], 1)
    return made


def found(
    table: SmallTable, cache: ManifestCache, predicate: Predicate, manifests: list[ManifestFile] | None = None
) -> list[ManifestEntry]:
    files = FileFilter(predicate, schema=SCHEMA, specs=table.metadata.specs_by_id())
    return cache.matching_entries(RecordingIO(), manifests or table.manifests, table.metadata, files)


def test_what_is_read_elsewhere_is_what_would_be_read_here(table: SmallTable) -> None:
    elsewhere = Elsewhere()
    far = ManifestCache(elsewhere=elsewhere, driver_bytes=0)
    entries = found(table, far, HALF)
    assert entries == found(table, ManifestCache(), HALF)
    assert 0 < len(entries) < 100
    assert elsewhere.read == ["small.avro", "large.avro", "other.avro"]


def test_manifests_that_are_held_are_not_read_elsewhere(table: SmallTable) -> None:
    elsewhere = Elsewhere()
    cache = ManifestCache(elsewhere=elsewhere, driver_bytes=table.manifests[2].length)
    found(table, cache, HALF, table.manifests[2:])
    assert elsewhere.read == []
    assert found(table, cache, HALF) == found(table, ManifestCache(), HALF)
    assert elsewhere.read == ["small.avro", "large.avro"]


def test_few_bytes_are_read_here(table: SmallTable) -> None:
    elsewhere = Elsewhere()
    cache = ManifestCache(elsewhere=elsewhere, driver_bytes=sum(one.length for one in table.manifests))
    found(table, cache, HALF)
    assert elsewhere.read == []


def test_a_store_is_asked_for_several_manifests_at_a_time(tmp_path: Path, table: SmallTable) -> None:
    near = table.manifests[:2]
    far = [replace(one, path=f"s3://bucket/{Path(one.path).name}") for one in near]
    files = FileFilter(HALF, schema=SCHEMA, specs=table.metadata.specs_by_id())
    here, there = RecordingIO(), MeetingIO(tmp_path)
    for ask in (
        lambda io, asked: ManifestCache().matching_entries(io, asked, table.metadata, files),
        lambda io, asked: list(ManifestCache().entries_of(io, asked, table.metadata)),
        lambda io, asked: list(ManifestCache().live_entries_of(io, asked, table.metadata)),
        lambda io, asked: [one.live_entries() for one in ManifestCache().contents(io, asked, table.metadata)],
    ):
        assert ask(there, far) == ask(here, near)
    assert here.threads == {get_ident()}


def test_manifests_of_many_entries_are_decoded_at_a_time(tmp_path: Path) -> None:
    table = SmallTable(tmp_path)
    for name in ("one.avro", "two.avro"):
        table.add_manifest(name, [added(data_file(f"{name}-{n}", "a", **bounds(n, n))) for n in range(1_000)], 1)
    files = FileFilter(HALF, schema=SCHEMA, specs=table.metadata.specs_by_id())
    cache = ManifestCache()
    entries = cache.matching_entries(MeetingIO(tmp_path), table.manifests, table.metadata, files)
    assert [entry.file.file_path for entry in entries] == [
        f"{name}.avro-{n}" for name in ("one", "two") for n in range(50, 1_000)
    ]
    assert cache.matching_entries(RecordingIO(), table.manifests, table.metadata, files) == entries


def test_an_error_elsewhere_is_an_error_here(table: SmallTable, tmp_path: Path) -> None:
    (tmp_path / "large.avro").unlink()
    with pytest.raises(NotFoundError, match=r"large\.avro"):
        found(table, ManifestCache(elsewhere=Elsewhere(), driver_bytes=0), HALF)


def test_deleted_manifests_are_not_held(table: SmallTable) -> None:
    cache = ManifestCache()
    found(table, cache, HALF)
    small, large, other = table.manifests
    cache.forget({small.path, large.path})
    for manifest in (small, large):
        Path(to_local_path(manifest.path)).unlink()
        with pytest.raises(NotFoundError):
            found(table, cache, HALF, [manifest])
    Path(to_local_path(other.path)).unlink()
    assert found(table, cache, HALF, [other])
