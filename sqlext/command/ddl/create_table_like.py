"""CREATE TABLE … LIKE: an empty table with another one's columns, key, partition spec, sort order and properties."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.rules.bucket_layout import bucket_count, with_buckets
from sqlext.commit.rules.upsert_rules import require_upsert_rules
from sqlext.errors import AlreadyExistsError
from sqlext.properties import BUCKET, DATA_PATH, FORMAT_VERSION, as_stored
from sqlext.property_names import require_valid_properties
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.statements.statement import CreateTableLike


def create_table_like(environment: Environment, spark: SparkSession, statement: CreateTableLike) -> Outcome:
    """Runs the statement; no rows. Raises AlreadyExistsError, or NotFoundError if the source does not exist."""
    catalog = environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
    if catalog.table_exists(identifier):
        if statement.if_not_exists:
            return Outcome()
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=statement.name)
    require_valid_properties(statement.properties)
    source = environment.catalogs.load(statement.source.parts).metadata
    changed, removed = as_stored(statement.properties)
    properties = {**{key: value for key, value in _copied(source).items() if key not in removed}, **changed}
    version = FORMAT_VERSION.of({FORMAT_VERSION.name: str(source.format_version), **properties})
    properties.pop(FORMAT_VERSION.name, None)
    spec, order = source.spec(), source.sort_order()
    if BUCKET.name in statement.properties or bucket_count(source) is not None:
        layout = with_buckets(source.schema(), spec, order, properties, version)
        spec, order, properties = layout.spec, layout.sort_order, dict(layout.properties)
    require_upsert_rules(source.schema(), spec, properties, str(statement.name))
    action = CreateTable(
        schema=replace(source.schema(), schema_id=0),
        spec=replace(spec, spec_id=0),
        sort_order=order,
        properties=properties,
        format_version=version,
        location=catalog.default_table_location(identifier),
    )
    environment.create(catalog, identifier, action)
    return Outcome()


def _copied(source: TableMetadata) -> dict[str, str]:
    """The source's properties, without the data folder and the state of streams."""
    return {key: value for key, value in settings_of(source.properties).items() if key != DATA_PATH.name}
