"""Catalogs and tables, opened without Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_options import PLACE, require_known_values
from sqlext.catalog.catalog_uri import is_database, options_of_uri
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import MetadataFolder
from sqlext.catalog.sql.stored_names import stored_catalog_names
from sqlext.catalog.static_table import load_static_table
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.local.given_rows import names_of
from sqlext.local.local_creation import create_by_text, create_of_columns
from sqlext.local.local_table import LocalTable
from sqlext.local.sessionless import environment_of
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spec.field_path import path_text
from sqlext.sql.tokens.token_cursor import TokenCursor
from sqlext.storage.location import configured_location, is_object
from sqlext.storage.scheme_io import SchemeIO, s3_settings

_DEFAULT_NAME = "local"


@dataclass(frozen=True)
class LocalCatalog:
    """A catalog, whose tables are read and written by this process. Names with dots or blanks stand in backticks.

    >>> import sqlext.local
    >>> lake = sqlext.local.open(folder)
    >>> lake.create_namespace("sales")
    >>> t = lake.create_table("sales.t", pa.schema([pa.field("id", pa.int64(), nullable=False)]), primary_key=["id"])
    >>> lake.tables("sales")
    ['sales.t']
    """

    name: str
    _environment: Environment = field(repr=False)

    def table(self, name: str) -> LocalTable:
        """The table of that name, which may end in a branch: `db.t.branch_audit`. Raises NotFoundError."""
        parts = self._parts(name)
        self._environment.catalogs.locate(parts)
        return LocalTable(self._environment, parts)

    def tables(self, namespace: str) -> list[str]:
        """The names of the tables in the namespace. Raises NotFoundError."""
        return [str(one) for one in self._catalog.list_tables(self._parts(namespace)[1:])]

    def namespaces(self, parent: str | None = None) -> list[str]:
        """The names of the namespaces in `parent`, by default of the outermost ones. Raises NotFoundError."""
        within = () if parent is None else self._parts(parent)[1:]
        return [path_text(one) for one in self._catalog.list_namespaces(within)]

    def create_namespace(self, name: str) -> None:
        """Creates a namespace, unless it is there."""
        parts = self._parts(name)[1:]
        if not self._catalog.namespace_exists(parts):
            self._catalog.create_namespace(parts, {})

    def create_table(
        self,
        table: str,
        schema: pa.Schema | None = None,
        *,
        primary_key: Sequence[str] = (),
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> LocalTable:
        """Creates a table: by the text of a CREATE TABLE, or by its name and the columns of `schema`.

        `partitioned_by` are terms of SQL, such as `region` or `days(ts)`. The columns of `primary_key` become required.
        Raises AlreadyExistsError, NotFoundError for a namespace that does not exist, AnalysisError LOCAL_ROWS_REFUSED
        for arguments that belong to the other form, and UnsupportedError LOCAL_NEEDS_SPARK.
        """
        if schema is not None:
            name, given = self._parts(table)[1:], properties or {}
            key, terms = names_of(primary_key), names_of(partitioned_by)
            parts = create_of_columns(self._environment, self.name, name, schema, key, terms, given)
            return LocalTable(self._environment, parts)
        if primary_key or partitioned_by or properties:
            reason = "the text of CREATE TABLE says itself what the arguments beside it say"
            raise AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason=reason)
        return LocalTable(self._environment, create_by_text(self._environment, self.name, table))

    def drop_table(self, name: str, *, purge: bool = False) -> None:
        """Removes the table from the catalog, and with `purge` its files too. Raises NotFoundError."""
        parts = self._parts(name)
        if not self._catalog.drop_table(TableIdentifier(parts[1:-1], parts[-1]), purge):
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=name)

    @property
    def _catalog(self) -> Catalog:
        return self._environment.catalogs.catalog(self.name)

    def _parts(self, name: str) -> tuple[str, ...]:
        """The catalog's name and the parts of `name`. Raises ParseError."""
        cursor = TokenCursor(name)
        parts = cursor.dotted_name()
        cursor.expect_end()
        return (self.name, *parts)


def opened_by(place: LocalCatalog | LocalTable) -> OpenCatalogs:
    """What holds the catalog, or the one of the table."""
    return place._environment.catalogs.opened


def open(
    source: str | os.PathLike[str] | Mapping[str, str],
    options: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
) -> LocalCatalog | LocalTable:
    """A catalog, or the table in a folder.

    `source` is a folder, local or `s3://…`, that holds a table or is to hold namespaces with tables; the URI of a
    database (`sqlite:…`, `postgresql://…`) or of a REST server (`https://…`); or the options of a catalog, under the
    names that they have after `spark.sql.catalog.<name>.` in Spark. `options` are further ones, such as `warehouse` or
    `s3.endpoint`. `name` is the catalog's own, by which a database tells the tables of several apart: without it the
    one that the database has, else `local`.

    A table in a folder that no catalog of folders wrote can be read, and is written through its own catalog.

    Raises AnalysisError CATALOG_OPTION_REQUIRED, CATALOG_OPTION_INVALID (also for a database of several catalogs
    without `name`) or CATALOG_OPTION_REFUSED, and StorageError.

    >>> import sqlext.local
    >>> sqlext.local.open("./warehouse_of_nobody")
    LocalCatalog(name='local')
    """
    given = dict(options or {})
    if isinstance(source, Mapping):
        return _of_options({**source, **given}, name)
    text = os.fspath(source)
    told = options_of_uri(text)
    if told is not None:
        return _of_options({**told, **given}, name)
    if not text.strip():
        raise AnalysisError("CATALOG_OPTION_REQUIRED", name=name or _DEFAULT_NAME, option="warehouse")
    where = text if is_object(text) or "://" in text or text.startswith("file:") else str(Path(text).absolute())
    where = where.rstrip("/")
    return _of_folder(where, given, name or _DEFAULT_NAME)


def _of_options(options: dict[str, str], name: str | None) -> LocalCatalog:
    chosen = name or _name_in_database(options) or _DEFAULT_NAME
    return LocalCatalog(chosen, environment_of(chosen, options))


def _name_in_database(options: Mapping[str, str]) -> str | None:
    if not is_database(options):
        return None
    names = stored_catalog_names(options)
    if len(names) > 1:
        told = f"one of {', '.join(names)}, which the database has"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=_DEFAULT_NAME, option="name", value="None", allowed=told)
    return names[0] if names else None


def _of_folder(where: str, options: dict[str, str], name: str) -> LocalCatalog | LocalTable:
    require_known_values(name, PLACE, options)
    io = SchemeIO(s3_settings(options))
    location = configured_location(where)
    if MetadataFolder(io, location).current() is not None:
        above, _, table = where.rpartition("/")
        warehouse, _, namespace = above.rpartition("/")
        environment = environment_of(name, {"warehouse": warehouse, **options})
        return LocalTable(environment, (name, namespace, table))
    environment = environment_of(name, {"warehouse": where, **options})
    try:
        found = load_static_table(where, io)
    except NotFoundError:
        return LocalCatalog(name, environment)
    return LocalTable(environment, (name, *found.identifier.namespace, found.identifier.name), found)
