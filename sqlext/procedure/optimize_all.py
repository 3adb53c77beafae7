"""optimize_all: care for all tables of a catalog within a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.maintenance.catalog_care import care_for_all
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spark.query.cached_tables import renew_caches


def optimize_all(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """A row for each task that is due, the first one first. Raises AnalysisError for a budget below 1."""
    arguments = invocation.arguments
    seconds = OPTIMIZE_ALL.at_least_one(arguments, "budget_seconds")
    jobs = care_for_all(
        invocation.environment,
        invocation.spark,
        invocation.catalog,
        None if seconds is None else seconds * 1000,
        only_plan=bool(arguments["plan_only"]),
    )
    for job in jobs:
        if job.state == "done":
            renew_caches(invocation.spark, (invocation.catalog, *job.table.namespace, job.table.name))
    return [
        (str(job.table), job.task, job.state, job.saved_files, _ms(job.estimated_s), _ms(job.took_s), job.result)
        for job in jobs
    ]


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


OPTIMIZE_ALL = Procedure(
    "optimize_all",
    (Parameter("budget_seconds", "integer", required=False), Parameter("plan_only", "boolean", required=False)),
    (
        ("table", "string"),
        ("task", "string"),
        ("state", "string"),
        ("saved_files", "long"),
        ("estimated_ms", "long"),
        ("took_ms", "long"),
        ("result", "string"),
    ),
    optimize_all,
)
