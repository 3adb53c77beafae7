"""Opens the catalog that the settings `spark.sql.catalog.<name>.*` describe, under Iceberg's names for them."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_options import (
    CARE,
    CARE_FOR_KEYED,
    GROUP_COMMIT,
    GROUP_COMMIT_MIN_FILE_SIZE,
    NO_CARE,
    require_known_options,
    require_known_values,
)
from sqlext.catalog.dropped_table import UNDROP_RETENTION
from sqlext.catalog.rest.client import NoAnswer, Refusal, RestClient
from sqlext.catalog.rest.rest_catalog import RestCatalog
from sqlext.catalog.sql.connection import open_database
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.errors import AnalysisError, SqlextError, StorageError
from sqlext.storage.allowed_locations import ALLOWED_LOCATIONS, AllowedLocations, named_folders
from sqlext.storage.location import configured_location, is_object
from sqlext.storage.scheme_io import SchemeIO, s3_settings
from sqlext.storage.vended_io import VendedIO, with_expiry

_FILESYSTEM, _SQL, _REST = "filesystem", "sql", "rest"
_KINDS = {"filesystem": _FILESYSTEM, "hadoop": _FILESYSTEM, "sql": _SQL, "jdbc": _SQL, "rest": _REST}

# Rows take little space, and a drop keeps the files in any case.
_KEPT_BY_DATABASES = "7d"
_DURATION = re.compile(r"([0-9]{1,9})(d|h|m|s|)")
_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "": 1000}


@dataclass(frozen=True, slots=True)
class GroupCommit:
    """Commits of this process to a table may be grouped or, with `settings`, those of all processes of this user and
    host with equal settings, secrets included. Data files of fewer than `min_file_bytes` are merged."""

    settings: str | None = field(default=None, repr=False)
    min_file_bytes: int = 0


OnVendedCredentials = Callable[[str, Mapping[str, str]], None]


def open_catalog(
    name: str,
    options: Mapping[str, str],
    learned: OnVendedCredentials = lambda folder, options: None,
    *,
    writes: bool = True,
) -> Catalog:
    """The catalog that `options` describe. `learned` is called with each folder that a server vends credentials for.
    Of a store that nobody `writes` to it is not tried whether a commit there can succeed for one of several writers.

    Raises AnalysisError CATALOG_OPTION_REQUIRED, CATALOG_OPTION_INVALID or CATALOG_OPTION_REFUSED, and StorageError
    CATALOG_UNREACHABLE, CATALOG_LOGIN_FAILED or CATALOG_FAILURE.
    """
    group_commit(name, options)
    cares_for_keyed_tables(name, options)
    kind = _KINDS.get(options.get("type", _FILESYSTEM).lower())
    if kind is None:
        allowed = "hadoop, jdbc or rest"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option="type", value=options["type"], allowed=allowed)
    require_known_options(name, kind, options)
    require_known_values(name, kind, options)
    if kind == _REST:
        client = _connected(name, options)
        named = _allowed(name, options)
        return RestCatalog(name, client, VendedIO(with_expiry(client.settings), named), learned, named)
    warehouse = options.get("warehouse")
    if not warehouse:
        raise AnalysisError("CATALOG_OPTION_REQUIRED", name=name, option="warehouse")
    places = _allowed(name, options, configured_location(warehouse))
    io = SchemeIO(s3_settings(options), places)
    if kind == _FILESYSTEM:
        retention_ms = _retention_ms(name, options, "0")
        if is_object(warehouse):
            if retention_ms:
                allowed = "0: a store of objects has no folders to move aside"
                value = options[UNDROP_RETENTION]
                raise AnalysisError(
                    "CATALOG_OPTION_INVALID", name=name, option=UNDROP_RETENTION, value=value, allowed=allowed
                )
            if writes:
                io.objects.require_create_if_absent(warehouse)
        return WarehouseCatalog(name, warehouse, io, allowed=places, undrop_retention_ms=retention_ms)
    database = open_database(name, options)
    create = options.get("jdbc.init-catalog-tables", "true").strip().lower() != "false"
    upgrade = options.get("jdbc.schema-version", "").strip().upper() == "V1"
    retention_ms = _retention_ms(name, options, _KEPT_BY_DATABASES)
    records = CatalogRecords(database, name, create=create, upgrade=upgrade)
    return SqlCatalog(name, warehouse, io, records, allowed=places, undrop_retention_ms=retention_ms)


def _allowed(name: str, options: Mapping[str, str], *own: str) -> AllowedLocations:
    """The catalog's `own` folders and those of the setting, which, if present, confines the catalog to them."""
    setting = options.get(ALLOWED_LOCATIONS)
    try:
        return AllowedLocations((*own, *named_folders(setting or "")), confined=setting is not None)
    except SqlextError as error:
        allowed = f"folders, separated by commas: {error}"
        raise AnalysisError(
            "CATALOG_OPTION_INVALID", name=name, option=ALLOWED_LOCATIONS, value=setting, allowed=allowed
        ) from None


