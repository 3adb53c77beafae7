"""The destination of a statement's snapshot: the branch that it names, or what the session sets (write-audit-publish).

On a table with `write.wap.enabled`, `spark.wap.branch` is the branch of every write, created at need, and
`spark.wap.id` stages every snapshot under this id.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.commit.action import MAIN, Destination
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import WAP_ENABLED
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.statements.statement import TableName

WAP_BRANCH = "spark.wap.branch"
WAP_ID = "spark.wap.id"


def written_table(handle: TableHandle) -> TableName:
    """The name of the table, and of its branch if any, that a plan writes to.

    Raises UnsupportedError for a table read by path, AnalysisError for a tag, a snapshot or a metadata table.
    """
    if handle.catalog is None:
        raise UnsupportedError("PATH_TABLE_READ_ONLY", name=handle.full_name)
    if handle.snapshot_id is not None or handle.metadata_table is not None or handle.read_optimized:
        raise AnalysisError("PLACE_READ_ONLY", name=handle.full_name)
    branch = () if handle.branch is None else (f"branch_{handle.branch}",)
    return TableName((handle.catalog, *handle.namespace, handle.name, *branch))


def destination(spark: SparkSession, metadata: TableMetadata, branch: str | None, table_name: str) -> Destination:
    """The destination of a write; `branch` is the one that the statement names and overrides `spark.wap.branch`.

    Raises AnalysisError if both `spark.wap.branch` and `spark.wap.id` are set.
    """
    named = MAIN if branch is None else Destination(branch)
    if not WAP_ENABLED.of(metadata.properties):
        return named
    wap_branch, wap_id = spark.conf.get(WAP_BRANCH, None), spark.conf.get(WAP_ID, None)
    if wap_branch and wap_id:
        one, other = f"{WAP_BRANCH} = {wap_branch}", f"{WAP_ID} = {wap_id}"
        raise AnalysisError("TWO_DESTINATIONS", name=table_name, one=one, other=other)
    if wap_branch and branch is None:
        return Destination(wap_branch)
    return Destination(named.branch, wap_id or None)


def written_branch(in_name: str | None, in_options: str | None, table_name: str) -> str | None:
    """The branch that a statement names, in the table's name or in an option. Raises AnalysisError if they differ."""
    if in_name is not None and in_options is not None and in_name != in_options:
        one, other = f"the branch {in_name} in its name", f"the option branch = {in_options}"
        raise AnalysisError("TWO_DESTINATIONS", name=table_name, one=one, other=other)
    return in_name or in_options
