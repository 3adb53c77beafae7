"""CREATE TABLE and REPLACE TABLE, with or without AS SELECT: one atomic commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier, quoted
from sqlext.command.change.enforced_key import require_distinct_files
from sqlext.command.check_definition import check_properties, require_condition
from sqlext.command.ddl.default_value import default_value
from sqlext.command.ddl.generated_definition import require_generated
from sqlext.command.ddl.table_definition import (
    TableDefinition,
    assign_ids,
    complete,
    define_table,
    described_terms,
    with_identifier_fields,
)
from sqlext.command.dml.row_write import write_files
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.plan.planner import plan_insert
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.batch_commit import CommitOnce
from sqlext.commit.actions.table_creation import CreateTable as CreateTableAction
from sqlext.commit.actions.table_creation import ReplaceTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import AlreadyExistsError, AnalysisError, NotFoundError, UnsupportedError
from sqlext.properties import ROWKIND_FIELD, WRITE_ONLY
from sqlext.spark.catalog.data_type import as_nullable, require_spark_types, schema_from_spark
from sqlext.spark.catalog.frame_options import WriteOptions, write_options
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.query.store_assignment import align
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.constraint import check_constraints
from sqlext.spec.metadata.table_metadata import new_table_metadata
from sqlext.spec.schema import Schema
from sqlext.sql.row_rules import require_no_identity_in_checks
from sqlext.sql.statements.provider import require_provider
from sqlext.sql.statements.statement import CreateTable, TableName
from sqlext.sql.syntax.type_name import TimestampSetting


def create_table(environment: Environment, spark: SparkSession, statement: CreateTable) -> Outcome:
    """Runs the statement; no rows. Raises AlreadyExistsError, or NotFoundError if REPLACE finds no table."""
    defaults = environment.catalogs.opened.of(statement.name.catalog).table_defaults
    statement = replace(statement, properties={**defaults, **statement.properties})
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
    base = _replaced(catalog, identifier) if exists else None
    replaced = None if base is None else base.metadata
    default = partial(default_value, spark)
    definition = define_table(
        statement,
        _query_schema(query),
        timestamp_type,
        default,
        replaced,
        case_sensitive=is_case_sensitive(spark),
    )
    require_spark_types(definition.schema)
    checks = check_properties(spark, statement.checks, definition.schema)
    definition = replace(definition, properties={**definition.properties, **checks})
    _define(environment, spark, statement.name, statement.location, definition, base, query)
    return Outcome()


def create_of_data_frame(
    environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame
) -> None:
    """Creates or replaces the table for a DataFrame's `create`, `replace` or `saveAsTable`; `arguments` are the shim's.

    Raises AlreadyExistsError, NotFoundError if `replace` finds no table, AnalysisError for another provider.
    """
    name = TableName((arguments["catalog"], *arguments["namespace"], arguments["name"]))
    properties = {**environment.catalogs.opened.of(name.catalog).table_defaults, **arguments["properties"]}
    _require_no_options(arguments["options"])
    require_provider(name, properties.get("provider"))
    catalog = environment.catalogs.catalog(name.catalog)
    identifier = TableIdentifier(name.parts[1:-1], name.table)
    exists = catalog.table_exists(identifier)
    if exists and not arguments["replaces"]:
        if arguments["if_not_exists"]:
            return
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=name)
    if not (exists or arguments["creates"]):
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=name)
    base = _replaced(catalog, identifier) if exists else None
    columns = schema_from_spark(json.loads(arguments["schema"]))
    replaced = None if base is None else base.metadata
    schema = assign_ids(columns, replaced)
    terms = described_terms(arguments["partitioning"])
    definition = complete(
        with_identifier_fields(schema, ()), terms, (), properties, replaced, case_sensitive=is_case_sensitive(spark)
    )
    _define(environment, spark, name, properties.get("location"), definition, base, rows)


def _replaced(catalog: Catalog, identifier: TableIdentifier) -> LoadedTable:
    """The table that is replaced. Raises AlreadyExistsError if Spark's session catalog has another of the name."""
    try:
        return catalog.load_table(identifier)
    except NotFoundError:
        if not catalog.table_exists(identifier):
            raise
        name = quoted(catalog.name, *identifier.namespace, identifier.name)
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=name) from None


def _define(
    environment: Environment,
    spark: SparkSession,
    name: TableName,
    given_location: str | None,
    definition: TableDefinition,
    base: LoadedTable | None,
    query: DataFrame | None,
) -> None:
    """Creates or replaces the table, with the query's rows in one commit."""
    if environment.catalogs.opened.of(name.catalog).cares_for_keyed_tables:
        definition = looking_after_itself(definition)
    kinds = ROWKIND_FIELD.of(definition.properties)
    if query is not None and kinds is not None:
        way_out = "Create the table without AS, and write with INSERT"
        raise AnalysisError("ROW_KINDS_BYPASSED", name=name, column=kinds, way_out=way_out)
    for check in check_constraints(definition.properties):
        require_condition(spark, check.name, check.expression, definition.schema)
    require_no_identity_in_checks(definition.schema, definition.properties)
    require_generated(spark, definition.schema, definition.properties)
    catalog = environment.catalogs.catalog(name.catalog)
    identifier = TableIdentifier(name.parts[1:-1], name.table)
    location = given_location or (base.metadata.location if base else catalog.default_table_location(identifier))
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
    if query is not None and base is None and not catalog.namespace_exists(identifier.namespace):
        raise NotFoundError(
            "SCHEMA_NOT_FOUND", name=quoted(name.catalog, *identifier.namespace)
        )  # before a file is written
    operation = begin_write(metadata, catalog.io, str(name), environment.rng)
    initial = None
    if query is not None:
        try:
            with operation.cleaned_on_failure():
                rows = align(spark, query, name.parts, definition.schema, by_name=False)
                writer = plan_insert(environment.planning).writer
                files = write_files(environment, operation, metadata, rows, writer).data_files
                require_distinct_files(catalog.io, metadata, files, str(name))
                initial = AppendFiles(files)
        except BaseException:
            if base is None:
                catalog.remove_empty_folders(identifier)
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
        action if environment.batch is None else CommitOnce(environment.batch.run, action),
        base=base,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
        queue=environment.queue,
    )


def looking_after_itself(definition: TableDefinition) -> TableDefinition:
    """A table with a key that does not say whether it looks after itself says that it does, so that each engine can
    read it there."""
    if not definition.schema.identifier_field_ids or WRITE_ONLY.of(definition.properties) is not None:
        return definition
    return replace(definition, properties={**definition.properties, WRITE_ONLY.name: "false"})


def _require_no_options(options: Mapping[str, str]) -> None:
    """Raises UnsupportedError for options of writes to existing tables, which have no effect on a new one, except for
    those of an idempotent batch."""
    if replace(write_options(options), batch=None) != WriteOptions():
        reason = "it is about a write to a table that is there. Use tableProperty for the new one"
        raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name=", ".join(sorted(options)), reason=reason)


def _query_schema(query: DataFrame | None) -> Schema | None:
    """The query's columns, all optional, as in Spark's CREATE TABLE … AS."""
    return None if query is None else schema_from_spark(as_nullable(query.schema.jsonValue()))
