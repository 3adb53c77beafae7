"""The database of a SQL catalog from the settings `uri` and `jdbc.*`, as in Iceberg's JDBC catalog or in PyIceberg."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from sqlext.catalog.catalog_options import LIBPQ_SETTINGS
from sqlext.catalog.sql.database import Database, PostgresDatabase, SqliteDatabase
from sqlext.errors import AnalysisError

_POSTGRESQL = ("postgresql", "postgres")
_SQLITE = "sqlite"
_ALLOWED = "jdbc:sqlite:/path/of/a/file or jdbc:postgresql://host:port/database"


def open_database(name: str, options: Mapping[str, str]) -> Database:
    """The database of the catalog `name`, without connecting yet.

    Raises AnalysisError CATALOG_OPTION_REQUIRED or CATALOG_OPTION_INVALID.
    """
    if "uri" not in options:
        raise AnalysisError("CATALOG_OPTION_REQUIRED", name=name, option="uri")
    uri = options["uri"].removeprefix("jdbc:")
    scheme = uri.partition(":")[0].partition("+")[0]
    if scheme == _SQLITE:
        return SqliteDatabase(name, sqlite_path(name, uri))
    if scheme in _POSTGRESQL:
        address, settings = _postgres_address(name, uri)
        shared = {key.removeprefix("jdbc."): value for key, value in options.items() if key.startswith("jdbc.")}
        settings.update({key: value for key, value in shared.items() if key in LIBPQ_SETTINGS})
        return PostgresDatabase(name, address, settings)
    raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option="uri", value=f"{scheme}:…", allowed=_ALLOWED)


def sqlite_path(name: str, uri: str) -> str:
    """The path of `sqlite:/a`, `sqlite:file:/a` or `sqlite:////a`; it may be relative to the working folder.

    Raises AnalysisError CATALOG_OPTION_INVALID for a database in memory.
    """
    rest = uri.partition(":")[2]
    if rest.startswith("///"):
        rest = rest[3:]
    path = unquote(rest.removeprefix("file:").partition("?")[0])
    if not path or ":memory:" in path or "mode=memory" in rest:
        allowed = "a file: a database in memory is gone with its connection"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option="uri", value=uri, allowed=allowed)
    return path


def _postgres_address(name: str, uri: str) -> tuple[str, dict[str, str]]:
    """The URI for libpq, and those of its settings that have other names in JDBC."""
    parts = urlsplit(uri)
    query = dict(parse_qsl(parts.query))
    if parts.password is not None or "password" in query:
        # Spark shows settings in its UI and event log, except those that are called a password.
        allowed = f"one without a password, and spark.sql.catalog.{name}.jdbc.password to that"
        hidden = f"{parts.scheme}://…"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option="uri", value=hidden, allowed=allowed)
    settings = {}
    if "currentSchema" in query:
        settings["options"] = f"-csearch_path={query.pop('currentSchema')}"
    return urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(query), "")), settings
