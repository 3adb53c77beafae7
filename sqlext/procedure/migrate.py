"""migrate: a folder of data files at a table's place becomes the table, in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.catalog.identifier import TableIdentifier
from sqlext.procedure.added_files import threads
from sqlext.procedure.imported_table import import_table, require_absent
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.procedure.source_files import folder_files


def migrate(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: how many files the table has; they are its own from now on.

    The folder is a table from the moment its first metadata file is there, and until then it is what it was.
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
    """The file or folder of `folder` that the path is in: Spark must not look into `metadata`."""
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
