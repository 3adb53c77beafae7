"""Table creation and property changes through Spark's catalog interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.ddl.clone_files import require_collectable
from sqlext.command.ddl.table_definition import complete, described_terms, with_identifier_fields
from sqlext.command.environment import Environment
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.errors import UnsupportedError
from sqlext.properties import GC_ENABLED, as_stored
from sqlext.property_names import require_changeable, require_valid_properties
from sqlext.spec.field_path import path_text
from sqlext.spec.schema import Schema
from sqlext.storage.location import same_place
from sqlext.write.bloom_filters import BloomFilters
from sqlext.write.column_chunk import ColumnChunks
from sqlext.write.metrics import MetricsConfig


class TableDefinitions:
    """The commands that `CatalogBridge` calls."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

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
        """Creates an empty table with Spark's columns, transforms and properties."""
        environment = self._environment.within(session)
        catalog = environment.catalogs.catalog(parts[0])
        identifier = TableIdentifier(parts[1:-1], parts[-1])
        properties = {**environment.catalogs.opened.of(parts[0]).table_defaults, **properties}
        definition = complete(
            with_identifier_fields(schema, ()),
            described_terms(partitioning),
            (),
            properties,
            case_sensitive=case_sensitive,
        )
        action = CreateTable(
            schema=definition.schema,
            spec=definition.spec,
            sort_order=definition.sort_order,
            properties=definition.properties,
            format_version=definition.format_version,
            location=properties.get("location") or catalog.default_table_location(identifier),
            initial=None,
        )
        environment.create(catalog, identifier, action)

    def alter_properties(
        self, session: str, parts: tuple[str, ...], changed: Mapping[str, str], removed: frozenset[str]
    ) -> None:
        """SET and UNSET TBLPROPERTIES, in one commit. Raises AnalysisError for an invalid name or value.

        Spark passes SET LOCATION as a property; raises UnsupportedError for a location other than the table's.
        """
        changed = dict(changed)
        moved_to = changed.pop("location", None)
        require_changeable({*changed, *removed})
        require_valid_properties(changed)
        metrics = MetricsConfig.from_properties(changed)
        environment = self._environment.within(session)
        table = environment.catalogs.load(parts)
        metrics.require_columns(table.metadata.schema())
        BloomFilters.from_properties(changed).warn_of_those_not_written(table.metadata.schema())
        ColumnChunks.from_properties(changed).warn_of_those_not_written(table.metadata.schema())
        location = table.metadata.location
        if moved_to is not None and same_place(moved_to) != same_place(location):
            raise UnsupportedError("TABLE_LOCATION_FIXED", name=path_text(parts), location=location)
        before = table.metadata.properties
        after = {**{name: text for name, text in before.items() if name not in removed}, **changed}
        if GC_ENABLED.of(after) and not GC_ENABLED.of(before):
            require_collectable(environment, parts[0], table)
        environment.commit(parts[0], table, ChangeProperties(*as_stored(changed, removed)))
