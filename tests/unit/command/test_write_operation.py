"""The files of an operation that fails: none stays, no other one goes, and nobody looks through the table for them."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.made_tables import create
from small_tables import ARROW_SCHEMA, warehouse_catalog
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.spark.query.write_job import task_identity, write_on_driver
from sqlext.storage.file_io import FileStatus, LocalFileIO
from sqlext.write.task import write_rows

_OTHERS = 2_000


class Counting(LocalFileIO):
    """Counts the files that it was asked to tell of."""

    def __init__(self) -> None:
        self.listed = 0

    def list(self, prefix: str) -> Iterator[FileStatus]:
        for status in super().list(prefix):
            self.listed += 1
            yield status


def _operation(io: LocalFileIO, folder: Path) -> WriteOperation:
    catalog = warehouse_catalog(folder)
    catalog.create_namespace(("db",), {})
    metadata = replace(create(catalog).metadata, location=str(folder))
    return begin_write(metadata, io, "lake.db.orders", random.Random(7))


def _fill(folder: Path, count: int) -> None:
    for number in range(count):
        place = folder / "data" / f"p={number % 100}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.parquet").touch()


def _write(operation: WriteOperation, rows: int) -> None:
    table = pa.table([pa.array(range(rows), pa.int64()), pa.array(["a"] * rows)], schema=ARROW_SCHEMA)
    write_on_driver(table, write_rows(operation.plan, task_identity=task_identity))


def test_the_driver_removes_its_own_files_and_looks_at_no_other(tmp_path: Path) -> None:
    _fill(tmp_path, _OTHERS)
    io = Counting()
    operation = _operation(io, tmp_path)
    with suppress(ZeroDivisionError), operation.cleaned_on_failure():
        _write(operation, 1000)
        assert _own(operation, tmp_path)
        raise ZeroDivisionError
    assert not _own(operation, tmp_path)
    assert io.listed == 0
    assert len(list(tmp_path.rglob("*.parquet"))) == _OTHERS


def test_files_of_other_processes_are_found_once_there_may_be_some(tmp_path: Path) -> None:
    """A task that is killed leaves a file of which nobody tells the driver."""
    _fill(tmp_path, 100)
    io = LocalFileIO()
    operation = _operation(io, tmp_path)
    with suppress(ZeroDivisionError), operation.cleaned_on_failure():
        theirs = pickle.loads(pickle.dumps(operation.plan))
        assert type(theirs.io) is LocalFileIO
        _write(WriteOperation(theirs, operation.io), 1000)
        assert _own(operation, tmp_path)
        raise ZeroDivisionError
    assert not _own(operation, tmp_path)
    assert len(list(tmp_path.rglob("*.parquet"))) == 100


def test_a_file_whose_name_was_taken_stays(tmp_path: Path) -> None:
    operation = _operation(LocalFileIO(), tmp_path)
    taken = tmp_path / "data" / f"taken-{operation.plan.operation_id}.parquet"
    taken.parent.mkdir(parents=True)
    taken.touch()
    with pytest.raises(FileExistsError), operation.cleaned_on_failure():
        operation.io.open_output(str(taken))
    assert taken.exists()


def _own(operation: WriteOperation, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if operation.plan.operation_id in path.name]
