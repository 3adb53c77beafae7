"""migrate: makes a folder of data files at a table's default location the table, in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.catalog.identifier import TableIdentifier
from sqlext.procedure.foreign.added_files import threads
from sqlext.procedure.foreign.imported_table import import_table, require_absent
from sqlext.procedure.foreign.source_files import folder_files
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def migrate(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the number of files, which the table owns from then on.

    The folder becomes a table with its first metadata file; until then it is unchanged. Raises AlreadyExistsError,
    AnalysisError INVALID_SOURCE_TABLE, UnsupportedError FILE_NOT_ADDED.
    """
    arguments = invocation.arguments
    parts = invocation.table_parts(arguments["table"])
    require_absent(invocation, parts)
    catalog = invocation.environment.catalogs.catalog(parts[0])
    location = catalog.default_table_location(TableIdentifier(parts[1:-1], parts[-1]))
    source = folder_files(catalog.io, location)
    reader = invocation.spark.read.format(source.files[0].file_format.lower()).option("basePath", location)
    rows = reader.load(sorted({_entry(file.location, location) for file in source.files}))
    properties = {**(arguments["properties"] or {}), "migrated": "true"}
    return [(import_table(invocation, parts, source, rows, location, properties, threads(MIGRATE, arguments)),)]


def _entry(path: str, folder: str) -> str:
    """The entry of `folder` that the path is in. Spark reads the entries, without `metadata`."""
    return f"{folder}/{path.removeprefix(folder + '/').partition('/')[0]}"


MIGRATE = Procedure(
    "migrate",
    (
        Parameter("table", "string"),
        Parameter("properties", "map<string, string>", required=False),
        Parameter("parallelism", "int", required=False),
    ),
    (("migrated_files_count", "long"),),
    migrate,
)
