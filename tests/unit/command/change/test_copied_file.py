"""Data files copied by a task: rows with new values, deleted and inserted rows, in any batches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.command.change import copied_file
from sqlext.command.change.copied_file import CopiedColumns, FileCopy, copy_files
from sqlext.scan import live_rows
from sqlext.scan.live_rows import RowColumns
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, ListType, LongType, NestedField, StringType
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.commit_message import TaskMessage, decode_messages
from sqlext.write.task import BY_QUERY, write_rows
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import plan as write_plan

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType()),
        NestedField(3, "n", IntegerType()),
        NestedField(4, "parts", ListType(5, StringType(), element_required=False)),
    )
)
GIVEN = (1, 3)
"""The columns with new values."""

Row = tuple[int, str | None, int | None, list[str | None] | None]


def row(rng: random.Random, id: int) -> Row:
    name = rng.choice([None, "", "ä", f"name {id}"])
    parts = rng.choice([None, [], ["p", None], [str(id)] * 3])
    return id, name, rng.choice([None, id]), parts


def arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, one, strict=True)) for one in rows], schema)


def messages(task: Iterator[pa.RecordBatch]) -> list[TaskMessage]:
    return [message for batch in task for message in decode_messages(batch)]


def written(plan: WritePlan, rows: Sequence[Row], number: int) -> ContentFile:
    task = write_rows(plan, task_identity=lambda: (number, 0))
    found = messages(task(iter([arrow(rows, schema_to_arrow(SCHEMA))])))
    return found[0].content_file


def copied(
    plan: WritePlan, rows: list[pa.RecordBatch], *, lineage: bool = False, keeps_others: bool = True
) -> list[TaskMessage]:
    columns = CopiedColumns(RowColumns(SCHEMA.fields, schema_to_arrow(SCHEMA)), GIVEN, lineage, keeps_others)
    return messages(copy_files(plan, columns, task_identity=lambda: (900, 0))(iter(rows)))


def values(copy: FileCopy | None, rows: Mapping[int | None, Row]) -> pa.RecordBatch:
    """Rows for the task: a file, if given, and new values by position."""
    schema = schema_to_arrow(SCHEMA)
    places = [*([-1] if copy else []), *rows]
    begins = [copy.packed() if copy and place == -1 else None for place in places]
    new = [rows.get(place) for place in places]
    given = [pa.array([one and one[number] for one in new], schema.field(number).type) for number in GIVEN]
    return pa.record_batch(
        [pa.array(begins, pa.binary()), pa.array(places, pa.int64()), *given], ["copy", "position", "name", "parts"]
    )


def cut(rng: random.Random, rows: pa.RecordBatch) -> list[pa.RecordBatch]:
    batches, start = [], 0
    while start < rows.num_rows:
        count = rng.randint(1, 40)
        batches.append(rows.slice(start, count))
        start += count
    return batches


def stored(paths: Sequence[str]) -> list[list[object]]:
    return [list(one.values()) for path in paths for one in pq.ParquetFile(path).read().to_pylist()]


@pytest.mark.parametrize("keeps_others", [True, False])
@pytest.mark.parametrize("lineage", [False, True])
@pytest.mark.parametrize("sorted_by", [0, 1])
def test_rows_are_those_of_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lineage: bool, sorted_by: int, keeps_others: bool
) -> None:
    """Files are read in batches of sixteen rows, and new values come in others."""
    monkeypatch.setattr(live_rows, "_LEAST_ROWS", 1)
    monkeypatch.setattr(live_rows, "_MOST_ROWS", 16)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for turn in range(12):
        plan = replace(write_plan(tmp_path / f"{turn}", SCHEMA), sort_order_id=sorted_by)
        plan = replace(plan, row_group_rows=rng.choice([7, None]))
        new_plan = replace(plan, operation_id="copies")
        if lineage:
            new_plan = new_plan.with_row_lineage()
        given: list[pa.RecordBatch] = []
        files: list[list[list[object]]] = []
        for number in range(rng.randint(1, 3)):
            rows = [row(rng, 1000 * number + at) for at in range(rng.choice([1, 15, 16, 17, 100]))]
            file = replace(written(plan, rows, number), first_row_id=5000)
            places = range(len(rows))
            dead = {at for at in places if rng.random() < rng.choice([0, 0.2, 1])}
            live = [at for at in places if at not in dead]
            share = rng.choice([0, 0.1, 1])
            updated = {at: row(rng, at) for at in live if rng.random() < share}
            deleted = {at for at in live if at not in updated and rng.random() < rng.choice([0, 0.2, 1])}
            task = FileScanTask(file, 7, 0, BitMap64(dead).serialize() if dead else None, len(dead))
            copy = FileCopy(task, BitMap64({*updated, *deleted}).serialize())
            given += cut(rng, values(copy, dict(updated)))
            expected: list[list[object]] = []
            for at in live:
                if at in deleted or not (keeps_others or at in updated):
                    continue
                new = list(rows[at])
                for place in GIVEN if at in updated else ():
                    new[place] = updated[at][place]
                expected.append([*new, *([5000 + at, None if at in updated else 7] if lineage else [])])
            files.append(expected)
        found = copied(new_plan, given, lineage=lineage, keeps_others=keeps_others)
        paths = [message.path for message in found]
        assert stored(paths) == [one for file in files for one in file]
        if sorted_by:
            assert [stored([path]) for path in paths] == [file for file in files if file]


def test_row_groups_without_a_changed_row_are_not_read(tmp_path: Path) -> None:
    plan = replace(write_plan(tmp_path, SCHEMA), row_group_rows=10)
    file = written(plan, [(at, f"name {at}", at, None) for at in range(50)], 0)
    damaged = Path(file.file_path.removeprefix("file:"))
    data, footer = bytearray(damaged.read_bytes()), pq.read_metadata(damaged)
    places = [footer.row_group(index).column(0).data_page_offset for index in range(footer.num_row_groups)]
    data[places[1] : places[3]] = bytes(places[3] - places[1])
    damaged.write_bytes(data)
    updated = {at: (at, "new", at, None) for at in (9, 30, 49)}
    copy = FileCopy(FileScanTask(file, 7, 0), BitMap64(updated).serialize())
    for keeps_others in (False, True):
        new_plan = replace(plan, operation_id=f"copies-{keeps_others}")
        (message,) = copied(new_plan, [values(copy, dict(updated))], keeps_others=keeps_others)
        if keeps_others:
            assert "CORRUPT_FILE" in str(message.error)
        else:
            assert stored([message.path]) == [list(one) for one in updated.values()]


@pytest.mark.parametrize("lineage", [(), ("ids",), ("no ids",)], ids=["plain", "with row ids", "without row ids"])
def test_inserted_rows_are_told_by_their_missing_position(tmp_path: Path, lineage: tuple[str, ...]) -> None:
    """Those of an UNDO have their row ids of before."""
    plan = write_plan(tmp_path, SCHEMA)
    first = replace(written(plan, [(1, "a", 1, None), (2, "b", 2, None)], 0), first_row_id=500)
    has_ids = lineage == ("ids",)
    given = (0, 1, 2, 3, 4) if has_ids else (0, 1, 2, 3)
    columns = CopiedColumns(RowColumns(SCHEMA.fields, schema_to_arrow(SCHEMA)), given, lineage=bool(lineage))
    copy = FileCopy(FileScanTask(first, 7, 0), BitMap64([1]).serialize())
    rows = {
        "copy": pa.array([copy.packed(), None, None], pa.binary()),
        "position": pa.array([-1, 1, None], pa.int64()),
        "id": pa.array([None, 20, 30], pa.int64()),
        "name": pa.array([None, "new", "inserted"]),
        "n": pa.array([None, None, 3], pa.int32()),
        "parts": pa.array([None, ["x"], []], pa.list_(pa.string())),
    }
    if has_ids:
        rows["_row_id"] = pa.array([None, 501, 77], pa.int64())
    new_plan = replace(plan, operation_id="copies")
    new_plan = new_plan.with_row_lineage() if lineage else new_plan
    task = copy_files(new_plan, columns, task_identity=lambda: (900, 0))
    found = messages(task(iter(pa.table(rows).to_batches())))
    expected = [[1, "a", 1, None], [20, "new", None, ["x"]], [30, "inserted", 3, []]]
    if lineage:
        ids = [(500, 7), (501, None), (77 if has_ids else None, None)]
        expected = [[*row, *told] for row, told in zip(expected, ids, strict=True)]
    by_id = {one[0]: one for message in found for one in stored([message.path])}
    assert list(by_id.values()) == sorted(expected, key=lambda row: list(by_id).index(row[0]))


@pytest.mark.parametrize("waiting", [0, 10_000])
@pytest.mark.parametrize("together", [1, 2_000])
def test_large_values_are_taken_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int, together: int
) -> None:
    """Columns of a batch hold up to 2 GiB of text, whatever the size of the batch that the file gives."""
    monkeypatch.setattr(copied_file, "_WAITING_BYTES", waiting)
    monkeypatch.setattr(copied_file, "_TOGETHER_BYTES", together)
    most = []
    changed_rows = copied_file._CopiedRows._changed_rows

    def watched(self: copied_file._CopiedRows, batch: pa.RecordBatch, *more: Any) -> pa.RecordBatch:
        rows = changed_rows(self, batch, *more)
        most.append(rows.nbytes)
        return rows

    monkeypatch.setattr(copied_file._CopiedRows, "_changed_rows", watched)
    plan = write_plan(tmp_path, SCHEMA)
    file = written(plan, [(at, "a", at, None) for at in range(500)], 0)
    updated = {at: (at, "x" * 1000, at, ["y"]) for at in range(0, 500, 2)}
    copy = FileCopy(FileScanTask(file, 7, 0), BitMap64([*updated, 1, 499]).serialize())
    (message,) = copied(replace(plan, operation_id="copies"), cut(random.Random(1), values(copy, updated)))
    kept = [at for at in range(500) if at not in (1, 499)]
    assert stored([message.path]) == [[*updated[at]] if at in updated else [at, "a", at, None] for at in kept]
    if waiting == 0 or together == 1:
        assert max(most) < 60_000


def test_codes_of_long_texts_are_decoded_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of codes takes few bytes, however long the texts are."""
    monkeypatch.setattr(copied_file, "_TOGETHER_BYTES", 20_000)
    most = []
    changed_rows = copied_file._CopiedRows._changed_rows

    def watched(self: copied_file._CopiedRows, batch: pa.RecordBatch, *more: Any) -> pa.RecordBatch:
        assert pa.types.is_dictionary(batch.column(1).type)
        rows = changed_rows(self, batch, *more)
        most.append(rows.nbytes)
        return rows

    monkeypatch.setattr(copied_file._CopiedRows, "_changed_rows", watched)
    plan = write_plan(tmp_path, SCHEMA)
    file = written(plan, [(at, "z" * 200, at, None) for at in range(500)], 0)
    updated = {at: (at, "new", at, None) for at in range(0, 500, 5)}
    copy = FileCopy(FileScanTask(file, 7, 0), BitMap64(updated).serialize())
    (message,) = copied(replace(plan, operation_id="copies"), [values(copy, dict(updated))])
    assert [name for _, name, *_ in stored([message.path])] == ["z" * 200 if at % 5 else "new" for at in range(500)]
    assert max(most) < 40_000


