"""Positions of rows that differ between snapshots, compared with the rows that a reader gives for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyroaring import BitMap64

from small_tables import Writer, data_file, equality_deletes, position_deletes, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.scan.changed_rows import ChangedRows, RowsOfFile, changed_rows
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _plan(writer: Writer, table: LoadedTable) -> ScanPlan:
    metadata = table.metadata
    return plan_scan(writer.catalog.io, metadata, metadata.current_snapshot(), AlwaysTrue(), manifests=ManifestCache())


def _changed(writer: Writer, before: LoadedTable, after: LoadedTable, most: int = 100) -> ChangedRows | None:
    return changed_rows(_plan(writer, before), _plan(writer, after), most)


def _rows(file: ContentFile, *positions: int) -> tuple[RowsOfFile, ...]:
    return (RowsOfFile(file, BitMap64(positions)),)


def _delete(table: LoadedTable, file: ContentFile, *positions: int) -> Action:
    metadata = table.metadata
    deletes = [position_deletes(metadata, file, positions)] if metadata.format_version == 2 else []
    return RowDelta(
        delete_files=deletes,
        deleted_rows={file.file_path: DeletedRows(0, (), BitMap64(positions))},
        referenced_data_files=frozenset([file.file_path]),
    )


@pytest.mark.parametrize("format_version", [2, 3])
def test_rows_by_position(writer: Writer, format_version: int) -> None:
    empty = writer.create(properties={"format-version": str(format_version)})
    file = data_file(empty.metadata, range(5))
    first = writer.commit(AppendFiles([file]), base=empty).table
    second = writer.commit(_delete(first, file, 1, 3), base=first).table
    third = writer.commit(_delete(second, file, 0), base=second).table
    assert _changed(writer, empty, second) == ChangedRows(came=_rows(file, 0, 2, 4))
    assert _changed(writer, first, second) == ChangedRows(went=_rows(file, 1, 3))
    assert _changed(writer, second, third) == ChangedRows(went=_rows(file, 0))
    assert _changed(writer, third, first) == ChangedRows(came=_rows(file, 0, 1, 3))
    assert _changed(writer, third, third) == ChangedRows()


def test_rows_of_whole_files_less_those_that_were_gone(writer: Writer) -> None:
    empty = writer.create()
    old, new = data_file(empty.metadata, range(4)), data_file(empty.metadata, [9])
    first = writer.commit(AppendFiles([old]), base=empty).table
    second = writer.commit(_delete(first, old, 2), base=first).table
    read = second.metadata.current_snapshot_id
    third = writer.commit(OverwriteFiles([new], deleted_files=[old], base_snapshot_id=read), base=second).table
    assert _changed(writer, second, third) == ChangedRows(went=_rows(old, 0, 1, 3), came=_rows(new, 0))


def test_no_more_than_are_asked_for(writer: Writer) -> None:
    empty = writer.create()
    file = data_file(empty.metadata, range(6))
    first = writer.commit(AppendFiles([file]), base=empty).table
    second = writer.commit(_delete(first, file, 0, 1, 2), base=first).table
    assert _changed(writer, empty, first, most=5) is None
    assert _changed(writer, first, second, most=2) is None
    few = _changed(writer, first, second, most=3)
    assert few is not None
    assert (few.count, few.bytes) == (3, file.file_size_in_bytes / 2)


def test_equality_deletes_leave_it_open(writer: Writer) -> None:
    first = writer.append(1, base=writer.create()).table
    deletes = RowDelta(delete_files=[equality_deletes(first.metadata, [1])])
    second = writer.commit(deletes, base=first).table
    assert _changed(writer, first, second) is None
    assert _changed(writer, second, first) is None
