"""expire_snapshots: removes old snapshots, branches and tags, and the files that only they needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlext.command.maintenance.expiry import expire_snapshots as expire
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.manifests.content_file import Content
from sqlext.storage.in_threads import in_threads


def expire_snapshots(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the numbers of deleted files. Raises as `expire`.

    `stream_results` decides in Iceberg where the locations of files are kept, and nothing here.
    """
    arguments = invocation.arguments
    action = ExpireSnapshots(
        older_than_ms=arguments["older_than"],
        retain_last=EXPIRE_SNAPSHOTS.at_least_one(arguments, "retain_last"),
        snapshot_ids=frozenset(arguments["snapshot_ids"] or ()),
        clean_definitions=bool(arguments["clean_expired_metadata"]),
    )
    threads = EXPIRE_SNAPSHOTS.at_least_one(arguments, "max_concurrent_deletes")
    each = partial(in_threads, threads=threads) if threads else None
    table = invocation.load(arguments["table"])
    files = expire(invocation.environment, invocation.catalog, table, action, each)
    of_kinds = (files.content_files(kind) for kind in Content)
    return [(*of_kinds, files.manifests, files.manifest_lists, files.statistics_files)]


EXPIRE_SNAPSHOTS = Procedure(
    "expire_snapshots",
    (
        Parameter("table", "string"),
        Parameter("older_than", "timestamp", required=False),
        Parameter("retain_last", "integer", required=False),
        Parameter("max_concurrent_deletes", "integer", required=False),
        Parameter("stream_results", "boolean", required=False),
        Parameter("snapshot_ids", "array<bigint>", required=False),
        Parameter("clean_expired_metadata", "boolean", required=False),
    ),
    (
        ("deleted_data_files_count", "long"),
        ("deleted_position_delete_files_count", "long"),
        ("deleted_equality_delete_files_count", "long"),
        ("deleted_manifest_files_count", "long"),
        ("deleted_manifest_lists_count", "long"),
        ("deleted_statistics_files_count", "long"),
    ),
    expire_snapshots,
)
