"""The rows of a SQL catalog: `iceberg_tables` and `iceberg_namespace_properties`, as in Iceberg's JDBC catalog.

Several catalogs may share a database; each sees the rows with its name. Levels of a namespace are joined by dots.
Layout V1 distinguishes tables from views by `iceberg_type`, NULL meaning a table; V0 has only tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlext.catalog.identifier import Namespace, TableIdentifier, quoted
from sqlext.catalog.sql.database import Database, DuplicateKey, Step
from sqlext.errors import AnalysisError, StorageError, UnsupportedError

TABLE, VIEW = "TABLE", "VIEW"
# Iceberg and PyIceberg store a namespace without properties by this one.
_EXISTS = "exists"

_CREATE_TABLES = (
    "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL,"
    " table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000),"
    " previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),"
    " PRIMARY KEY (catalog_name, table_namespace, table_name))",
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL,"
    " namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000),"
    " PRIMARY KEY (catalog_name, namespace, property_key))",
)
# For UNDROP; unknown to other engines.
_DROPPED = "sqlext_dropped_tables"
_CREATE_DROPPED = (
    f"CREATE TABLE IF NOT EXISTS {_DROPPED} (catalog_name VARCHAR(255) NOT NULL,"
    " table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,"
    " metadata_location VARCHAR(1000) NOT NULL, dropped_at_ms BIGINT NOT NULL,"
    " PRIMARY KEY (catalog_name, metadata_location))"
)
_ADD_TYPE = "ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)"
_OF_NAME = "catalog_name = ? AND table_namespace = ? AND table_name = ?"
_OF_NAMESPACE = "catalog_name = ? AND namespace = ?"
_INSERT_PROPERTY = "INSERT INTO iceberg_namespace_properties VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Record:
    """The row of a table or view: kind and location of the current metadata."""

    kind: str
    metadata_location: str


@dataclass(frozen=True, slots=True)
class MetadataRow:
    """The kind, name and metadata file of a table or view, of any catalog in the database."""

    kind: str
    namespace: Namespace
    name: str
    metadata_location: str


class CatalogRecords:
    """The rows of one catalog. Every method raises as those of `Database`."""

    def __init__(self, database: Database, catalog_name: str, *, create: bool, upgrade: bool) -> None:
        """`create` creates missing tables of the layout, `upgrade` changes layout V0 to V1."""
        self._database = database
        self._catalog = catalog_name
        columns = database.columns("iceberg_tables")
        if create and not (columns and database.columns("iceberg_namespace_properties")):
            try:
                database.change(*((statement, ()) for statement in _CREATE_TABLES))
            except (DuplicateKey, StorageError):
                # In PostgreSQL, two sessions that create the same table can collide in the system catalog.
                if not database.columns("iceberg_namespace_properties"):
                    raise
            columns = database.columns("iceberg_tables")
        if not columns:
            raise StorageError(
                "CATALOG_FAILURE",
                name=catalog_name,
                reason="the database has no table iceberg_tables; check its name, or write to it once, which makes the"
                " table unless jdbc.init-catalog-tables is false",
            )
        if upgrade and "iceberg_type" not in columns:
            database.change((_ADD_TYPE, ()))
            columns = database.columns("iceberg_tables")
        self._has_kinds = "iceberg_type" in columns

    # tables and views

    def find(self, identifier: TableIdentifier) -> Record | None:
        """The row; None without one. A namespace with a dot has none: it is what Spark takes a table with a dot in its
        name for, where a metadata table or a branch of it is named."""
        if any("." in level for level in identifier.namespace):
            return None
        kind = "iceberg_type" if self._has_kinds else "NULL"
        rows = self._database.rows(
            f"SELECT {kind}, metadata_location FROM iceberg_tables WHERE {_OF_NAME}", *self._key(identifier)
        )
        return Record(rows[0][0] or TABLE, rows[0][1] or "") if rows else None

    def names(self, namespace: Namespace, kind: str) -> tuple[str, ...]:
        """Names of the tables or views directly in the namespace, sorted."""
        column = "iceberg_type" if self._has_kinds else "NULL"
        rows = self._database.rows(
            f"SELECT table_name, {column} FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?",
            self._catalog,
            self._joined(namespace),
        )
        return tuple(sorted(name for name, found in rows if (found or TABLE) == kind))

    def insert(self, identifier: TableIdentifier, record: Record) -> None:
        """Raises DuplicateKey if the name is taken."""
        self._database.change(self._insertion(identifier, record))

    def swap(self, identifier: TableIdentifier, before: Record, after: Record) -> bool:
        """Compare-and-swap; False if the row is not `before`."""
        return self._database.change(self._swapping(identifier, before, after)) == [1]

    def _swapping(self, identifier: TableIdentifier, before: Record, after: Record) -> Step:
        kind, kinds = self._of_kind(before.kind)
        statement = (
            "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?"
            f" WHERE {_OF_NAME} AND metadata_location = ?{kind}"
        )
        key, old = self._key(identifier), before.metadata_location
        return statement, (after.metadata_location, old, *key, old, *kinds)

    def _holding(self, identifier: TableIdentifier, record: Record) -> Step:
        """Leaves the row as it is, and locks it until the end of the transaction."""
        kind, kinds = self._of_kind(record.kind)
        statement = f"UPDATE iceberg_tables SET metadata_location = ? WHERE {_OF_NAME} AND metadata_location = ?{kind}"
        location = record.metadata_location
        return statement, (location, *self._key(identifier), location, *kinds)

    def change_all(self, changes: Sequence[tuple[TableIdentifier, Record | None, Record]]) -> bool:
        """Swaps rows, and inserts those without a row before, in one transaction; False, with no change, if one has
        changed.

        A row that is equal before and after must exist, and is locked until the commit. Raises DuplicateKey if a row to
        insert exists.
        """
        # A fixed order, so that two transactions do not deadlock.
        steps = [
            self._insertion(identifier, after)
            if before is None
            else self._holding(identifier, after)
            if before == after
            else self._swapping(identifier, before, after)
            for identifier, before, after in sorted(changes, key=lambda change: self._key(change[0]))
        ]
        return self._database.change(*steps, required=len(steps)) == [1] * len(steps)

    def delete(self, identifier: TableIdentifier, record: Record) -> bool:
        """False if the row is not `record`."""
        kind, kinds = self._of_kind(record.kind)
        statement = f"DELETE FROM iceberg_tables WHERE {_OF_NAME} AND metadata_location = ?{kind}"
        return self._database.change((statement, (*self._key(identifier), record.metadata_location, *kinds))) == [1]

    def drop(self, identifier: TableIdentifier, record: Record, at_ms: int, expired_ms: int) -> bool:
        """As `delete`, but keeps the row for UNDROP, and deletes such rows dropped before `expired_ms`."""
        if not self._keeps_dropped():
            return self.delete(identifier, record)
        kind, kinds = self._of_kind(record.kind)
        key = self._key(identifier)
        delete = f"DELETE FROM iceberg_tables WHERE {_OF_NAME} AND metadata_location = ?{kind}"
        forget = f"DELETE FROM {_DROPPED} WHERE catalog_name = ? AND (dropped_at_ms < ? OR metadata_location = ?)"
        counts = self._database.change(
            (delete, (*key, record.metadata_location, *kinds)),
            (forget, (self._catalog, expired_ms, record.metadata_location)),
            (f"INSERT INTO {_DROPPED} VALUES (?, ?, ?, ?, ?)", (*key, record.metadata_location, at_ms)),
            required=1,
        )
        return counts[0] == 1

    def dropped(self, namespace: Namespace, since_ms: int) -> list[tuple[str, str, int]]:
        """Name, metadata file and time of each table dropped since `since_ms`, latest drop first."""
        if not self._database.columns(_DROPPED):
            return []
        rows = self._database.rows(
            f"SELECT table_name, metadata_location, dropped_at_ms FROM {_DROPPED} WHERE catalog_name = ?"
            " AND table_namespace = ? AND dropped_at_ms >= ? ORDER BY dropped_at_ms DESC",
            self._catalog,
            self._joined(namespace),
            since_ms,
        )
        return [(name, location, int(at_ms)) for name, location, at_ms in rows]

    def restore(self, identifier: TableIdentifier, metadata_location: str) -> bool:
        """Restores a dropped row; False if it is gone. Raises DuplicateKey if the name is taken."""
        forget = f"DELETE FROM {_DROPPED} WHERE catalog_name = ? AND metadata_location = ?"
        insert = self._insertion(identifier, Record(TABLE, metadata_location))
        steps = ((forget, (self._catalog, metadata_location)), insert)
        return self._database.change(*steps, required=1) == [1, 1]

    def rename(self, identifier: TableIdentifier, to: TableIdentifier, kind: str) -> bool:
        """False without a row of this kind. Raises DuplicateKey if the name is taken."""
        of_kind, kinds = self._of_kind(kind)
        statement = f"UPDATE iceberg_tables SET table_namespace = ?, table_name = ? WHERE {_OF_NAME}{of_kind}"
        values = (self._joined(to.namespace), to.name, *self._key(identifier), *kinds)
        return self._database.change((statement, values)) == [1]

    def metadata_rows(self, *, dropped: bool = True) -> list[MetadataRow]:
        """The rows of all tables and views in the database that have metadata, also those of other catalogs and
        dropped ones."""
        kind = "iceberg_type" if self._has_kinds else "NULL"
        columns = "table_namespace, table_name, metadata_location"
        rows = self._database.rows(f"SELECT {kind}, {columns} FROM iceberg_tables")
        if dropped and self._database.columns(_DROPPED):
            rows += self._database.rows(f"SELECT NULL, {columns} FROM {_DROPPED}")
        return [
            MetadataRow(of_kind or TABLE, tuple(namespace.split(".")), name, location)
            for of_kind, namespace, name, location in rows
            if location
        ]

    # namespaces

    def namespaces(self) -> frozenset[Namespace]:
        """Namespaces with rows of their own, and those with tables or namespaces in them."""
        rows = self._database.rows(
            "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?"
            " UNION SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?",
            self._catalog,
            self._catalog,
        )
        found = [tuple(joined.split(".")) for (joined,) in rows if joined]
        return frozenset(namespace[:depth] for namespace in found for depth in range(1, len(namespace) + 1))

    def properties(self, namespace: Namespace) -> Mapping[str, str]:
        rows = self._database.rows(
            f"SELECT property_key, property_value FROM iceberg_namespace_properties WHERE {_OF_NAMESPACE}",
            self._catalog,
            self._joined(namespace),
        )
        return {key: value for key, value in rows if key != _EXISTS}

    def insert_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises DuplicateKey if the namespace has rows of its own."""
        joined = self._joined(namespace)
        kept = {_EXISTS: "true", **properties}
        self._database.change(*((_INSERT_PROPERTY, (self._catalog, joined, *one)) for one in kept.items()))

    def change_properties(self, namespace: Namespace, changed: Mapping[str, str], removed: Iterable[str]) -> None:
        joined = self._joined(namespace)
        gone = {*removed, *changed} - {_EXISTS}
        delete = f"DELETE FROM iceberg_namespace_properties WHERE {_OF_NAMESPACE} AND property_key = ?"
        deletes = [(delete, (self._catalog, joined, name)) for name in gone]
        # A namespace that exists only through another engine's table has no row yet, and must outlive its last
        # property.
        deletes.append((delete, (self._catalog, joined, _EXISTS)))
        kept = {**changed, _EXISTS: "true"}
        inserts = [(_INSERT_PROPERTY, (self._catalog, joined, *one)) for one in kept.items()]
        self._database.change(*deletes, *inserts)

    def delete_namespace(self, namespace: Namespace) -> None:
        statement = f"DELETE FROM iceberg_namespace_properties WHERE {_OF_NAMESPACE}"
        self._database.change((statement, (self._catalog, self._joined(namespace))))

    def _insertion(self, identifier: TableIdentifier, record: Record) -> Step:
        columns = "catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location"
        values = (*self._key(identifier), record.metadata_location)
        if self._has_kinds:
            return f"INSERT INTO iceberg_tables ({columns}, iceberg_type) VALUES (?, ?, ?, ?, NULL, ?)", (
                *values,
                record.kind,
            )
        if record.kind == VIEW:
            raise UnsupportedError(
                "UNSUPPORTED_CATALOG_OPERATION",
                operation=f"The view {identifier}",
                catalog=self._catalog,
                reason="its database has the table layout V0, which knows no views",
                way_out=f"Set spark.sql.catalog.{self._catalog}.jdbc.schema-version to V1.",
            )
        return f"INSERT INTO iceberg_tables ({columns}) VALUES (?, ?, ?, ?, NULL)", values

    def _keeps_dropped(self) -> bool:
        """Whether there is a table for dropped rows; a user without the right to create it does without."""
        if not self._database.columns(_DROPPED):
            try:
                self._database.change((_CREATE_DROPPED, ()))
            except (DuplicateKey, StorageError):
                return bool(self._database.columns(_DROPPED))
        return True

    def _key(self, identifier: TableIdentifier) -> tuple[str, str, str]:
        return self._catalog, self._joined(identifier.namespace), identifier.name

    def _joined(self, namespace: Namespace) -> str:
        for level in namespace:
            if "." in level:
                reason = "the database joins the levels of a namespace by dots"
                raise AnalysisError("INVALID_NAME", name=quoted(level), reason=reason)
        return ".".join(namespace)

    def _of_kind(self, kind: str) -> tuple[str, tuple[str, ...]]:
        """An SQL condition on the row's kind, and its parameters."""
        if not self._has_kinds:
            return "", ()
        condition = "(iceberg_type = ? OR iceberg_type IS NULL)" if kind == TABLE else "iceberg_type = ?"
        return f" AND {condition}", (kind,)
