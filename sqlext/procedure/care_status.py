"""care_status: what this process does in the background for tables that look after themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.field_path import path_text
from sqlext.spec.iso_date_time import format_timestamp


def care_status(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: the tasks that wait or run, and the last that ended, of one table or of all of the catalog."""
    given = invocation.arguments["table"]
    tables = None if given is None else path_text(invocation.table_parts(given))
    return [
        (task.table, task.kind, task.state, _time(task.asked_ms), _time(task.begun_ms), _time(task.ended_ms), task.told)
        for task in invocation.environment.care.tasks()
        if task.table == tables or (tables is None and task.table.startswith(f"{path_text((invocation.catalog,))}."))
    ]


def _time(ms: int | None) -> str | None:
    return None if ms is None else f"{format_timestamp(ms, 1000)}+00:00"


CARE_STATUS = Procedure(
    "care_status",
    (Parameter("table", "string", required=False),),
    (
        ("table", "string"),
        ("task", "string"),
        ("state", "string"),
        ("asked_at", "string"),
        ("begun_at", "string"),
        ("ended_at", "string"),
        ("result", "string"),
    ),
    care_status,
)
