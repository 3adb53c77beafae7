"""CREATE TABLE, REPLACE TABLE and their AS SELECT forms: one commit, whole or not at all."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.check_definition import check_properties, require_condition
from sqlext.command.data_frame_write import write_files
from sqlext.command.default_value import default_value
from sqlext.command.enforced_key import require_distinct_files
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.table_definition import TableDefinition, define_table
from sqlext.command.write_operation import begin_write
from sqlext.errors import AlreadyExistsError, NotFoundError
from sqlext.spark.data_type import require_spark_types, schema_from_spark
from sqlext.spark.lowered_sql import lowered_query
from sqlext.spark.store_assignment import align
from sqlext.spec.constraint import check_constraints
from sqlext.spec.schema import Schema
from sqlext.spec.table_metadata import new_table_metadata
from sqlext.sql.statement import CreateTable
from sqlext.sql.type_name import TimestampSetting
from sqlext.transaction.append import AppendFiles
from sqlext.transaction.table_creation import CreateTable as CreateTableAction
from sqlext.transaction.table_creation import ReplaceTable
from sqlext.transaction.transaction import commit


def create_table(environment: Environment, spark: SparkSession, statement: CreateTable) -> Outcome:
    """Runs the statement; no rows. Errors: AlreadyExistsError, NotFoundError for REPLACE of no table."""
    catalog = environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
    exists = catalog.table_exists(identifier)
    if exists and not statement.or_replace:
        if statement.if_not_exists:
            return Outcome()
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=statement.name)
    if statement.must_exist and not exists:
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=statement.name)
    query = None if statement.as_select is None else lowered_query(spark, statement.as_select.text)
    timestamp_type = cast(TimestampSetting, spark.conf.get("spark.sql.timestampType") or "TIMESTAMP_LTZ")
    base = catalog.load_table(identifier) if exists else None
    first_id = 1 if base is None else base.metadata.last_column_id + 1
    default = partial(default_value, spark)
    definition = define_table(statement, _query_schema(query), timestamp_type, default, first_id)
    require_spark_types(definition.schema)
    checks = check_properties(spark, statement.checks, definition.schema)
    definition = replace(definition, properties={**definition.properties, **checks})
    for check in check_constraints(definition.properties):
        require_condition(spark, check.name, check.expression, definition.schema)
    _define(environment, spark, statement, definition, base, query)
    return Outcome()


def _define(
    environment: Environment,
    spark: SparkSession,
    statement: CreateTable,
    definition: TableDefinition,
    base: LoadedTable | None,
    query: DataFrame | None,
) -> None:
    """Creates or replaces the table, with the query's rows in the same commit."""
    name, catalog = statement.name, environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(name.parts[1:-1], name.table)
    location = statement.location or (base.metadata.location if base else catalog.default_table_location(identifier))
    table_uuid = str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
    metadata = new_table_metadata(
        definition.schema,
        definition.spec,
        definition.sort_order,
        location,
        definition.properties,
        definition.format_version,
        table_uuid,
        environment.clock(),
    )
    operation = begin_write(metadata, catalog.io, str(name), environment.rng)
    initial = None
    if query is not None:
        try:
            with operation.cleaned_on_failure():
                rows = align(spark, query, name.parts, definition.schema, by_name=False)
                files = write_files(operation, metadata, rows).data_files
                require_distinct_files(catalog.io, metadata, files, str(name))
                initial = AppendFiles(files)
        except BaseException:
            if base is None:
                catalog.discard_creation(identifier)
            raise
    action_type = CreateTableAction if base is None else ReplaceTable
    action = action_type(
        schema=definition.schema,
        spec=definition.spec,
        sort_order=definition.sort_order,
        properties=definition.properties,
        format_version=definition.format_version,
        location=location,
        initial=initial,
    )
    commit(
        catalog,
        identifier,
        action,
        base=base,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
    )


def _query_schema(query: DataFrame | None) -> Schema | None:
    return None if query is None else schema_from_spark(query.schema.jsonValue())
