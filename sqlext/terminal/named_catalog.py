"""The catalog that a command line or the environment names, and the tables in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import typer

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_options import PLACE, require_known_values
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.catalog_uri import is_database, options_of_uri
from sqlext.catalog.identifier import Namespace, TableIdentifier, name_parts, quoted, version_in_name
from sqlext.catalog.sql.connection import sqlite_path
from sqlext.catalog.sql.stored_names import stored_catalog_names
from sqlext.catalog.static_table import load_static_table
from sqlext.errors import NotFoundError
from sqlext.spec.iso_date_time import NANOS_PER_SECOND, parse_timestamptz
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import configured_location, is_object, to_local_path
from sqlext.storage.scheme_io import SchemeIO, s3_settings

DEFAULT_NAME = "lake"
_INIT = "jdbc.init-catalog-tables"
_ONE_OF_BOTH = "beside an --option SQLEXT_OPTIONS is not read"


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table at a version: its `catalog` is None for one that is named by its place."""

    name: str
    catalog: Catalog | None
    table: LoadedTable
    snapshot: Snapshot | None
    io: FileIO

    @property
    def metadata(self) -> TableMetadata:
        return self.table.metadata


class NamedCatalog:
    """A catalog by its options, opened when it is asked."""

    def __init__(self, name: str | None, options: Mapping[str, str] | None) -> None:
        """`options` are those of `sqlext.configure` without `spark.sql.catalog.<name>.`; None: no catalog is named.
        `name` None: that of the one catalog that a database has, or `lake`."""
        self._name = name
        self._options = options

    @cached_property
    def name(self) -> str:
        """Raises as `open_database`, and typer.BadParameter if no database is there, or one has several catalogs."""
        if self._name is not None:
            return self._name
        return _name_in_database(self._options) if self._options and is_database(self._options) else DEFAULT_NAME

    @property
    def options(self) -> Mapping[str, str]:
        """Raises typer.BadParameter if no catalog is named."""
        if self._options is None:
            told = "name the catalog by --catalog or SQLEXT_CATALOG: a warehouse folder, a database or a REST server"
            raise typer.BadParameter(told, param_hint="--catalog")
        return self._options

    @cached_property
    def catalog(self) -> Catalog:
        """To look at: nothing is written, so that keys which only read do. Raises as `open_catalog`, and
        typer.BadParameter for a folder that is not there, or no warehouse."""
        options = dict(self.options)
        warehouse = options.get("warehouse", "")
        kind = options.get("type", "hadoop").lower()
        if is_database(options) and not warehouse:
            told = f"say where the tables of the database are: --option warehouse=FOLDER; {_ONE_OF_BOTH}"
            raise typer.BadParameter(told, param_hint="--option")
        if kind != "rest" and not is_database(options) and warehouse and not is_object(warehouse):
            _require_warehouse(to_local_path(configured_location(warehouse)))
        return open_catalog(self.name, options, writes=False)

    @property
    def others(self) -> Sequence[str]:
        """The names of other catalogs in the same database; none where catalogs have no name."""
        names = stored_catalog_names(self.options) if is_database(self.options) else ()
        return [one for one in names if one != self.name]

    def identifier(self, text: str) -> TableIdentifier:
        """The name of a table, as in SQL, with or without the catalog's. Raises AnalysisError INVALID_NAME."""
        parts = name_parts(text, least=2)
        if parts[0] == self.name and len(parts) > 2 and not self.catalog.namespace_exists((self.name,)):
            parts = parts[1:]
        return TableIdentifier(parts[:-1], parts[-1])

    def namespace(self, text: str | None) -> Namespace:
        """The namespace of a dotted name, with or without the catalog's name before it; the root for None."""
        parts = () if text is None else name_parts(text)
        return parts[1:] if parts[:1] == (self.name,) and not self.catalog.namespace_exists(parts) else parts

    def table(self, text: str, version: str | None = None, at: str | None = None) -> NamedTable:
        """The table `text`: a name in the catalog, or its folder or one of its metadata files.

        `version` is a snapshot's id, a branch or a tag, `at` a time as ISO 8601, in UTC without an offset; without both
        it is the version that the name ends in, as in `db.orders.branch_audit`, or else the head of main. Raises
        NotFoundError, and errors of the catalog.
        """
        if is_place(text):
            options = self._options or {}
            require_known_values(self._name or DEFAULT_NAME, PLACE, options)
            io = SchemeIO(s3_settings(options))
            table = load_static_table(text, io)
            return NamedTable(text, None, table, _snapshot(text, table.metadata, version, at), io)
        identifier, table, named = self._located(self.identifier(text))
        name = quoted(self.name, *identifier.namespace, identifier.name)
        if named is None:
            snapshot = _snapshot(name, table.metadata, version, at)
        elif version is not None or at is not None:
            raise typer.BadParameter(f"{text} names a version of {name} already", param_hint="--version, --at")
        else:
            snapshot = _named_snapshot(name, table.metadata, *named)
        return NamedTable(name, self.catalog, table, snapshot, self.catalog.io)

    def _located(self, identifier: TableIdentifier) -> tuple[TableIdentifier, LoadedTable, tuple[str, str] | None]:
        """The table, and the version that its name ends in; a table with the full name has precedence, as in SQL."""
        try:
            return identifier, self.catalog.load_table(identifier), None
        except NotFoundError:
            named = version_in_name(identifier.name) if len(identifier.namespace) > 1 else None
            if named is None:
                raise
        of = TableIdentifier(identifier.namespace[:-1], identifier.namespace[-1])
        return of, self.catalog.load_table(of), named


