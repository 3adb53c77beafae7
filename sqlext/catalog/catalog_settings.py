"""A catalog from its settings `spark.sql.catalog.<name>.*`, under the names that Iceberg gives them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.sql.connection import open_database
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.errors import AnalysisError
from sqlext.storage.location import is_object
from sqlext.storage.scheme_io import SchemeIO, s3_settings

_FILESYSTEM, _SQL = "filesystem", "sql"
_KINDS = {"filesystem": _FILESYSTEM, "hadoop": _FILESYSTEM, "sql": _SQL, "jdbc": _SQL}


def open_catalog(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that `options` describe.

    `AnalysisError` CATALOG_OPTION_REQUIRED and CATALOG_OPTION_INVALID; `StorageError` CATALOG_UNREACHABLE,
    CATALOG_LOGIN_FAILED and CATALOG_FAILURE.
    """
    kind = _KINDS.get(options.get("type", _FILESYSTEM).lower())
    if kind is None:
        allowed = "hadoop or jdbc"
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option="type", value=options["type"], allowed=allowed)
    warehouse = options.get("warehouse")
    if not warehouse:
        raise AnalysisError("CATALOG_OPTION_REQUIRED", name=name, option="warehouse")
    io = SchemeIO(s3_settings(options))
    if kind == _FILESYSTEM:
        if is_object(warehouse):
            io.objects.require_create_if_absent(warehouse)
        return WarehouseCatalog(name, warehouse, io)
    database = open_database(name, options)
    create = options.get("jdbc.init-catalog-tables", "true").lower() != "false"
    upgrade = options.get("jdbc.schema-version", "").upper() == "V1"
    return SqlCatalog(name, warehouse, io, CatalogRecords(database, name, create=create, upgrade=upgrade))
