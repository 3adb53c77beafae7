"""describe_table: all that is known of a table, as one JSON document, which any client can show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlext.catalog.identifier import quoted
from sqlext.command.change.row_level import load_target
from sqlext.description.described_table import COMMITS, describe_table
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.procedure.target_state import state_of
from sqlext.sql.statements.statement import TableName


def describe(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """One row. `commits` is the most snapshots that are told, the newest first; 0 for all."""
    environment, asked = invocation.environment, invocation.arguments["commits"]
    if asked is not None and asked < 0:
        raise DESCRIBE_TABLE.refused(f"commits is {asked}, and must be at least 0")
    name = TableName(invocation.table_parts(invocation.arguments["table"]))
    target = load_target(environment, invocation.spark, name)
    table, state = target.table, state_of(environment, target)
    catalog = environment.catalogs.catalog(name.catalog)
    most = len(table.metadata.snapshots) if asked == 0 else COMMITS if asked is None else asked
    described = describe_table(quoted(*name.parts), catalog, table, state, environment.clock(), most)
    return [(json.dumps(described.to_json()),)]


DESCRIBE_TABLE = Procedure(
    "describe_table",
    (Parameter("table", "string"), Parameter("commits", "integer", required=False)),
    (("description", "string"),),
    describe,
)
