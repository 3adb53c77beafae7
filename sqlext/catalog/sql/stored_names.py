"""The names of the catalogs in a database: it may hold several, each with tables of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlext.catalog.sql.connection import open_database, sqlite_path

# In messages, where a catalog has this name that is given none.
_CATALOG = "lake"


def stored_catalog_names(options: Mapping[str, str]) -> list[str]:
    """The names, sorted, under which the database of a catalog's `options` has tables or namespaces; none of a SQLite
    file that is not there, and none is made.

    Raises as `open_database`.
    """
    uri = options.get("uri", "").removeprefix("jdbc:")
    if uri.startswith("sqlite:") and not Path(sqlite_path(_CATALOG, uri)).exists():
        return []
    database = open_database(_CATALOG, options)
    if not database.columns("iceberg_tables"):
        return []
    queries = ["SELECT DISTINCT catalog_name FROM iceberg_tables"]
    if database.columns("iceberg_namespace_properties"):
        queries.append("SELECT DISTINCT catalog_name FROM iceberg_namespace_properties")
    return sorted({str(row[0]) for query in queries for row in database.rows(query)})
