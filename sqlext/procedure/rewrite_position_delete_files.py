"""rewrite_position_delete_files: makes few position-delete files of many, and drops those that delete nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.change.row_level import load_target
from sqlext.command.compaction.chosen_part import condition
from sqlext.command.compaction.merged_position_deletes import (
    REWRITTEN_DELETES_COLUMNS,
    DeleteFilesRewritten,
    rewrite_position_deletes,
)
from sqlext.command.compaction.rewrite_options import RewriteOptions
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.sql.statements.statement import TableName

# The default of `write.delete.target-file-size-bytes` in Iceberg.
_TARGET_BYTES = 64 * 1024 * 1024


def rewrite(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """One row of REWRITTEN_DELETES_COLUMNS. Raises AnalysisError for arguments, otherwise as
    `rewrite_position_deletes`."""
    environment, spark, arguments = invocation.environment, invocation.spark, invocation.arguments
    target = load_target(environment, spark, TableName(invocation.table_parts(arguments["table"])))
    options = RewriteOptions.of_delete_files(
        arguments["options"] or {}, target.table.metadata, _TARGET_BYTES, REWRITE_POSITION_DELETE_FILES.refused
    )
    if target.version.snapshot is None:
        return [DeleteFilesRewritten().row()]
    chosen = condition(spark, target, arguments["where"])
    return [rewrite_position_deletes(environment, target, chosen, options).row()]


REWRITE_POSITION_DELETE_FILES = Procedure(
    "rewrite_position_delete_files",
    (
        Parameter("table", "string"),
        Parameter("options", "map<string, string>", required=False),
        Parameter("where", "string", required=False),
    ),
    REWRITTEN_DELETES_COLUMNS,
    rewrite,
)