def test_values_for_a_row_that_is_not_live_are_an_error(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, SCHEMA)
    file = written(plan, [(1, "a", 1, None), (2, "b", 2, None)], 0)
    for dead, place in ((BitMap64([1]).serialize(), 1), (None, 2)):
        copy = FileCopy(FileScanTask(file, 7, 0, dead, 1 if dead else 0), BitMap64([place]).serialize())
        found = copied(replace(plan, operation_id="copies"), [values(copy, {place: (3, "c", 3, None)})])
        assert [message.kind for message in found] == ["error"]
        assert "live" in str(found[0].error)


def test_a_task_that_meets_a_file_for_a_query_leaves_none(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, SCHEMA)
    file = written(plan, [(1, "a", 1, None)], 0)
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": [1], "name": ["a"]}), other)
    without_ids = replace(file, file_path=str(other), file_size_in_bytes=other.stat().st_size)
    before = sorted(tmp_path.rglob("*.parquet"))
    batches = [values(FileCopy(FileScanTask(one, 7, 0), BitMap64().serialize()), {}) for one in (file, without_ids)]
    for last in ([], [values(FileCopy(FileScanTask(file, 7, 0), BitMap64().serialize()), {})]):
        (message,) = copied(replace(plan, operation_id="copies"), [*batches, *last])
        assert message.counts == {BY_QUERY: 1}
        assert sorted(tmp_path.rglob("*.parquet")) == before
