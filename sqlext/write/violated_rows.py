"""Rows under the rules of the table: errors for those that break one, and values of identity columns for those without.
Spark computes the broken rule of each row as a further column, and the number of tasks as the last one.

Each of n tasks gives every n-th of the next values, so no two give the same one. Only the files of one attempt of a
task are committed, whatever rows another attempt had. Values that no row gets are left out.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.errors import DataError
from sqlext.spec.constraint import RowRule
from sqlext.spec.identity_column import GREATEST, LEAST
from sqlext.spec.schema import Schema
from sqlext.write.alignment import Aligner
from sqlext.write.row_operation import UPDATE
from sqlext.write.write_plan import WritePlan

VIOLATED = "__violated"
"""The last column of rows under rules: the index of the first rule that the row breaks, or null."""

TASKS = "__sqlext_tasks"
"""The last column of rows that are to get values: the number of tasks that write rows. It is null in rows of data files
that do not change, which stay as they are, and -1 if Spark has evaluated it before there were tasks."""

# More than any job has tasks.
_MANY_TASKS = 2**20
_SHOWN_CHARACTERS = 80


class CheckedRows:
    """The rows of one run of a task, without the columns by which they are checked."""

    def __init__(self, plan: WritePlan, task_id: int) -> None:
        self._plan = plan
        self._task_id = task_id
        self._columns = {rule.name: rule for rule in plan.rules if rule.identity is not None}
        self._given = dict.fromkeys(self._columns, 0)

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with values in its identity columns where it has the column `TASKS`. With `__operation` rows that
        are not written stay as they are. Raises DataError IDENTITY_EXHAUSTED, and as `held_rows`."""
        if not batch.num_columns or batch.schema.names[-1] != TASKS:
            return held_rows(self._plan, batch)
        counts = batch.column(batch.num_columns - 1)
        tasks = _tasks(counts)
        if self._task_id >= tasks:
            raise ValueError(f"task {self._task_id} is none of {tasks}")
        rows = held_rows(self._plan, batch.select(range(batch.num_columns - 1)))
        if not rows.num_rows:
            return rows
        given = counts.is_valid().to_numpy(zero_copy_only=False)
        for name, rule in self._columns.items():
            at = rows.schema.get_field_index(name)
            column = rows.column(at)
            wanted = column.is_null().to_numpy(zero_copy_only=False) & given
            if rows.schema.names[0] == "__operation":
                wanted &= rows.column(0).to_numpy(zero_copy_only=False) >= UPDATE
            count = int(np.count_nonzero(wanted))
            if count:
                new = np.zeros(rows.num_rows, np.int64)
                new[wanted] = self._values(rule, tasks, count)
                filled = pa.array(new, mask=~wanted)
                rows = rows.set_column(at, rows.schema.field(at), pc.coalesce(column, filled))
        return rows

    def _values(self, rule: RowRule, tasks: int, count: int) -> NDArray[np.int64]:
        values, given = rule.identity, self._given[rule.name]
        assert values is not None
        width = values.step * tasks
        first = values.first + values.step * self._task_id + width * given
        last = first + width * (count - 1)
        if not (LEAST <= first <= GREATEST and LEAST <= last <= GREATEST):
            raise DataError("IDENTITY_EXHAUSTED", column=rule.name, table=self._plan.table_name)
        self._given[rule.name] = given + count
        # Modulo 2**64, as the width of a single row's values may be beyond a BIGINT.
        steps = np.arange(count, dtype=np.uint64) * np.uint64(width % 2**64)
        given_values: NDArray[np.int64] = (steps + np.uint64(first % 2**64)).view(np.int64)
        return given_values


def _tasks(counts: pa.Array) -> int:
    """The number of tasks, which all rows tell but those of data files."""
    count = pc.max(counts).as_py()
    return count if count is not None and count > 0 else _MANY_TASKS


def held_rows(plan: WritePlan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without its column `VIOLATED`, if it has one.

    Raises DataError CHECK_CONSTRAINT_VIOLATION, GENERATED_COLUMN_VIOLATION, IDENTITY_VALUE_GIVEN,
    NULL_IN_REQUIRED_COLUMN or EXCEED_LIMIT_LENGTH for the first row that breaks a rule.
    """
    if not batch.num_columns or batch.schema.names[-1] != VIOLATED:
        return batch
    violated = batch.column(batch.num_columns - 1)
    rows = batch.select(range(batch.num_columns - 1))
    if violated.null_count < len(violated):
        at = pc.index(pc.is_valid(violated), True).as_py()
        raise _violation(plan, violated[at].as_py(), rows.slice(at, 1))
    return rows


def _violation(plan: WritePlan, number: int, row: pa.RecordBatch) -> DataError:
    rule = plan.rules[number]
    values = _shown_values(plan, rule.columns, row)
    if rule.limit is not None:
        return DataError(
            "EXCEED_LIMIT_LENGTH", column=rule.name, table=plan.table_name, limit=rule.limit, values=values
        )
    if rule.identity is not None:
        if not row.column(rule.name)[0].is_valid:
            return DataError("NULL_IN_REQUIRED_COLUMN", column=rule.name, table=plan.table_name)
        return DataError("IDENTITY_VALUE_GIVEN", column=rule.name, table=plan.table_name, values=values)
    if rule.generated is not None:
        return DataError(
            "GENERATED_COLUMN_VIOLATION",
            column=rule.name,
            expression=rule.generated.replace("\n", ""),
            table=plan.table_name,
            values=values,
        )
    return DataError(
        "CHECK_CONSTRAINT_VIOLATION", name=rule.name, expression=rule.test, table=plan.table_name, values=values
    )


def _shown_values(plan: WritePlan, columns: tuple[str, ...], row: pa.RecordBatch) -> str:
    values: dict[str, Any] = {}
    for field in plan.schema.fields:
        if field.name in columns:
            aligned = Aligner(Schema((field,)), plan.table_name).align([row.column(field.name)])
            values[field.name] = aligned.column(0)[0].as_py()
    return shown_row(values)


def shown_row(values: dict[str, Any]) -> str:
    """Values of a row as the text of a message, each `shortened`."""
    texts = (f"{name} = {_shown(value)}" for name, value in values.items())
    return ", ".join(texts) or "none"


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, default=str, ensure_ascii=False))


def shortened(text: str) -> str:
    """`text`, truncated to the length that messages show of a value."""
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