def group_commit(name: str, options: Mapping[str, str]) -> GroupCommit | None:
    """Which commits may be grouped; None: none. Raises AnalysisError CATALOG_OPTION_INVALID."""
    text = options.get(GROUP_COMMIT, "none").strip().lower()
    min_file_bytes = _min_file_bytes(name, options, is_grouped=text != "none")
    if text == "none":
        return None
    if text == "process":
        return GroupCommit(None, min_file_bytes)
    if text == "host" and hasattr(socket, "AF_UNIX"):
        return GroupCommit(_settings_fingerprint(name, options), min_file_bytes)
    allowed = "none, process or, where the system has Unix sockets, host"
    raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option=GROUP_COMMIT, value=text, allowed=allowed)


def cares_for_keyed_tables(name: str, options: Mapping[str, str]) -> bool:
    """Whether new tables with a key look after themselves unless told not to. Raises AnalysisError
    CATALOG_OPTION_INVALID."""
    text = options.get(CARE, CARE_FOR_KEYED).strip().lower()
    if text not in (CARE_FOR_KEYED, NO_CARE):
        allowed = f"{CARE_FOR_KEYED} or {NO_CARE}"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option=CARE, value=options[CARE], allowed=allowed)
    return text == CARE_FOR_KEYED


def _min_file_bytes(name: str, options: Mapping[str, str], *, is_grouped: bool) -> int:
    option = GROUP_COMMIT_MIN_FILE_SIZE
    text = options.get(option, "0").strip()
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1
    if number >= 0 and (is_grouped or not number):
        return number
    allowed = "a number of bytes, or 0" if is_grouped else f"0, as nothing is merged without {GROUP_COMMIT}"
    raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option=option, value=text, allowed=allowed)


def _settings_fingerprint(name: str, options: Mapping[str, str]) -> str:
    """A text that is equal in two processes if they use the same catalog with equal settings."""
    settings = {**options, "warehouse": configured_location(options.get("warehouse", ""))}
    if "sqlite:" in settings.get("uri", ""):
        # The URI may contain a relative path.
        settings["working folder"] = os.getcwd()
    return json.dumps([name, sorted(settings.items())])


def _retention_ms(name: str, options: Mapping[str, str], default: str) -> int:
    """How long dropped tables can be restored, from a text such as `7d` or `12h`."""
    text = options.get(UNDROP_RETENTION, default)
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        allowed = "a duration such as 7d, 12h or 30m, or 0"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option=UNDROP_RETENTION, value=text, allowed=allowed)
    return int(found[1]) * _UNITS_MS[found[2]]


def _connected(name: str, options: Mapping[str, str]) -> RestClient:
    try:
        return RestClient(name, options)
    except (Refusal, NoAnswer) as error:
        reason = f"{options['uri']}: {str(error).rstrip('.')}"
        raise StorageError("CATALOG_UNREACHABLE", name=name, reason=reason) from None
