from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.spec.constraint import RowRule
from sqlext.spec.schema import Schema
from sqlext.spec.types import DecimalType, NestedField, StringType
from sqlext.write.violated_rows import VIOLATED, held_rows
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
