"""compact merges the files of a table; rescale divides its rows into another number of buckets.

compact is the dedicated job for a table with `'write-only'='true'`, as in Paimon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.compaction.chosen_part import require_branch
from sqlext.command.compaction.compaction import COMPACTED_COLUMNS, compact_table
from sqlext.command.maintenance.optimize import compact_on_demand
from sqlext.commit.actions.bucket_change import ChangeBuckets
from sqlext.commit.rules.bucket_layout import DYNAMIC, bucket_count
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.sql.statements.statement import TableName


def compact(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """One row; `failed_buckets_count` is the number of buckets given up because of conflicts with other writers.

    Before, rows of main that are expired by the table's properties are deleted, unless `where` chooses others.
    """
    arguments, spark = invocation.arguments, invocation.spark
    name = TableName(invocation.table_parts(arguments["table"]))
    branch, where = arguments["branch"] or MAIN_BRANCH, arguments["where"]
    require_branch(invocation.load(arguments["table"]).metadata, branch, name)
    full = bool(arguments["full"])
    done = compact_on_demand(invocation.environment, spark, name, branch, full=full, where=where)
    return [done.row()]


def rescale(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """One row, about the compaction that moves all rows of main. After an interrupt, call it or a full `compact`."""
    arguments, environment = invocation.arguments, invocation.environment
    name = TableName(invocation.table_parts(arguments["table"]))
    table, count = invocation.load(arguments["table"]), arguments["bucket_num"]
    if count == 0 or count < DYNAMIC:
        raise RESCALE.refused(f"bucket_num is {count}, and no number of buckets, or -1")
    dynamic = count == DYNAMIC
    wanted = (bucket_count(table.metadata) or 1) if dynamic else count
    environment.commit(name.catalog, table, ChangeBuckets(wanted, arguments["bucket_key"], dynamic))
    return [compact_table(environment, invocation.spark, name, full=True).row()]


COMPACT = Procedure(
    "compact",
    (
        Parameter("table", "string"),
        Parameter("where", "string", required=False),
        Parameter("full", "boolean", required=False),
        Parameter("branch", "string", required=False),
    ),
    COMPACTED_COLUMNS,
    compact,
)
RESCALE = Procedure(
    "rescale",
    (
        Parameter("table", "string"),
        Parameter("bucket_num", "integer"),
        Parameter("bucket_key", "string", required=False),
    ),
    COMPACTED_COLUMNS,
    rescale,
)
