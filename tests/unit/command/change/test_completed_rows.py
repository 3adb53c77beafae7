"""Updated rows completed by a task with the columns that they keep: rows of any batches, files and row groups."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.command.change import completed_rows
from sqlext.command.change.completed_rows import complete_in_order
from sqlext.scan import live_rows
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, LongType, NestedField, StringType
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.commit_message import TaskMessage, decode_messages
from sqlext.write.row_operation import UPDATE
from sqlext.write.task import BY_QUERY, write_rows
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import plan as write_plan

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType()),
        NestedField(3, "n", IntegerType()),
        NestedField(4, "day", StringType()),
    )
)
KEPT = ("id", "name", "day")
Row = tuple[int, str | None, int | None, str]


def messages(task: Iterator[pa.RecordBatch]) -> list[TaskMessage]:
    return [message for batch in task for message in decode_messages(batch)]


def written(plan: WritePlan, rows: Sequence[Row], number: int) -> ContentFile:
    schema = schema_to_arrow(SCHEMA)
    batch = pa.RecordBatch.from_pylist([dict(zip(schema.names, one, strict=True)) for one in rows], schema)
    found = messages(write_rows(plan, task_identity=lambda: (number, 0))(iter([batch])))
    return found[0].content_file


def updates(places: Sequence[tuple[str, int, int]], size: int) -> list[pa.RecordBatch]:
    """Batches of up to `size` rows: path, position, and the new value of n."""
    columns = {
        "__operation": pa.array([UPDATE] * len(places), pa.int8()),
        "_file": pa.array([path for path, _, _ in places]),
        "_pos": pa.array([position for _, position, _ in places], pa.int64()),
        "n": pa.array([value for _, _, value in places], pa.int32()),
    }
    return pa.table(columns).to_batches(max_chunksize=size)


def completed(plan: WritePlan, batches: Sequence[pa.RecordBatch]) -> list[TaskMessage]:
    new = replace(plan, operation_id="updated")
    return messages(complete_in_order(new, SCHEMA, KEPT, task_identity=lambda: (900, 0))(iter(batches)))


def stored(found: Sequence[TaskMessage]) -> list[list[object]]:
    paths = [message.path for message in found if message.kind == "file"]
    return [list(one.values()) for path in paths for one in pq.ParquetFile(path).read().to_pylist()]


def files_of(plan: WritePlan, rng: random.Random) -> Mapping[str, list[Row]]:
    files = {}
    for number in range(rng.randint(1, 4)):
        count = rng.choice([1, 16, 17, 100])
        rows = [
            (1000 * number + at, rng.choice([None, "", f"name {at}"]), at, rng.choice(["mon", "tue"]))
            for at in range(count)
        ]
        files[written(plan, rows, number).file_path] = rows
    return files


def test_rows_are_those_of_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_rows, "_LEAST_ROWS", 1)
    monkeypatch.setattr(live_rows, "_MOST_ROWS", 16)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for turn in range(30):
        plan = replace(write_plan(tmp_path / f"{turn}", SCHEMA), row_group_rows=rng.choice([7, 30, None]))
        files = files_of(plan, rng)
        share = rng.choice([0.05, 0.5, 1])
        places = [
            (path, at, rng.randrange(100))
            for path, rows in files.items()
            for at in range(len(rows))
            if rng.random() < share
        ]
        found = completed(plan, updates(places, rng.choice([1, 9, 1000])))
        expected = [[*files[path][at][:2], value, files[path][at][3]] for path, at, value in places]
        assert stored(found) == expected
        assert found[-1].counts == {"inserted": 0, "updated": len(places), "deleted": 0}
        positions = {message.path: list(message.bitmap) for message in found if message.kind == "positions"}
        assert positions == {
            path: [at for one, at, _ in places if one == path] for path in {path for path, _, _ in places}
        }


@pytest.mark.parametrize("repeats", [completed_rows._MOST_REPEATS, completed_rows._MOST_REPEATS + 1])
def test_rows_in_another_order_are_left_to_a_query(tmp_path: Path, repeats: int) -> None:
    plan = replace(write_plan(tmp_path, SCHEMA), row_group_rows=50)
    file = written(plan, [(at, "a", at, "mon") for at in range(100)], 0)
    before = set(tmp_path.rglob("*.parquet"))
    order = [at // 2 if at % 2 == 0 else 50 + at // 2 for at in range(repeats + 2)]
    found = completed(plan, updates([(file.file_path, at, -at) for at in order], 3))
    if repeats > completed_rows._MOST_REPEATS:
        assert [message.counts for message in found] == [{BY_QUERY: 1}]
        assert set(tmp_path.rglob("*.parquet")) == before
    else:
        assert stored(found) == [[at, "a", -at, "mon"] for at in order]


def test_a_position_without_a_row_is_an_error(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, SCHEMA)
    file = written(plan, [(1, "a", 1, "mon")], 0)
    (found,) = completed(plan, updates([(file.file_path, 0, 5), (file.file_path, 1, 5)], 10))
    assert found.kind == "error"


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    plan = write_plan(tmp_path, SCHEMA)
    file = written(plan, [(1, "a", 1, "mon")], 0)
    path = Path(file.file_path.removeprefix("file:"))
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5])
    (found,) = completed(plan, updates([(file.file_path, 0, 5)], 10))
    assert found.kind == "error"
    assert file.file_path in str(found.error)


def test_a_file_without_field_ids_is_left_to_a_query(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, SCHEMA)
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": [1], "name": ["a"], "n": [1], "day": ["mon"]}), path)
    (found,) = completed(plan, updates([(str(path), 0, 5)], 10))
    assert found.counts == {BY_QUERY: 1}
