from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.spec.constraint import RowRule
from sqlext.spec.identity_column import NextValues
from sqlext.spec.schema import Schema
from sqlext.spec.types import DecimalType, LongType, NestedField, StringType
from sqlext.write.violated_rows import TASKS, VIOLATED, CheckedRows, held_rows
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import plan

SCHEMA = Schema((NestedField(1, "price", DecimalType(9, 2)), NestedField(2, "note", StringType())))
RULES = (RowRule("note", "char_length(note) <= 3", ("note",), 3), RowRule("cheap", "price < 9", ("price", "note")))


def rows(*violated: int | None) -> pa.RecordBatch:
    digits, notes = [100 * (n + 1) for n in range(len(violated))], [f"n{n}" for n in range(len(violated))]
    return pa.record_batch(
        [pa.array(digits), pa.array(notes), pa.array(violated, pa.int32())], ["price", "note", VIOLATED]
    )


def test_rows_that_break_no_rule_lose_the_column(tmp_path: Path) -> None:
    held = held_rows(plan(tmp_path, SCHEMA, rules=RULES), rows(None, None))
    assert held.schema.names == ["price", "note"]
    assert held_rows(plan(tmp_path, SCHEMA), held) is held


def test_the_first_row_that_breaks_one_is_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        held_rows(plan(tmp_path, SCHEMA, rules=RULES), rows(None, 1, 0))
    assert refusal.value.condition == "CHECK_CONSTRAINT_VIOLATION"
    assert refusal.value.parameters["values"] == f'price = "{Decimal("2.00")}", note = "n1"'


def test_the_values_are_the_columns_own_whatever_stands_beside_them(tmp_path: Path) -> None:
    with_row_id = rows(1).add_column(0, "__operation", pa.array([2])).add_column(3, "_row_id", pa.array([77]))
    with pytest.raises(DataError) as refusal:
        held_rows(plan(tmp_path, SCHEMA, rules=RULES), with_row_id)
    assert refusal.value.parameters["values"] == f'price = "{Decimal("1.00")}", note = "n0"'


def test_a_long_value_is_cut_in_the_message(tmp_path: Path) -> None:
    batch = rows(0).set_column(1, "note", pa.array(["x" * 1000]))
    with pytest.raises(DataError) as refusal:
        held_rows(plan(tmp_path, SCHEMA, rules=RULES), batch)
    assert refusal.value.condition == "EXCEED_LIMIT_LENGTH"
    assert len(refusal.value.parameters["values"]) < 100


COUNTED = Schema((NestedField(1, "id", LongType(), required=True), NestedField(2, "down", LongType())))


def _counted(tmp_path: Path, first: int = 1, step: int = 1) -> WritePlan:
    rules = (
        RowRule("id", "true", ("id",), identity=NextValues(first, step)),
        RowRule("down", "true", ("down",), identity=NextValues(-1, -5)),
    )
    return plan(tmp_path, COUNTED, rules=rules)


def _batch(tasks: int | None, *ids: int | None, operations: tuple[int, ...] = ()) -> pa.RecordBatch:
    count = len(ids)
    columns = [pa.array(ids, pa.int64()), pa.nulls(count, pa.int64()), pa.nulls(count, pa.int32())]
    names = ["id", "down", VIOLATED, TASKS]
    columns.append(pa.array([tasks] * count, pa.int32()))
    if operations:
        return pa.record_batch([pa.array(operations, pa.int8()), *columns], ["__operation", *names])
    return pa.record_batch(columns, names)


@pytest.mark.parametrize("tasks", [1, 3, 200])
def test_no_two_tasks_give_one_value(tmp_path: Path, tasks: int) -> None:
    ids: list[int] = []
    downs: list[int] = []
    for number in range(tasks):
        rows = CheckedRows(_counted(tmp_path, 10, 3), number)
        for batch in (_batch(tasks, None, None), _batch(tasks), _batch(tasks, None, 7, None)):
            filled = rows.of(batch)
            assert filled.schema.names == ["id", "down"]
            ids += filled.column("id").to_pylist()
            downs += filled.column("down").to_pylist()
    given = [id for id in ids if id != 7]
    assert sorted(given) == list(range(10, 10 + 3 * 4 * tasks, 3))
    assert sorted(downs, reverse=True) == list(range(-1, -1 - 5 * 5 * tasks, -5))


def test_only_rows_that_are_written_get_values(tmp_path: Path) -> None:
    rows = CheckedRows(_counted(tmp_path), 0).of(_batch(1, None, None, 8, None, None, operations=(1, 2, 2, 0, 3)))
    assert rows.column("id").to_pylist() == [None, 1, 8, None, 2]


def test_rows_that_are_not_to_get_values_stay(tmp_path: Path) -> None:
    batch = _batch(1, None, 3)
    kept = CheckedRows(_counted(tmp_path), 0).of(batch.select([0, 1]))
    assert kept.column("id").to_pylist() == [None, 3]


def test_tasks_of_a_number_that_is_not_known_are_far_apart(tmp_path: Path) -> None:
    first, second = (CheckedRows(_counted(tmp_path), task).of(_batch(-1, None, None)) for task in (0, 1))
    assert {*first.column("id").to_pylist()} & {*second.column("id").to_pylist()} == set()


def test_rows_of_data_files_stay_beside_those_that_get_values(tmp_path: Path) -> None:
    rows = CheckedRows(_counted(tmp_path), 1)
    assert rows.of(_batch(None, None, 4)).column("id").to_pylist() == [None, 4]
    mixed = pa.Table.from_batches([_batch(None, None), _batch(3, None, 9, None)]).combine_chunks().to_batches()[0]
    assert rows.of(mixed).column("id").to_pylist() == [None, 2, 9, 5]


def test_a_task_beyond_their_number_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="task 3 is none of 3"):
        CheckedRows(_counted(tmp_path), 3).of(_batch(3, None))


@pytest.mark.parametrize("tasks", [1, 3, -1])
@pytest.mark.parametrize(("first", "step"), [(-(2**63), 2**62), (2**63 - 1, -(2**62)), (-(2**63), 2**63 - 1)])
def test_steps_as_wide_as_a_bigint(tmp_path: Path, first: int, step: int, tasks: int) -> None:
    for task in range(max(tasks, 1)):
        filled = CheckedRows(_counted(tmp_path, first, step), task).of(_batch(tasks, None))
        assert filled.column("id").to_pylist() == [first + task * step]
    count = 3 if abs(step) == 2**63 - 1 else 4
    filled = CheckedRows(_counted(tmp_path, first, step), 0).of(_batch(1, *[None] * count))
    assert filled.column("id").to_pylist() == [first + n * step for n in range(count)]


@pytest.mark.parametrize(("first", "step"), [(2**63 - 2, 1), (-(2**63) + 1, -1), (2**63, 1)])
def test_there_are_no_values_beyond_a_bigint(tmp_path: Path, first: int, step: int) -> None:
    with pytest.raises(DataError) as refusal:
        CheckedRows(_counted(tmp_path, first, step), 0).of(_batch(1, None, None, None))
    assert refusal.value.condition == "IDENTITY_EXHAUSTED"
