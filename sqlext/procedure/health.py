"""health: what a table consists of, and what care would do now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.change.row_level import load_target
from sqlext.command.doctor.care_plan import health as measured
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.procedure.target_state import state_of
from sqlext.sql.statements.statement import TableName


def health(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """A row for each measure."""
    environment = invocation.environment
    name = TableName(invocation.table_parts(invocation.arguments["table"]))
    target = load_target(environment, invocation.spark, name)
    catalog, state = environment.catalogs.catalog(name.catalog), state_of(environment, target)
    found = measured(catalog, target.table, state, environment.clock())
    return [(one.name, one.value, one.bytes, one.about) for one in found]


HEALTH = Procedure(
    "health",
    (Parameter("table", "string"),),
    (("measure", "string"), ("value", "long"), ("bytes", "long"), ("about", "string")),
    health,
)
