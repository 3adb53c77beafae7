"""Errors for rows that break a rule of the table. Spark computes the broken rule of each row as a further column."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import DataError
from sqlext.spec.schema import Schema
from sqlext.write.alignment import Aligner
from sqlext.write.write_plan import WritePlan

VIOLATED = "__violated"
"""The last column of rows under rules: the index of the first rule that the row breaks, or null."""

_SHOWN_CHARACTERS = 80


def held_rows(plan: WritePlan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without its column `VIOLATED`, if it has one.

    Raises DataError CHECK_CONSTRAINT_VIOLATION, GENERATED_COLUMN_VIOLATION or EXCEED_LIMIT_LENGTH for the first row
    that breaks a rule.
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
