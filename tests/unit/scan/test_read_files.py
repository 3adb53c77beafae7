"""What EXPLAIN counts of the files that a scan reads, and that it opens manifests alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.read_files import ReadFiles, read_files
from sqlext.spec.expression import AlwaysTrue, Comparison, Predicate
from sqlext.spec.manifests.manifest import ManifestContent
from unit.scan.small_table import (
    RecordingIO,
    SmallTable,
    added,
    bounds,
    data_file,
    equality_delete_file,
    position_delete_file,
)

DELETES = ManifestContent.DELETES


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return SmallTable(tmp_path)


def counted(table: SmallTable, predicate: Predicate, io: RecordingIO | None = None, most: int = 100) -> ReadFiles:
    return read_files(
        io or RecordingIO(), table.metadata, table.snapshot(), predicate, manifests=ManifestCache(), most_files=most
    )


def test_no_snapshot_has_no_files(table: SmallTable) -> None:
    none = read_files(RecordingIO(), table.metadata, None, AlwaysTrue(), manifests=ManifestCache(), most_files=0)
    assert none == ReadFiles()


def test_only_files_that_may_match_count_and_no_delete_file_is_opened(table: SmallTable) -> None:
    data = [data_file("f1", **bounds(1, 5)), data_file("f2", **bounds(6, 9)), data_file("f3", "b", **bounds(1, 9))]
    deletes = [
        position_delete_file("d1.parquet", referenced_data_file="f1"),
        position_delete_file("d2.parquet", referenced_data_file="f2"),
        equality_delete_file("e.parquet", **bounds(7, 7)),
    ]
    table.add_manifest("data.avro", map(added, data), 1)
    table.add_manifest("deletes.avro", map(added, deletes), 2, DELETES)
    io = RecordingIO()
    found = counted(table, Comparison("=", 1, 7), io)
    assert (found.files, found.of_files, found.delete_files) == (2, 3, 2)
    assert found.bytes == data[1].file_size_in_bytes + data[2].file_size_in_bytes
    assert found.rows == data[1].record_count + data[2].record_count
    assert found.delete_bytes == deletes[1].file_size_in_bytes + deletes[2].file_size_in_bytes
    assert io.opened == ["list.avro", "data.avro", "deletes.avro"]


def test_a_delete_file_that_applies_to_many_data_files_counts_once(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file(f"f{number}")) for number in range(5)], 1)
    table.add_manifest("deletes.avro", [added(position_delete_file("d.parquet"))], 2, DELETES)
    assert counted(table, AlwaysTrue()).delete_files == 1


def test_beyond_the_limit_manifests_are_counted_and_not_read(table: SmallTable) -> None:
    table.add_manifest("a.avro", [added(data_file("fa", "a")), added(data_file("fb", "a"))], 1)
    table.add_manifest("b.avro", [added(data_file("fc", "b"))], 1)
    io = RecordingIO()
    assert counted(table, AlwaysTrue(), io, most=2) == ReadFiles(3, 3, by_manifests=True)
    assert io.opened == ["list.avro"]
    # Those that a manifest's summary rules out do not count.
    assert counted(table, Comparison("=", 2, "b"), most=1).files == 1
    assert counted(table, Comparison("=", 2, "a"), most=1) == ReadFiles(2, 3, by_manifests=True)
