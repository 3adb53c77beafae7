"""describe_table: all that is known of a table, as one JSON document, which any client can show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import quoted
from sqlext.command.change.row_level import load_target
from sqlext.command.environment import Environment
from sqlext.description.described_table import COMMITS, describe_table
from sqlext.description.table_facts import Description
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.sql.statements.statement import TableName


def describe(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """One row. `commits` is the most snapshots that are told, the newest first; 0 for all."""
    environment, asked = invocation.environment, invocation.arguments["commits"]
    if asked is not None and asked < 0:
        raise DESCRIBE_TABLE.refused(f"commits is {asked}, and must be at least 0")
    name = TableName(invocation.table_parts(invocation.arguments["table"]))
    return [(json.dumps(described(environment, invocation.spark, name, asked).to_json()),)]


def described(environment: Environment, spark: SparkSession, name: TableName, commits: int | None) -> Description:
    """The facts of a table, or of a branch, with its newest `commits` snapshots; 0 for all."""
    target = load_target(environment, spark, name)
    table, version = target.table, target.version
    state = TableState(
        version.io, table.metadata, table.metadata_location, version.snapshot, environment.scans.manifests
    )
    catalog = environment.catalogs.catalog(name.catalog)
    most = len(table.metadata.snapshots) if commits == 0 else COMMITS if commits is None else commits
    return describe_table(quoted(*name.parts), catalog, table, state, environment.clock(), most)


DESCRIBE_TABLE = Procedure(
    "describe_table",
    (Parameter("table", "string"), Parameter("commits", "integer", required=False)),
    (("description", "string"),),
    describe,
)
