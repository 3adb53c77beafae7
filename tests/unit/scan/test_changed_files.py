"""The data files in which rows may differ between two snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyroaring import BitMap64

from small_tables import BY_REGION, Writer, data_file, equality_deletes, position_deletes, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.scan.changed_files import ChangedFiles, changed_files
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _plan(writer: Writer, table: LoadedTable) -> ScanPlan:
    metadata = table.metadata
    snapshot = metadata.current_snapshot()
    return plan_scan(writer.catalog.io, metadata, snapshot, AlwaysTrue(), manifests=ManifestCache())


def _changed(writer: Writer, before: LoadedTable, after: LoadedTable) -> ChangedFiles:
    return changed_files(_plan(writer, before), _plan(writer, after))


def test_files_that_come_and_go(writer: Writer) -> None:
    first = writer.append(1, base=writer.create()).table
    (old,) = (task.file for task in _plan(writer, first).tasks)
    new = data_file(first.metadata, [2])
    second = writer.commit(AppendFiles([new]), base=first).table
    assert _changed(writer, first, second) == ChangedFiles(added=(new.file_path,))
    third = writer.commit(OverwriteFiles(deleted_files=[old], added=[]), base=second).table
    assert _changed(writer, second, third) == ChangedFiles(removed=(old.file_path,))
    assert _changed(writer, first, third) == ChangedFiles(removed=(old.file_path,), added=(new.file_path,))
    assert not _changed(writer, third, third).any


@pytest.mark.parametrize("format_version", [2, 3])
def test_rows_deleted_by_position(writer: Writer, format_version: int) -> None:
    table = writer.append(1, 2, 3, base=writer.create(format_version=format_version)).table
    table = writer.append(4, base=table).table
    old = next(task.file for task in _plan(writer, table).tasks if task.file.record_count == 3)
    deleted = {old.file_path: DeletedRows(0, (), BitMap64([1]))}
    files = [position_deletes(table.metadata, old, [1])] if format_version == 2 else []
    delta = RowDelta(delete_files=files, deleted_rows=deleted, isolation="snapshot")
    after = writer.commit(delta, base=table).table
    assert _changed(writer, table, after) == ChangedFiles(touched=(old.file_path,))


def test_keys_deleted_reach_older_files_of_their_partition(writer: Writer) -> None:
    table = writer.append(1, base=writer.create(spec=BY_REGION)).table
    table = writer.append(1, region="us", base=table).table
    old = next(task.file for task in _plan(writer, table).tasks if task.partition == ("eu",))
    new = data_file(table.metadata, [1])
    delta = RowDelta([new], [equality_deletes(table.metadata, [1])], isolation="snapshot")
    after = writer.commit(delta, base=table).table
    assert _changed(writer, table, after) == ChangedFiles(added=(new.file_path,), touched=(old.file_path,))
