"""A new table over existing data files, for snapshot and migrate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from sqlext.catalog.discarded_files import ADDED_IN_PLACE
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.ddl.table_definition import complete, with_identifier_fields
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.errors import AlreadyExistsError
from sqlext.procedure.foreign.added_files import content_files
from sqlext.procedure.foreign.source_files import Source
from sqlext.procedure.procedure import Invocation
from sqlext.spark.catalog.data_type import schema_from_spark
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.field_path import path_text
from sqlext.spec.name_mapping import NAME_MAPPING_PROPERTY, NameMapping
from sqlext.spec.schema import assign_fresh_ids
from sqlext.write.existing.existing_file import TableShape
from sqlext.write.metrics import MetricsConfig


def require_absent(invocation: Invocation, parts: Sequence[str]) -> None:
    """Raises AlreadyExistsError if the table exists."""
    catalog = invocation.environment.catalogs.catalog(parts[0])
    if catalog.table_exists(TableIdentifier(tuple(parts[1:-1]), parts[-1])):
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=path_text(parts))


def import_table(
    invocation: Invocation,
    parts: Sequence[str],
    source: Source,
    rows: DataFrame,
    location: str,
    properties: Mapping[str, str],
    threads: int,
) -> int:
    """Creates the table `parts` over the source's files in one commit; returns the number of files.

    Its columns are those of `rows`, the source as Spark reads it, and it is partitioned like the source. A failure
    deletes no file. Raises UnsupportedError FILE_NOT_ADDED.
    """
    environment = invocation.environment
    catalog = environment.catalogs.catalog(parts[0])
    identifier = TableIdentifier(tuple(parts[1:-1]), parts[-1])
    columns = schema_from_spark(rows.schema.jsonValue())
    schema = with_identifier_fields(assign_fresh_ids(columns), ())
    terms = [("identity", (column,), None, None) for column in source.partition_columns]
    mapping = NameMapping.of_schema(schema)
    definition = complete(
        schema,
        terms,
        (),
        {**properties, NAME_MAPPING_PROPERTY: mapping.to_text()},
        case_sensitive=is_case_sensitive(invocation.spark),
    )
    metrics = MetricsConfig.from_properties(definition.properties)
    shape = TableShape(definition.schema, definition.spec, mapping, metrics)
    files = content_files(catalog.io, source.files, shape, str(identifier), threads)
    action = CreateTable(
        schema=definition.schema,
        spec=definition.spec,
        sort_order=definition.sort_order,
        properties=definition.properties,
        format_version=definition.format_version,
        location=location,
        initial=AppendFiles(files, {ADDED_IN_PLACE: "true"}, owned=False) if files else None,
    )
    environment.create(catalog, identifier, action)
    return len(files)
