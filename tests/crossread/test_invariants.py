"""The checks of the format's rules find what breaks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from crossread.history import History
from crossread.invariants import violations
from crossread.metadata_invariants import metadata_violations
from small_tables import BY_REGION, Writer, data_file, position_deletes, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.spec.manifests import manifest as manifest_format
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.single_value import encode
from sqlext.spec.types import LongType
from sqlext.storage.location import to_local_path


def found(table: LoadedTable) -> str:
    return "\n".join(violations(to_local_path(table.metadata_location)))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path / "warehouse"))


def append(writer: Writer, file: ContentFile) -> LoadedTable:
    return writer.commit(AppendFiles((file,)), base=writer.load()).table


def test_a_sound_table(writer: Writer) -> None:
    writer.create()
    file = data_file(writer.load().metadata, [1, 2, 3])
    append(writer, file)
    deletes = position_deletes(writer.load().metadata, file, [0])
    table = writer.commit(RowDelta((), (deletes,)), base=writer.load()).table
    assert found(table) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lower_bounds": {1: encode(LongType(), 2)}}, "the lower bound of id"),
        ({"upper_bounds": {1: encode(LongType(), 2)}}, "the upper bound of id"),
        ({"null_value_counts": {1: 1}}, "null_value_counts of id is 1"),
        ({"record_count": 4}, "3 rows where 4 are recorded"),
        ({"file_size_in_bytes": 4}, "its size is not 4"),
        ({"file_path": "file:///gone.parquet"}, "there is no such file"),
    ],
)
def test_a_wrong_entry(writer: Writer, change: dict[str, object], said: str) -> None:
    writer.create()
    file = data_file(writer.load().metadata, [1, 2, 3])
    assert said in found(append(writer, replace(file, **change)))  # type: ignore[arg-type]


def test_a_wrong_total_and_a_file_twice(writer: Writer) -> None:
    writer.create()
    file = data_file(writer.load().metadata, [1])
    append(writer, file)
    table = append(writer, file)
    assert "is in the snapshot 2 times" in found(table)
    metadata = Path(to_local_path(table.metadata_location))
    metadata.write_text(metadata.read_text().replace('"total-records":"2"', '"total-records":"7"'))
    assert "total-records is 7, and should be 2" in found(table)


Metadata = dict[str, Any]


def set_at(*path: Any, to: object) -> Callable[[Metadata], None]:
    """A change of one value; `last` in the path is the last of a list."""

    def change(value: Any) -> None:
        *before, last = [-1 if part == "last" else part for part in path]
        for part in before:
            value = value[part]
        value[last] = to

    return change


def again(*path: Any) -> Callable[[Metadata], None]:
    """The last of a list twice."""

    def change(value: Any) -> None:
        for part in path:
            value = value[part]
        value.append(value[-1])

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_at("current-schema-id", to=7), "the current schema 7"),
        (again("schemas", 0, "fields"), "has the field id 2 twice"),
        (again("schemas"), "a schema is there twice"),
        (set_at("last-column-id", to=1), "has an id above last-column-id"),
        (set_at("schemas", 0, "fields", 0, "required", to=False), "the identifier field 1"),
        (set_at("default-spec-id", to=7), "the default partition spec 7"),
        (set_at("default-sort-order-id", to=7), "the default sort order 7"),
        (again("sort-orders"), "there is the sort order 0 twice"),
        (again("partition-specs", 0, "fields"), "spec 0 has the field id 1000 twice"),
        (set_at("last-partition-id", to=999), "has an id above last-partition-id"),
        (set_at("partition-specs", 0, "fields", 0, "source-id", to=9), "no column has the id 9"),
        (set_at("snapshots", "last", "schema-id", to=7), "has the schema 7"),
        (set_at("snapshots", "last", "timestamp-ms", to=1 << 60), "is newer than the metadata"),
        (set_at("snapshots", "last", "sequence-number", to=9), "above the last, 2"),
        (set_at("snapshots", "last", "sequence-number", to=1), "snapshots with the sequence number 1 twice"),
        (set_at("snapshots", 0, "sequence-number", to=2), "no greater sequence number than its parent"),
        (set_at("refs", "main", "snapshot-id", to=7), "the branch main is at 7"),
        (set_at("current-snapshot-id", to=-1), "the current snapshot is None"),
        (set_at("statistics", to=[{"snapshot-id": 7}]), "statistics of no snapshot"),
        (set_at("snapshot-log", 0, "snapshot-id", to=7), "the snapshot log names 7"),
        (set_at("snapshot-log", to=[]), "does not end with the current snapshot"),
        (set_at("snapshot-log", 0, "timestamp-ms", to=1 << 60), "the snapshot-log goes back in time"),
        (again("metadata-log"), "the metadata log has the file"),
        (set_at("properties", "write.metadata.previous-versions-max", to="1"), "the metadata log has 2 files"),
        (set_at("metadata-log", 0, "metadata-file", to="/gone.metadata.json"), "names files that are gone"),
        (set_at("snapshots", "last", "first-row-id", to=0), "two snapshots have row ids in 0 to"),
        (set_at("next-row-id", to=1), "next-row-id is 1"),
    ],
)
def test_wrong_metadata(writer: Writer, change: Callable[[Metadata], None], said: str) -> None:
    writer.create(spec=BY_REGION, format_version=3)
    writer.append(1, 2)
    table = writer.append(3).table
    metadata = History.of(to_local_path(table.metadata_location)).metadata
    assert list(metadata_violations(metadata)) == []
    change(metadata)
    assert said in "\n".join(metadata_violations(metadata))


def with_vector(writer: Writer) -> tuple[LoadedTable, ContentFile]:
    """A table whose only data file has its first row deleted by a vector."""
    writer.create(format_version=3)
    file = data_file(writer.load().metadata, [1, 2, 3])
    append(writer, file)
    deleted = {file.file_path: DeletedRows(0, (), BitMap64([0]))}
    return writer.commit(RowDelta((), (), deleted_rows=deleted), base=writer.load()).table, file


def test_a_sound_vector(writer: Writer) -> None:
    table, _ = with_vector(writer)
    assert found(table) == ""


def test_a_damaged_vector(writer: Writer) -> None:
    table, _ = with_vector(writer)
    (puffin,) = Path(to_local_path(table.metadata.location)).rglob("*.puffin")
    blob = puffin.read_bytes()
    at = blob.index(b"\xd1\xd3\x39\x64") + 8
    puffin.write_bytes(blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :])
    assert "has another checksum" in found(table)


def test_lost_and_orphaned_files(writer: Writer) -> None:
    table, file = with_vector(writer)
    path = Path(to_local_path(file.file_path))
    path.rename(path.with_name("elsewhere.parquet"))
    assert f"{path}, live in snapshot" in found(table)
    assert "elsewhere.parquet is of no snapshot" in found(table)


def test_manifests_out_of_order(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.create()
    writer.append(1)
    assert found(writer.append(2).table) == ""
    in_order = manifest_format.encode_manifest_list
    monkeypatch.setattr(
        "sqlext.commit.snapshot.snapshot_writer.encode_manifest_list",
        lambda manifests, **given: in_order([*manifests][::-1], **given),
    )
    assert "data of sequence number 2 comes after that of 1" in found(writer.append(3).table)
