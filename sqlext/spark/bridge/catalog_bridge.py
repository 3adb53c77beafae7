"""Answers to the questions of Spark's catalog interface."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier, quoted
from sqlext.errors import AnalysisError, NotFoundError, SqlextError, UnsupportedError
from sqlext.properties import WAP_ENABLED
from sqlext.spark.bridge.bridge import Question
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.bridge.table_description import describe
from sqlext.spark.catalog.data_type import schema_from_spark
from sqlext.spark.catalog.described_constraints import described_constraints
from sqlext.spark.catalog.frame_options import require_read_options
from sqlext.spark.catalog.session_catalogs import Catalogs, handle_of
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.catalog.time_travel import names_place, pin_of, place_in_options, travel, without_hint
from sqlext.spark.catalog.view_description import describe_query, describe_view
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spec.schema import Schema
from sqlext.sql.statements.provider import is_iceberg, require_provider
from sqlext.sql.syntax.options_hint import version_with_options

Arguments = Mapping[str, Any]
Answer = Mapping[str, Any]


class TableChanges(Protocol):
    """The commands that the catalog interface needs from a higher layer."""

    def create(
        self,
        session: str,
        parts: tuple[str, ...],
        schema: Schema,
        partitioning: list[Mapping[str, Any]],
        properties: Mapping[str, str],
        *,
        case_sensitive: bool,
    ) -> None:
        """Creates a table."""

    def alter_properties(
        self, session: str, parts: tuple[str, ...], changed: Mapping[str, str], removed: frozenset[str]
    ) -> None:
        """Sets and removes table properties in one commit."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """The change feed of a table as a query, and its columns."""

    sql: str
    schema: Schema


_CHANGES = "changes"


class CatalogBridge:
    """Answers the questions of the shim's Catalog and PathSource."""

    def __init__(
        self,
        catalogs: Catalogs,
        transactions: OpenTransactions,
        scans: ScanBridge,
        changes: TableChanges,
        load_path: Callable[[str], LoadedTable],
        changes_of: Callable[[tuple[str, ...]], ChangeView],
    ) -> None:
        self._catalogs = catalogs
        self._transactions = transactions
        self._scans = scans
        self._changes = changes
        self._load_path = load_path
        self._changes_of = changes_of

    def questions(self) -> Mapping[str, Question]:
        """Methods by the text of the question."""
        return {
            "initialize catalog": self._initialize,
            "load table": self._load_table,
            "load path": self._load_by_path,
            "version of options": self._version_of_options,
            "check read options": self._check_read_options,
            "describe constraints": self._describe_constraints,
            "newest version": self._newest_version,
            "refuse changed columns": _refuse_changed_columns,
            "table exists": self._table_exists,
            "holds table": self._holds_table,
            "is iceberg": _is_iceberg,
            "create table": self._create_table,
            "alter table": self._alter_table,
            "drop table": self._drop_table,
            "rename table": self._rename_table,
            "list tables": self._list_tables,
            "list namespaces": self._list_namespaces,
            "namespace exists": self._namespace_exists,
            "load namespace": self._load_namespace,
            "create namespace": self._create_namespace,
            "alter namespace": self._alter_namespace,
            "drop namespace": self._drop_namespace,
        }

    def _initialize(self, arguments: Arguments) -> Answer:
        self._catalogs.opened.initialize(arguments["catalog"], arguments["options"])
        return {}

    def _seen(self, arguments: Arguments) -> Catalogs:
        """The catalogs as the asking session sees them."""
        return self._transactions.catalogs_of(arguments["session"])

    def _catalog(self, arguments: Arguments) -> Catalog:
        return self._seen(arguments).catalog(arguments["catalog"])

    # Tables

    def _load_table(self, arguments: Arguments) -> Answer:
        pin = pin_of(arguments)
        pinned = None if pin is None else self._catalogs.remembered.table(_parts(arguments), pin.metadata_file)
        if pinned is not None:
            handle = handle_of(arguments["catalog"], pinned)
            return self._described(travel(handle, pinned.metadata, {"version": arguments["version"]}))
        try:
            return self._described(self._named(arguments))
        except AnalysisError as refused:
            if self._names_files(arguments, refused):
                raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=quoted(*_parts(arguments))) from None
            return self._load_view(arguments, refused)
        except NotFoundError as missing:
            return self._load_changes(arguments, missing)

    def _named(self, arguments: Arguments) -> TableHandle:
        """The table of a name, as the asking session sees it. Raises as `Catalogs.locate` and `travel`."""
        place, table = self._seen(arguments).locate(_parts(arguments))
        asked = {key: arguments[key] for key in ("version", "timestamp") if key in arguments}
        at = without_hint({**place.at, **asked}, handle_of(arguments["catalog"], table).full_name)
        wap_branch = arguments.get("wap_branch")
        if not at and wap_branch in table.metadata.refs and WAP_ENABLED.of(table.metadata.properties):
            at = {"branch": wap_branch}
        handle = place.seen_by(handle_of(arguments["catalog"], table))
        return travel(handle, table.metadata, at)

    def _newest_version(self, arguments: Arguments) -> Answer:
        """The current version of a table for a query that was analysed earlier; {} if that has it."""
        handle = self._named(arguments)
        if handle == TableHandle.decode(arguments["table"]):
            return {}
        return {**self._described(handle), "in_transaction": self._transactions.is_open(arguments["session"])}

    def _names_files(self, arguments: Arguments, refused: AnalysisError) -> bool:
        """Whether the name is such as parquet.`/path`, which Spark reads as files if no table has it."""
        namespace = tuple(arguments["namespace"])
        is_path = refused.condition == "INVALID_NAME" and "/" in arguments["name"] and len(namespace) == 1
        return is_path and not self._catalog(arguments).namespace_exists(namespace)

    def _load_view(self, arguments: Arguments, refused: AnalysisError) -> Answer:
        """The view of the name; else raises `refused`, also for time travel and for a target of a write."""
        at_time = any(key in arguments for key in ("version", "timestamp"))
        if refused.condition != "EXPECT_TABLE_NOT_VIEW" or at_time or arguments.get("written"):
            raise refused
        catalog, identifier = self._catalog(arguments), _identifier(arguments)
        if not catalog.views.view_exists(identifier):
            raise refused
        return {"view": describe_view(catalog.name, catalog.views.load_view(identifier))}

    def _load_changes(self, arguments: Arguments, missing: NotFoundError) -> Answer:
        """The change feed of a name `<table>.changes`; else raises `missing`."""
        parts = _parts(arguments)
        at_time = any(key in arguments for key in ("version", "timestamp"))
        if parts[-1].lower() != _CHANGES or len(parts) < 4 or at_time or arguments.get("written"):
            raise missing
        try:
            feed = self._changes_of(parts[:-1])
        except NotFoundError:
            raise missing from None
        return {"view": describe_query(parts[0], parts[1:-1], parts[-1], feed.sql, feed.schema)}

    def _load_by_path(self, arguments: Arguments) -> Answer:
        options = {key.lower(): value for key, value in arguments["options"].items()}
        if "path" not in options:
            raise UnsupportedError("PATH_REQUIRED")
        require_read_options(options)
        table = self._load_path(options["path"])
        self._catalogs.remembered.remember(table.metadata_location, table.metadata)
        handle = handle_of(None, table)
        return self._described(travel(handle, table.metadata, place_in_options(options)))

    def _version_of_options(self, arguments: Arguments) -> Answer:
        """The version that encodes a read's options, if one of them selects a version of the table; else {}."""
        options = arguments["options"]
        return {"version": version_with_options(options)} if names_place(options) else {}

    def _check_read_options(self, arguments: Arguments) -> Answer:
        """Raises AnalysisError UNKNOWN_OPTION and UnsupportedError OPTION_NOT_SUPPORTED for invalid options."""
        require_read_options(arguments["options"])
        return {}

    def _described(self, handle: TableHandle) -> Answer:
        return {"table": describe(self._catalogs.version(handle), self._scans)}

    def _describe_constraints(self, arguments: Arguments) -> Answer:
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        return {"rows": described_constraints(version.metadata, version.schema)}

    def _table_exists(self, arguments: Arguments) -> Answer:
        """Whether the table exists; true also if its metadata cannot be read, since its name is taken and it can be
        dropped."""
        try:
            self._load_table(arguments)
        except SqlextError as failure:
            exists = self._catalog(arguments).table_exists(_identifier(arguments))
            if not exists and not isinstance(failure, NotFoundError):
                raise
            return {"exists": exists}
        return {"exists": True}

    def _holds_table(self, arguments: Arguments) -> Answer:
        """Whether a name in Spark's session catalog is one of sqlext's."""
        return {"holds": self._seen(arguments).holds(_parts(arguments))}

    def _create_table(self, arguments: Arguments) -> Answer:
        require_provider(quoted(*_parts(arguments)), arguments["properties"].get("provider"))
        schema = schema_from_spark(json.loads(arguments["schema"]))
        self._changes.create(
            arguments["session"],
            _parts(arguments),
            schema,
            arguments["partitioning"],
            arguments["properties"],
            case_sensitive=bool(arguments["case_sensitive"]),
        )
        return {}

    def _alter_table(self, arguments: Arguments) -> Answer:
        changed, removed = _property_changes(arguments["changes"])
        self._changes.alter_properties(arguments["session"], _parts(arguments), changed, removed)
        return {}

    def _drop_table(self, arguments: Arguments) -> Answer:
        dropped = self._catalog(arguments).drop_table(_identifier(arguments), purge=arguments["purge"])
        if not dropped:
            self._require_no_part_of_a_table(arguments)
        return {"dropped": dropped}

    def _require_no_part_of_a_table(self, arguments: Arguments) -> None:
        """Raises AnalysisError PART_OF_A_TABLE if the name is a metadata table, branch or other version of a table."""
        parts = _parts(arguments)
        try:
            place, _ = self._seen(arguments).locate(parts[:-1] if parts[-1].lower() == _CHANGES else parts)
        except NotFoundError:
            return
        if place.parts == parts:
            return  # a table that was created concurrently
        if place.parts == parts[:-1] and parts[-1].lower() == _CHANGES:
            part, way_out = "the change feed", "It goes when its table is dropped"
        elif place.metadata_table is not None or place.read_optimized:
            part, way_out = place.part, "It goes when its table is dropped"
        else:
            kind, value = next(iter(place.at.items()))
            part, way_out = place.part, f"ALTER TABLE {quoted(*place.parts)} DROP {kind.upper()} {value}"
            if kind not in ("branch", "tag"):
                way_out = "Name the table itself to drop it"
        raise AnalysisError(
            "PART_OF_A_TABLE", name=quoted(*parts), part=part, table=quoted(*place.parts), way_out=way_out
        )

    def _rename_table(self, arguments: Arguments) -> Answer:
        """Renames the table; a name of one part stays in its namespace. Spark does not remove the catalog from longer
        names."""
        catalog, to = self._catalog(arguments), tuple(arguments["to"])
        if len(to) > 2 and to[0] == catalog.name and not catalog.namespace_exists(to[:-1]):
            to = to[1:]
        namespace = to[:-1] or tuple(arguments["namespace"])
        catalog.rename_table(_identifier(arguments), TableIdentifier(namespace, to[-1]))
        return {}

    # Namespaces

    def _list_tables(self, arguments: Arguments) -> Answer:
        tables = self._catalog(arguments).list_tables(tuple(arguments["namespace"]))
        return {"names": [identifier.name for identifier in tables]}

    def _list_namespaces(self, arguments: Arguments) -> Answer:
        namespaces = self._catalog(arguments).list_namespaces(tuple(arguments["namespace"]))
        return {"names": [namespace[-1] for namespace in namespaces]}

    def _namespace_exists(self, arguments: Arguments) -> Answer:
        return {"exists": self._catalog(arguments).namespace_exists(tuple(arguments["namespace"]))}

    def _load_namespace(self, arguments: Arguments) -> Answer:
        return {"properties": dict(self._catalog(arguments).load_namespace(tuple(arguments["namespace"])))}

    def _create_namespace(self, arguments: Arguments) -> Answer:
        self._catalog(arguments).create_namespace(tuple(arguments["namespace"]), arguments["properties"])
        return {}

    def _alter_namespace(self, arguments: Arguments) -> Answer:
        """Sets and removes properties, to which Spark converts LOCATION and COMMENT."""
        changed, removed = _property_changes(arguments["changes"])
        catalog, namespace = self._catalog(arguments), tuple(arguments["namespace"])
        if changed:
            catalog.set_namespace_properties(namespace, changed)
        if removed:
            catalog.remove_namespace_properties(namespace, removed)
        return {}

    def _drop_namespace(self, arguments: Arguments) -> Answer:
        catalog = self._catalog(arguments)
        return {"dropped": catalog.drop_namespace(tuple(arguments["namespace"]), cascade=arguments["cascade"])}


def _is_iceberg(arguments: Arguments) -> Answer:
    return {"is_iceberg": is_iceberg(arguments["provider"])}


def _refuse_changed_columns(arguments: Arguments) -> Answer:
    raise AnalysisError("COLUMNS_CHANGED_SINCE", name=arguments["name"], columns=", ".join(arguments["columns"]))


def _parts(arguments: Arguments) -> tuple[str, ...]:
    return (arguments["catalog"], *arguments["namespace"], arguments["name"])


def _identifier(arguments: Arguments) -> TableIdentifier:
    return TableIdentifier(tuple(arguments["namespace"]), arguments["name"])


def _property_changes(changes: list[Mapping[str, str]]) -> tuple[Mapping[str, str], frozenset[str]]:
    changed: dict[str, str] = {}
    removed: set[str] = set()
    for change in changes:
        if change["change"] == "set property":
            changed[change["key"]] = change["value"]
        elif change["change"] == "remove property":
            removed.add(change["key"])
        else:
            raise UnsupportedError("ALTER_TABLE_NOT_SUPPORTED", change=change["change"])
    return changed, frozenset(removed)