def named_catalog(text: str | None, given: Iterable[str], name: str | None) -> NamedCatalog:
    """The catalog of `--catalog`, `--option key=value` and `--name`.

    `text` is a folder, an s3:// location, the URI of a database or of a REST server; the options decide where they say
    more. Raises typer.BadParameter for an option without a value, or an unclear catalog.
    """
    options = dict(_option(one) for one in given)
    if text is not None:
        options = {**(options_of_uri(text) or {"type": "hadoop", "warehouse": text}), **options}
    if is_database(options):
        # A look at a database makes no tables in it.
        options.setdefault(_INIT, "false")
    return NamedCatalog(name, options or None)


def is_place(text: str) -> bool:
    """Whether a table is named by its folder or metadata file."""
    return "/" in text or text.endswith((".metadata.json", ".metadata.json.gz")) or text in (".", "..")


def snapshot_of(name: str, metadata: TableMetadata, text: str) -> Snapshot:
    """The snapshot of an id, branch or tag. Raises NotFoundError SNAPSHOT_NOT_FOUND."""
    if text in metadata.refs:
        return metadata.snapshot(metadata.refs[text].snapshot_id)
    found = metadata.snapshot_or_none(int(text)) if text.isascii() and text.isdecimal() else None
    if found is None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=text, name=name)
    return found


def _snapshot(name: str, metadata: TableMetadata, version: str | None, at: str | None) -> Snapshot | None:
    if version is not None and at is not None:
        raise typer.BadParameter("a version is chosen by --version or by --at, not by both", param_hint="--at")
    if version is not None:
        return snapshot_of(name, metadata, version)
    return metadata.current_snapshot() if at is None else _snapshot_as_of(name, metadata, _milliseconds(at))


def _named_snapshot(name: str, metadata: TableMetadata, kind: str, value: str) -> Snapshot:
    if kind == "at_timestamp":
        return _snapshot_as_of(name, metadata, int(value))
    if kind == "snapshot_id":
        return snapshot_of(name, metadata, value)
    reference = metadata.refs.get(value)
    if reference is None or reference.type != kind:
        raise NotFoundError("REFERENCE_NOT_FOUND", type=kind, ref=value, name=name)
    return metadata.snapshot(reference.snapshot_id)


def _snapshot_as_of(name: str, metadata: TableMetadata, milliseconds: int) -> Snapshot:
    try:
        return metadata.snapshot_as_of(milliseconds)
    except NotFoundError as missing:
        # The metadata knows the table by its location alone.
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=missing.parameters["snapshot"], name=name) from None


def _milliseconds(text: str) -> int:
    written = text.strip().replace(" ", "T", 1)
    if "T" not in written:
        written += "T00:00"
    try:
        # By datetime it would depend on the version of Python which texts are times.
        offset = "" if re.search(r"(?:Z|[+-]\d\d:\d\d)$", written) else "Z"
        return parse_timestamptz(written + offset, NANOS_PER_SECOND) // 1_000_000
    except ValueError:
        told = f"{text} is no time: write it as 2026-01-31T12:00:00, in UTC, or with an offset"
        raise typer.BadParameter(told, param_hint="--at") from None


def _option(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise typer.BadParameter(f"{text} is not of the form key=value", param_hint="--option")
    return key.strip(), value


def _require_there(path: str) -> None:
    if not Path(path).exists():
        raise typer.BadParameter(f"there is no {path}", param_hint="--catalog")


def _require_warehouse(path: str) -> None:
    """A file, or the folder of a table, would be a catalog without tables."""
    _require_there(path)
    if not Path(path).is_dir():
        raise typer.BadParameter(f"{path} is no folder", param_hint="--catalog")
    if any(Path(path, "metadata").glob("*.metadata.json*")):
        told = f"{path} is the folder of a table: name it where a table is named, or a folder above it here"
        raise typer.BadParameter(told, param_hint="--catalog")


def _name_in_database(options: Mapping[str, str]) -> str:
    """The name that the database has its one catalog under, by which Spark calls it."""
    uri = options.get("uri", "").removeprefix("jdbc:")
    if uri.startswith("sqlite:"):
        _require_there(sqlite_path(DEFAULT_NAME, uri))
    names = stored_catalog_names(options)
    if len(names) > 1:
        told = f"the database has the catalogs {', '.join(names)}: choose one by --name"
        raise typer.BadParameter(told, param_hint="--name")
    return names[0] if names else DEFAULT_NAME
