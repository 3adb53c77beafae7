"""A write task over rows that lack the columns which changed rows keep."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write import kept_columns
from sqlext.write.commit_message import decode_messages
from sqlext.write.data_writer import DataWriter
from sqlext.write.kept_columns import with_kept_columns
from sqlext.write.row_operation import DELETE, UPDATE
from sqlext.write.task import write_changes
from unit.write.write_tables import batch, local, plan

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "qty", LongType()),
        NestedField(3, "name", StringType()),
    )
)


def stored(folder: Path, ids: range) -> str:
    writer = DataWriter(LocalFileIO(), plan(folder, SCHEMA), ids.start, 0)
    writer.write(batch(SCHEMA, list(ids), [1] * len(ids), [f"n{id}" for id in ids]))
    (file,) = writer.close()
    return file.file_path


def changed(folder: Path, *rows: tuple[int, str, int, int]) -> tuple[list[tuple[int, int, str]], dict[str, list[int]]]:
    """The rows written for such of operation, file, position and quantity, and the deleted positions."""
    operation, file, position, quantity = zip(*rows, strict=True)
    types = {"__operation": pa.int8(), "_file": pa.string(), "_pos": pa.int64(), "qty": pa.int64()}
    columns = (operation, file, position, quantity)
    thin = pa.table({name: pa.array(values, type) for (name, type), values in zip(types.items(), columns, strict=True)})
    target = plan(folder, SCHEMA, operation_id="change")
    task = with_kept_columns(write_changes(target, task_identity=lambda: (0, 0)), SCHEMA, ["id", "name"])
    messages = [one for out in task(iter(thin.to_batches(max_chunksize=2))) for one in decode_messages(out)]
    written = [one.content_file for one in messages if one.kind == "file"]
    found = [tuple(row.values()) for one in written for row in pq.read_table(local(one.file_path)).to_pylist()]
    return found, {one.path: list(one.bitmap) for one in messages if one.kind == "positions"}


@pytest.mark.parametrize("most", [1, 3, 1_000])
def test_each_row_gets_the_values_of_its_place(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_columns, "_BATCH_ROWS", most)
    a, b = stored(tmp_path, range(10, 20)), stored(tmp_path, range(20, 30))
    rows, positions = changed(
        tmp_path, (UPDATE, a, 3, 5), (UPDATE, b, 0, 6), (DELETE, b, 1, 0), (UPDATE, a, 1, 7), (UPDATE, b, 9, 8)
    )
    assert rows == [(13, 5, "n13"), (20, 6, "n20"), (11, 7, "n11"), (29, 8, "n29")]
    assert positions == {a: [1, 3], b: [0, 1, 9]}


def test_no_row_that_is_replaced_reads_no_file(tmp_path: Path) -> None:
    rows, positions = changed(tmp_path, (DELETE, "file:///nowhere.parquet", 4, 0))
    assert rows == []
    assert positions == {"file:///nowhere.parquet": [4]}


def test_a_file_that_is_gone_is_a_message_and_leaves_nothing(tmp_path: Path) -> None:
    target = plan(tmp_path, SCHEMA)
    task = with_kept_columns(write_changes(target, task_identity=lambda: (0, 0)), SCHEMA, ["id", "name"])
    row = pa.table({"__operation": pa.array([2], pa.int8()), "_file": ["file:///nowhere"], "_pos": [0], "qty": [1]})
    (message,) = [one for out in task(iter(row.to_batches())) for one in decode_messages(out)]
    assert message.kind == "error"
    assert message.error[0] == "FILE_NOT_FOUND"
    assert not list(tmp_path.rglob("*.parquet"))
