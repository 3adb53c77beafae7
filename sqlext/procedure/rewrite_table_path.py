"""rewrite_table_path: metadata of a table as of another place, and the list of the files to copy there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.maintenance.table_path import rewrite_table_path as rewrite
from sqlext.errors import UnsupportedError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.manifests.path_prefix import PathPrefix

_NO_LIST = "N/A"


def rewrite_table_path(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the newest version, the location of the list of files, and the numbers of rewritten manifests and delete
    files. Raises AnalysisError for an argument, and as `rewrite_table_path` of the command."""
    arguments = invocation.arguments
    source, target = arguments["source_prefix"], arguments["target_prefix"]
    for name in ("source_prefix", "target_prefix", "start_version", "end_version", "staging_location"):
        if arguments[name] is not None and not arguments[name].strip():
            raise REWRITE_TABLE_PATH.refused(f"{name} is empty")
    if source.rstrip("/") == target.rstrip("/"):
        raise REWRITE_TABLE_PATH.refused("source_prefix and target_prefix are equal")
    environment = invocation.environment
    if environment.catalogs.transaction is not None:
        raise UnsupportedError("NOT_IN_TRANSACTION", operation="Rewriting the locations of a table")
    done = rewrite(
        environment,
        invocation.catalog,
        invocation.load(arguments["table"]),
        PathPrefix(source, target),
        start_version=arguments["start_version"],
        end_version=arguments["end_version"],
        staging=arguments["staging_location"],
        file_list=arguments["create_file_list"] is not False,
    )
    return [(done.latest_version, done.file_list or _NO_LIST, done.manifests, done.delete_files)]


REWRITE_TABLE_PATH = Procedure(
    "rewrite_table_path",
    (
        Parameter("table", "string"),
        Parameter("source_prefix", "string"),
        Parameter("target_prefix", "string"),
        Parameter("start_version", "string", required=False),
        Parameter("end_version", "string", required=False),
        Parameter("staging_location", "string", required=False),
        Parameter("create_file_list", "boolean", required=False),
    ),
    (
        ("latest_version", "string"),
        ("file_list_location", "string"),
        ("rewritten_manifest_file_paths_count", "integer"),
        ("rewritten_delete_file_paths_count", "integer"),
    ),
    rewrite_table_path,
)
