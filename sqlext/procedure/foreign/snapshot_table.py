"""snapshot: a table over the files of a folder or of a Spark table, which keeps the ownership of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.errors import AnalysisError
from sqlext.procedure.foreign.added_files import threads
from sqlext.procedure.foreign.imported_table import import_table, require_absent
from sqlext.procedure.foreign.source_files import Source, source_files
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.properties import GC_ENABLED
from sqlext.storage.location import same_place


def snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the number of files. The table may be written; with `gc.enabled` false it never deletes the source's files.

    Raises AlreadyExistsError, AnalysisError INVALID_SOURCE_TABLE, UnsupportedError FILE_NOT_ADDED.
    """
    arguments = invocation.arguments
    parts = invocation.table_parts(arguments["table"])
    require_absent(invocation, parts)
    catalog = invocation.environment.catalogs.catalog(parts[0])
    source = source_files(invocation.spark, catalog.io, arguments["source_table"])
    location = catalog.default_table_location(TableIdentifier(parts[1:-1], parts[-1]))
    if _overlap(same_place(source.location), same_place(location)):
        reason = f"the new table's folder {location} and it would mix their files"
        raise AnalysisError("INVALID_SOURCE_TABLE", source=source.text, reason=reason)
    properties = {**(arguments["properties"] or {}), GC_ENABLED.name: "false", "snapshot": "true"}
    location = arguments["location"] or location
    rows = _rows(invocation.spark, source)
    return [(import_table(invocation, parts, source, rows, location, properties, threads(SNAPSHOT, arguments)),)]


def _rows(spark: SparkSession, source: Source) -> DataFrame:
    if source.relation is not None:
        return spark.table(source.relation)
    return spark.read.format(source.files[0].file_format.lower()).load(source.location)


def _overlap(one: str, other: str) -> bool:
    shorter, longer = sorted((f"{one}/", f"{other}/"), key=len)
    return longer.startswith(shorter)


SNAPSHOT = Procedure(
    "snapshot",
    (
        Parameter("source_table", "string"),
        Parameter("table", "string"),
        Parameter("location", "string", required=False),
        Parameter("properties", "map<string, string>", required=False),
        Parameter("parallelism", "int", required=False),
    ),
    (("imported_files_count", "long"),),
    snapshot,
)
