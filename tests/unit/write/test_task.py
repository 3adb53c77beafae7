"""The write tasks over plain lists of batches: messages, deletions, and what is left after a failure."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.spec.manifests.content_file import Content
from sqlext.spec.schema import Schema
from sqlext.spec.types import DecimalType, NestedField
from sqlext.storage import file_io
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.commit_message import TaskMessage, decode_messages
from sqlext.write.task import WriteTask, upsert_rows, write_changes, write_rows
from unit.write.write_tables import MeetingIO, files_below, keyed, local, plan


def identity() -> tuple[int, int]:
    return 3, 0


def run(task: WriteTask, *batches: pa.RecordBatch) -> list[TaskMessage]:
    return [message for batch in task(iter(batches)) for message in decode_messages(batch)]


def changes(*rows: tuple[int, str | None, int | None, int, str | None]) -> pa.RecordBatch:
    operation, file, position, id, name = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(operation, pa.int8()),
            pa.array(file, pa.string()),
            pa.array(position, pa.int64()),
            pa.array(id, pa.int64()),
            pa.array(name, pa.string()),
        ],
        names=["__operation", "_file", "_pos", "id", "name"],
    )


def upserts(rows: pa.RecordBatch, *operations: int) -> pa.RecordBatch:
    """The rows behind their operations, all of them updates where none are given."""
    codes = pa.array(operations or [2] * rows.num_rows, pa.int8())
    return pa.RecordBatch.from_arrays([codes, *rows.columns], ["__operation", *rows.schema.names])


def positions(messages: list[TaskMessage], kind: str = "positions") -> dict[str, list[int]]:
    return {message.path: list(message.bitmap) for message in messages if message.kind == kind}


def counts(messages: list[TaskMessage]) -> dict[str, int]:
    (message,) = (message for message in messages if message.kind == "counts")
    return message.counts


def test_rows_become_files_and_counts(tmp_path: Path) -> None:
    messages = run(write_rows(plan(tmp_path), task_identity=identity), keyed(range(4)), keyed(range(4, 6)))
    assert [message.kind for message in messages] == ["file", "counts"]
    assert messages[0].content_file.record_count == 6
    assert counts(messages) == {"inserted": 6}


def test_changes_become_positions_and_new_rows(tmp_path: Path) -> None:
    batch = changes(
        (1, "b", 7, 0, None),
        (2, "a", 2**40, 1, "new"),
        (3, None, None, 2, "ins"),
        (1, "a", 3, 0, None),
        (1, "b", 6, 0, ""),
    )
    messages = run(write_changes(plan(tmp_path), task_identity=identity), batch, batch.slice(0, 0))
    assert positions(messages) == {"b": [6, 7], "a": [3, 2**40]}
    assert positions(messages, "repeated") == {}
    assert counts(messages) == {"inserted": 1, "updated": 1, "deleted": 3}
    (file,) = (message.content_file for message in messages if message.kind == "file")
    assert pq.read_table(local(file.file_path)).to_pylist() == [{"id": 1, "name": "new"}, {"id": 2, "name": "ins"}]


def test_deletes_need_no_columns_of_the_table(tmp_path: Path) -> None:
    batch = changes((1, "a", 0, 0, None), (1, "a", 5, 0, None)).select([0, 1, 2])
    messages = run(write_changes(plan(tmp_path), task_identity=identity), batch)
    assert [message.kind for message in messages] == ["positions", "counts"]
    assert files_below(tmp_path) == []


def test_positions_that_come_twice_are_told(tmp_path: Path) -> None:
    first = changes((1, "a", 1, 0, None), (2, "a", 1, 1, "x"), (1, "b", 1, 0, None), (1, "b", 2, 0, None))
    second = changes((1, "b", 2, 0, None), (1, "b", 9, 0, None))
    messages = run(write_changes(plan(tmp_path), task_identity=identity), first, second)
    assert positions(messages) == {"a": [1], "b": [1, 2, 9]}
    assert positions(messages, "repeated") == {"a": [1], "b": [2]}


def test_upserts_write_rows_and_equality_deletes(tmp_path: Path) -> None:
    messages = run(
        upsert_rows(plan(tmp_path), (1,), task_identity=identity), upserts(keyed([5, 2])), upserts(keyed([9]))
    )
    data, deletes = (message.content_file for message in messages if message.kind == "file")
    assert (data.content, deletes.content) == (Content.DATA, Content.EQUALITY_DELETES)
    assert deletes.equality_ids == (1,)
    assert deletes.sort_order_id is None
    assert deletes.file_path.endswith("-00001-deletes.parquet")
    assert pq.read_table(local(deletes.file_path)).to_pylist() == [{"id": 5}, {"id": 2}, {"id": 9}]
    assert deletes.lower_bounds == {1: (2).to_bytes(8, "little")}
    assert deletes.upper_bounds == {1: (9).to_bytes(8, "little")}


def test_deletes_among_upserts_are_keys_alone(tmp_path: Path) -> None:
    task = upsert_rows(plan(tmp_path), (1,), task_identity=identity, distinct_keys=False)
    messages = run(task, upserts(keyed([5, 2, 7]), 2, 1, 2), upserts(keyed([9]), 1))
    data, deletes = (message.content_file for message in messages if message.kind == "file")
    assert pq.read_table(local(data.file_path)).column("id").to_pylist() == [5, 7]
    assert pq.read_table(local(deletes.file_path)).column("id").to_pylist() == [5, 2, 7, 9]
    assert counts(messages) == {"inserted": 2, "deleted": 2}


@pytest.mark.parametrize(
    ("operations", "condition", "named"),
    [
        ((2, 4, 4), "DUPLICATE_KEY", '{"id": 2}, {"id": 7}'),
        ((5, 4, 2), "SEQUENCE_TIE", '{"id": 5}'),
    ],
)
def test_rows_that_are_refused_are_named_by_their_keys(
    tmp_path: Path, operations: tuple[int, ...], condition: str, named: str
) -> None:
    rows = upserts(keyed([5, 2, 7]), *operations)
    placed = pa.RecordBatch.from_arrays(
        [rows.column(0), pa.nulls(3, pa.string()), pa.nulls(3, pa.int64()), *rows.columns[1:]],
        ["__operation", "_file", "_pos", "id", "name"],
    )
    for task, batch in [
        (upsert_rows(plan(tmp_path), (1,), task_identity=identity), rows),
        (write_changes(plan(tmp_path), task_identity=identity), placed),
    ]:
        (message,) = run(task, batch)
        assert message.error == (condition, {"table": "lake.db.t", "keys": named})
        assert files_below(tmp_path) == []


def test_kinds_that_are_none_are_named_and_others_are_not_written(tmp_path: Path) -> None:
    def rows(*kinds: str | None) -> pa.RecordBatch:
        known = upserts(keyed([5, 2, 7]), *(2 if kind in ("+I", "+U") else 6 for kind in kinds))
        return pa.RecordBatch.from_arrays([*known.columns, pa.array(kinds)], [*known.schema.names, "__given_kind"])

    def placed(batch: pa.RecordBatch) -> pa.RecordBatch:
        operation, *others = batch.columns
        places = [pa.nulls(3, pa.string()), pa.nulls(3, pa.int64())]
        names = ["__operation", "_file", "_pos", *batch.schema.names[1:]]
        return pa.RecordBatch.from_arrays([operation, *places, *others], names)

    upserting = upsert_rows(plan(tmp_path), (1,), task_identity=identity)
    changing = write_changes(plan(tmp_path), task_identity=identity)
    told = {"table": "lake.db.t", "keys": '{"id": 5}, {"id": 7}', "kinds": f"'{'D' * 80}…', null"}
    for task, batch in (
        (upserting, rows("D" * 99, "+U", None)),
        (changing, placed(rows("D" * 99, "+U", None))),
    ):
        (message,) = run(task, batch)
        assert message.error == ("INVALID_ROW_KIND", told)
    assert files_below(tmp_path) == []
    data, _ = (message.content_file for message in run(upserting, rows("+I", "+U", "+I")) if message.kind == "file")
    assert pq.read_table(local(data.file_path)).column_names == ["id", "name"]


def test_a_delete_by_a_null_key_is_refused(tmp_path: Path) -> None:
    batch = pa.record_batch({"id": pa.array([1, None], pa.int64()), "name": ["x", "y"]})
    (message,) = run(upsert_rows(plan(tmp_path), (1,), task_identity=identity), upserts(batch, 1, 7))
    assert message.error == ("NULL_IN_REQUIRED_COLUMN", {"column": "id", "table": "lake.db.t"})


def test_a_key_that_comes_twice_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    twice = [*range(20), *range(3, 10)]
    (message,) = run(
        upsert_rows(plan(tmp_path), (1,), task_identity=identity),
        upserts(keyed(twice[:12])),
        upserts(keyed(twice[12:])),
    )
    condition, parameters = message.error
    assert condition == "DUPLICATE_KEY"
    assert parameters == {
        "table": "lake.db.t",
        "keys": '{"id": 3}, {"id": 4}, {"id": 5}, {"id": 6}, {"id": 7}',
    }
    assert files_below(tmp_path) == []


def test_a_resolved_upsert_names_the_keys_of_two_source_rows(tmp_path: Path) -> None:
    """Rows that replace something, rows that do not, and one that replaces two rows of the table."""
    task = write_changes(plan(tmp_path), task_identity=identity, distinct_keys=True)
    lawful = changes((3, None, None, 1, "x"), (2, "a", 0, 2, "y"), (2, "a", 1, 2, "y"), (2, "b", 1, 2, "y"))
    assert counts(run(task, lawful)) == {"inserted": 1, "updated": 3, "deleted": 0, "copies": 2}
    for rows, named in [
        ([(3, None, None, 1, "z")], '{"id": 1}'),
        ([(2, "a", 1, 2, "z")], '{"id": 2}'),
        ([(1, "a", 1, 2, "z")], '{"id": 2}'),
        ([(2, "b", 1, 2, "z"), (2, "a", 1, 2, "z"), (3, None, None, 1, "z")], '{"id": 1}, {"id": 2}'),
    ]:
        folder = tmp_path / f"{len(rows)}{rows[0][0]}"
        again = write_changes(plan(folder), task_identity=identity, distinct_keys=True)
        (message,) = run(again, lawful, changes(*rows))
        condition, parameters = message.error
        assert condition == "DUPLICATE_KEY"
        assert ", ".join(sorted(parameters["keys"].split(", "))) == named
        assert files_below(folder) == []


def test_a_decimal_key_that_comes_as_its_digits_is_named_as_a_number(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "price", DecimalType(9, 2), required=True),), identifier_field_ids=(1,))
    batch = pa.record_batch({"price": pa.array([150, 275, 150], pa.int64())})
    (message,) = run(upsert_rows(plan(tmp_path, schema=schema), (1,), task_identity=identity), upserts(batch))
    assert message.error[1]["keys"] == '{"price": "1.50"}'


def test_a_row_that_breaks_a_rule_is_an_error_message(tmp_path: Path) -> None:
    batch = pa.record_batch({"id": pa.array([None], pa.int64()), "name": ["x"]})
    task = write_rows(plan(tmp_path, target_file_size=1, row_group_size=1), task_identity=identity)
    (message,) = run(task, keyed([1]), batch)
    assert message.error == ("NULL_IN_REQUIRED_COLUMN", {"column": "id", "table": "lake.db.t"})
    assert files_below(tmp_path) == []


def test_a_value_that_does_not_fit_is_an_error_message(tmp_path: Path) -> None:
    batch = pa.record_batch({"id": ["not a number"], "name": ["x"]})
    (message,) = run(write_rows(plan(tmp_path), task_identity=identity), batch)
    condition, parameters = message.error
    assert condition == "INVALID_COLUMN_VALUE"
    assert (parameters["column"], parameters["type"]) == ("id", "long")


@pytest.mark.parametrize("free_bytes", [0, 3_000, 20_000])
def test_a_disk_that_fills_up_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    left = free_bytes
    write = os.write

    def limited(descriptor: int, data: Any) -> int:
        nonlocal left
        if len(data) > left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left -= len(data)
        return write(descriptor, data)

    monkeypatch.setattr(file_io.os, "write", limited)
    task = write_rows(plan(tmp_path, target_file_size=10_000, row_group_size=5_000), task_identity=identity)
    (message,) = run(task, *(keyed(range(start, start + 1_000)) for start in range(0, 30_000, 1_000)))
    condition, parameters = message.error
    assert condition == "STORAGE_FAILURE"
    assert parameters["reason"] == "No space left on device"
    assert parameters["path"].startswith(f"file://{tmp_path}/data/00003-0-")
    assert files_below(tmp_path) == []


def test_rows_and_keys_of_an_upsert_wait_for_the_disk_together(tmp_path: Path) -> None:
    task = upsert_rows(plan(tmp_path), (1,), task_identity=identity, io=MeetingIO(2))
    data, deletes, told = run(task, upserts(keyed([5, 2])))
    assert (data.content_file.content, deletes.content_file.content) == (Content.DATA, Content.EQUALITY_DELETES)
    assert told.counts == {"inserted": 2, "deleted": 0}


@pytest.mark.parametrize("refused", ["00001.parquet", "deletes"])
def test_neither_is_left_where_the_disk_refuses_one(tmp_path: Path, refused: str) -> None:
    task = upsert_rows(plan(tmp_path), (1,), task_identity=identity, io=MeetingIO(2, refused))
    (message,) = run(task, upserts(keyed([5, 2])))
    assert message.error[0] == "STORAGE_FAILURE"
    assert files_below(tmp_path) == []


class _RefusingIO(LocalFileIO):
    """A store that fails in a way nobody foresaw."""

    def open_output(self, location: str) -> BinaryIO:
        raise RuntimeError("no answer")


def test_an_unforeseen_failure_is_an_error_message(tmp_path: Path) -> None:
    (message,) = run(write_rows(plan(tmp_path), task_identity=identity, io=_RefusingIO()), keyed([1]))
    condition, parameters = message.error
    assert condition == "INTERNAL_ERROR"
    assert parameters["reason"] == "RuntimeError: no answer"


def test_a_second_run_under_the_same_name_overwrites_nothing(tmp_path: Path) -> None:
    task = write_rows(plan(tmp_path), task_identity=identity)
    (first, _) = run(task, keyed([1]))
    (second,) = run(task, keyed([2]))
    assert second.error[0] == "STORAGE_FAILURE"
    assert pq.read_table(local(first.content_file.file_path)).column("id").to_pylist() == [1]


def test_an_interrupt_passes_and_leaves_no_file(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield keyed(range(2_000))
        assert files_below(tmp_path)
        raise KeyboardInterrupt

    task = write_rows(plan(tmp_path, row_group_size=1_000), task_identity=identity)
    with pytest.raises(KeyboardInterrupt):
        list(task(batches()))
    assert files_below(tmp_path) == []


def test_plans_travel_to_executors(tmp_path: Path) -> None:
    original = plan(tmp_path)
    assert pickle.loads(pickle.dumps(original)) == original


def test_bitmaps_travel_whole() -> None:
    from_task = BitMap64([1, 2**40, 2**62])
    assert BitMap64.deserialize(from_task.serialize()) == from_task
