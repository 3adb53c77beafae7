"""convert_equality_deletes: replaces equality deletes by position deletes, which readers apply without a join.

They are deletion vectors in format version 3, position-delete files in version 2. One commit replaces them, and the
table's rows stay the same. Data files to which no converted delete applies are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from pyroaring import BitMap64
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_level import Target, commit_change, load_target
from sqlext.command.compaction.chosen_part import condition, require_branch
from sqlext.command.compaction.equality_delete_conversion import converted
from sqlext.command.environment import Environment
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spark.query.write_job import find_positions
from sqlext.spec.expression import AlwaysTrue
from sqlext.sql.statements.statement import TableName


def convert_equality_deletes(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the numbers of equality-delete files converted, of new delete files or vectors, and of equality-delete files
    dropped because they apply to no data file."""
    name = TableName(invocation.table_parts(invocation.arguments["table"]))
    return [run_with_reruns(invocation.environment, name.parts, lambda again: _converted(again, invocation, name))]


def _converted(environment: Environment, invocation: Invocation, name: TableName) -> tuple[int, int, int]:
    spark, arguments = invocation.spark, invocation.arguments
    target = load_target(environment, spark, name, arguments["branch"])
    require_branch(target.table.metadata, target.destination.branch, target.name)
    if target.version.snapshot is None:
        return 0, 0, 0
    chosen = condition(spark, target, arguments["where"])
    whole = environment.scans.plan(target.version, AlwaysTrue())
    use = environment.scans.applicable_equality_deletes(target.version, whole, chosen)
    if not use:
        return 0, 0, 0
    paths = None if arguments["where"] is None else use.data_files
    positions = _hit_rows(spark, target, paths) if use.live else {}
    conversion = converted(environment, target, whole, use, positions)
    commit_change(environment, target, conversion)
    return len(use.live), len(conversion.delete_files) + len(conversion.deleted_rows), len(use.dead)


def _hit_rows(spark: SparkSession, target: Target, paths: Set[str] | None) -> Mapping[str, BitMap64]:
    """Positions, by data file, of rows that only equality deletes delete; `paths` restricts the data files."""
    lowered = f"SELECT `_file`, `_pos`\nFROM {target.relation}\nWHERE `_deleted_by_key`"
    log_lowered(lowered)
    rows = lowered_query(spark, lowered)
    if paths is not None:
        rows = rows.where(F.col("_file").isin(sorted(paths)))
    return find_positions(rows).positions


CONVERT_EQUALITY_DELETES = Procedure(
    "convert_equality_deletes",
    (
        Parameter("table", "string"),
        Parameter("branch", "string", required=False),
        Parameter("where", "string", required=False),
    ),
    (
        ("converted_delete_files_count", "long"),
        ("added_delete_files_count", "long"),
        ("dropped_delete_files_count", "long"),
    ),
    convert_equality_deletes,
)
