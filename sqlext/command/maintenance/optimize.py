"""OPTIMIZE: compaction of a table or of a part of it on demand, also in the order of z-values, after the deletion of
rows that are expired."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import load_target
from sqlext.command.compaction.chosen_part import condition
from sqlext.command.compaction.compaction import Compacted, compact_table
from sqlext.command.compaction.data_file_rewrite import rewrite_data_files
from sqlext.command.compaction.rewrite_options import RewriteOptions
from sqlext.command.compaction.rewrite_order import z_order
from sqlext.command.environment import Environment
from sqlext.command.maintenance.expired_rows import delete_expired_rows
from sqlext.command.outcome import Outcome
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.errors import AnalysisError
from sqlext.properties import TARGET_FILE_SIZE_BYTES
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.sql.statements.maintenance_statement import Optimize
from sqlext.sql.statements.statement import TableName


def optimize(environment: Environment, spark: SparkSession, statement: Optimize) -> Outcome:
    """One row of `COMPACTED_COLUMNS`. Raises as `compact_table`, with ZORDER BY as `rewrite_data_files`."""
    where = None if statement.where is None else statement.where.text
    if statement.z_order:
        if where is None:
            delete_expired_rows(environment, spark, statement.table)
        return Outcome([_in_z_order(environment, spark, statement).row()])
    done = compact_on_demand(environment, spark, statement.table, full=statement.full, where=where)
    return Outcome([done.row()])


def compact_on_demand(
    environment: Environment,
    spark: SparkSession,
    name: TableName,
    branch: str = MAIN_BRANCH,
    *,
    full: bool = False,
    where: str | None = None,
) -> Compacted:
    """Deletes the rows of main that are expired, unless the condition `where` chooses others, then compacts as
    `compact_table`."""
    if where is None:
        if branch == MAIN_BRANCH:
            delete_expired_rows(environment, spark, name)
        return compact_table(environment, spark, name, branch, full=full)
    return compact_table(
        environment, spark, name, branch, full=full, chosen=lambda target: condition(spark, target, where)
    )


def _in_z_order(environment: Environment, spark: SparkSession, statement: Optimize) -> Compacted:
    """Rewrites files that are due by their size, with FULL all files."""

    def refused(reason: str) -> AnalysisError:
        return AnalysisError("Z_ORDER_REFUSED", name=statement.table, reason=reason)

    target = load_target(environment, spark, statement.table)
    metadata = target.table.metadata
    if bucket_count(metadata) is not None:
        raise refused("the table has buckets, whose files are sorted by the key")
    given = {"rewrite-all": "true"} if statement.full else {}
    size = TARGET_FILE_SIZE_BYTES.of(metadata.properties)
    options = RewriteOptions.of_data_files(given, metadata, size, "zorder", refused)
    by = z_order(statement.z_order, metadata, options.text_bytes, options.z_bytes, refused)
    if target.version.snapshot is None:
        return Compacted()
    chosen = condition(spark, target, None if statement.where is None else statement.where.text)
    done = rewrite_data_files(environment, spark, target, chosen, options, by)
    return Compacted(
        buckets=done.groups,
        replaced_files=done.replaced_files,
        added_files=done.added_files,
        replaced_bytes=done.replaced_bytes,
        given_up=done.failed_groups,
    )
