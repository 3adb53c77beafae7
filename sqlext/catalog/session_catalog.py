"""sqlext's tables in `spark_catalog`, Spark's session catalog, whose other tables and whose databases are Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

from sqlext.catalog.catalog import Catalog, LoadedTable, TableCommit
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.errors import AlreadyExistsError
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.table_metadata import TableMetadata


class SessionNames(Protocol):
    """The names in Spark's own session catalog."""

    def table_exists(self, identifier: TableIdentifier) -> bool:
        """Whether a table or view of Spark has the name."""

    def namespace_exists(self, namespace: Namespace) -> bool:
        """Whether there is such a database."""


def in_session_catalog(own: Catalog, spark: SessionNames) -> Catalog:
    """`own` as a part of Spark's session catalog: its namespaces are the databases of `spark`, and it gives no table a
    name that is taken there.

    A namespace gets into `own` with its first table. Views, which are all Spark's, are not for this catalog to make.
    """
    return cast(Catalog, _InSessionCatalog(own, spark))


class _InSessionCatalog:
    """`Catalog`; methods that are not here are those of the catalog inside, as they give no table a name."""

    def __init__(self, own: Catalog, spark: SessionNames) -> None:
        self._own = own
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def table_exists(self, identifier: TableIdentifier) -> bool:
        return self._own.table_exists(identifier) or self._spark.table_exists(identifier)

    def namespace_exists(self, namespace: Namespace) -> bool:
        return self._spark.namespace_exists(namespace)

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        if base is None:
            self._require_free(identifier)
        return self._own.commit(identifier, base, updated)

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        for change in changes:
            if change.base is None:
                self._require_free(change.identifier)
        self._own.commit_tables(changes, unchanged)

    def register_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable | None:
        self._require_free(identifier)
        return self._own.register_table(identifier, metadata_location)

    def undrop_table(self, identifier: TableIdentifier) -> None:
        self._require_free(identifier)
        self._own.undrop_table(identifier)

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        self._require_free(to)
        self._own.rename_table(identifier, to)

    def _require_free(self, identifier: TableIdentifier) -> None:
        """Raises AlreadyExistsError for a name of Spark's; the namespace of any other is in `own` afterwards."""
        if self._spark.table_exists(identifier):
            name = path_text((self._own.name, *identifier.namespace, identifier.name))
            raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=name)
        if self._spark.namespace_exists(identifier.namespace) and not self._own.namespace_exists(identifier.namespace):
            with suppress(AlreadyExistsError):  # another session was faster
                self._own.create_namespace(identifier.namespace, {})
