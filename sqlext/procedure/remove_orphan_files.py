"""remove_orphan_files: finds files that no version of a table needs, and removes them if told so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, TimestampNTZType, TimestampType

from sqlext.command.maintenance.orphan_files import (
    DEFAULT_AGE_MS,
    LEAST_AGE_MS,
    OrphanSearch,
    PrefixMismatch,
    orphan_files,
)
from sqlext.command.maintenance.orphan_files import remove_orphan_files as remove
from sqlext.errors import AnalysisError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spark.query.instant import milliseconds
from sqlext.storage.file_io import FileStatus
from sqlext.storage.in_threads import in_threads


def remove_orphan_files(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: the locations of orphan files, or without a dry run of those that were removed. Raises as `orphan_files`,
    and AnalysisError ORPHANS_TOO_YOUNG.

    `prefix_listing` and `stream_results` decide in Iceberg how files are listed, and nothing here.
    """
    arguments, environment = invocation.arguments, invocation.environment
    threads = REMOVE_ORPHAN_FILES.at_least_one(arguments, "max_concurrent_deletes")
    each = partial(in_threads, threads=threads) if threads else None
    table = invocation.load(arguments["table"])
    is_dry_run = arguments["dry_run"] is not False
    search = OrphanSearch(
        older_than_ms=_older_than_ms(invocation, is_dry_run),
        location=arguments["location"],
        files=_files(invocation.spark, arguments["file_list_view"]),
        equal_schemes=arguments["equal_schemes"] or {},
        equal_authorities=arguments["equal_authorities"] or {},
        prefix_mismatch=_prefix_mismatch(arguments["prefix_mismatch_mode"]),
    )
    if is_dry_run:
        found = orphan_files(environment, invocation.catalog, table, search)
    else:
        found = remove(environment, invocation.catalog, table, search, each)
    return [(path,) for path in found]


def _older_than_ms(invocation: Invocation, is_dry_run: bool) -> int:
    now_ms, given = invocation.environment.clock(), invocation.arguments["older_than"]
    if given is None:
        return now_ms - DEFAULT_AGE_MS
    older_than_ms = int(given)
    if older_than_ms > now_ms - LEAST_AGE_MS and not (is_dry_run or invocation.arguments["force"]):
        raise AnalysisError("ORPHANS_TOO_YOUNG", name=invocation.arguments["table"])
    return older_than_ms


def _prefix_mismatch(mode: str | None) -> PrefixMismatch:
    try:
        return PrefixMismatch[(mode or PrefixMismatch.ERROR.value).upper()]
    except KeyError:
        known = ", ".join(one.value for one in PrefixMismatch)
        raise REMOVE_ORPHAN_FILES.refused(f"prefix_mismatch_mode is {mode}, and none of {known}") from None


def _files(spark: SparkSession, view: str | None) -> Sequence[FileStatus] | None:
    """The files in a view with the columns `file_path` and `last_modified`; rows with a null are left out."""
    if view is None:
        return None
    rows = spark.table(view)
    types = {field.name: field.dataType for field in rows.schema.fields}
    if not isinstance(types.get("file_path"), StringType):
        raise REMOVE_ORPHAN_FILES.refused(f"{view} has no column file_path of type STRING")
    if not isinstance(types.get("last_modified"), TimestampType | TimestampNTZType):
        raise REMOVE_ORPHAN_FILES.refused(f"{view} has no column last_modified of type TIMESTAMP")
    listed = rows.selectExpr("file_path", milliseconds("last_modified")).dropna().collect()
    return [FileStatus(path, 0, modified_ms) for path, modified_ms in listed]


REMOVE_ORPHAN_FILES = Procedure(
    "remove_orphan_files",
    (
        Parameter("table", "string"),
        Parameter("older_than", "timestamp", required=False),
        Parameter("location", "string", required=False),
        Parameter("dry_run", "boolean", required=False),
        Parameter("max_concurrent_deletes", "integer", required=False),
        Parameter("file_list_view", "string", required=False),
        Parameter("equal_schemes", "map<string, string>", required=False),
        Parameter("equal_authorities", "map<string, string>", required=False),
        Parameter("prefix_mismatch_mode", "string", required=False),
        Parameter("prefix_listing", "boolean", required=False),
        Parameter("stream_results", "boolean", required=False),
        Parameter("force", "boolean", required=False),
    ),
    (("orphan_file_location", "string"),),
    remove_orphan_files,
)
