"""health: what a table consists of, and what care would do now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.change.row_level import load_target
from sqlext.command.doctor.care_plan import health as measured
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.sql.statements.statement import TableName


def health(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """A row for each measure."""
    environment = invocation.environment
    name = TableName(invocation.table_parts(invocation.arguments["table"]))
    target = load_target(environment, invocation.spark, name)
    table, version = target.table, target.version
    manifests = environment.scans.manifests
    state = TableState(version.io, table.metadata, table.metadata_location, version.snapshot, manifests)
    found = measured(environment.catalogs.catalog(name.catalog), table, state, environment.clock())
    return [(one.name, one.value, one.bytes, one.about) for one in found]


HEALTH = Procedure(
    "health",
    (Parameter("table", "string"),),
    (("measure", "string"), ("value", "long"), ("bytes", "long"), ("about", "string")),
    health,
)
