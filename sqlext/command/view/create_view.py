"""CREATE VIEW and ALTER VIEW … AS: the query's text is stored unchanged, after Spark has analysed it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.view.temporary_view import require_permanent
from sqlext.commit.loop.view_change import commit_view
from sqlext.commit.snapshot.engine import ENGINE_NAME, ENGINE_VERSION
from sqlext.errors import AlreadyExistsError, AnalysisError, UnsupportedError
from sqlext.property_names import require_no_secrets
from sqlext.spark.catalog.data_type import schema_from_spark
from sqlext.spark.catalog.view_description import COMMENT, QUERY_COLUMNS, current_settings, query_of_view
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.metadata.view_metadata import COMMIT_ID, SPARK_DIALECT, ViewMetadata, ViewVersion, new_view_metadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.sql.statements.statement import Slice, TableName
from sqlext.sql.statements.view_statement import AlterViewQuery, CreateView, ViewColumn

_RESERVED = frozenset({"location", "owner", "provider", QUERY_COLUMNS})


@dataclass(frozen=True, slots=True)
class _Definition:
    """The new version, its schema, and the property with the query's own column names."""

    version: ViewVersion
    schema: Schema
    query_columns: Mapping[str, str]


def create_view(environment: Environment, spark: SparkSession, statement: CreateView) -> Outcome:
    """Runs the statement; no rows. Raises AlreadyExistsError, or AnalysisError for the name of a table."""
    catalog = environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
    exists = catalog.table_exists(identifier)
    if exists and statement.if_not_exists:
        return Outcome()
    if exists and not statement.or_replace:
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=statement.name)
    base = catalog.views.load_view(identifier) if exists else None
    require_view_properties(statement.properties)
    definition = _define(environment, spark, statement.name, statement.query, statement.current, statement.columns)
    properties = {**statement.properties, **definition.query_columns}
    if statement.comment is not None:
        properties[COMMENT] = statement.comment

    def change(current: ViewMetadata | None) -> ViewMetadata:
        if current is None:
            location = catalog.views.default_view_location(identifier)
            return new_view_metadata(_uuid(environment), location, properties, definition.version, definition.schema)
        return replace(current, properties=properties).with_version(definition.version, definition.schema)

    commit_view(
        catalog,
        identifier,
        change,
        base=base,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
    )
    return Outcome()


def alter_view_query(environment: Environment, spark: SparkSession, statement: AlterViewQuery) -> Outcome:
    """Runs the statement; no rows. Columns are those of the new query; comment and properties stay."""
    require_permanent(spark, statement.name)
    catalog = environment.catalogs.catalog(statement.name.catalog)
    identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
    base = catalog.views.load_view(identifier)
    definition = _define(environment, spark, statement.name, statement.query, statement.current, ())

    def change(current: ViewMetadata | None) -> ViewMetadata:
        assert current is not None
        properties = {**current.properties, **definition.query_columns}
        return replace(current, properties=properties).with_version(definition.version, definition.schema)

    commit_view(
        catalog,
        identifier,
        change,
        base=base,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
    )
    return Outcome()


def require_view_properties(properties: Mapping[str, str]) -> None:
    """Raises AnalysisError for a property with the name of a secret, or one that the view's metadata has elsewhere."""
    require_no_secrets(properties)
    for name in properties:
        if name in _RESERVED:
            reason, way_out = "the metadata tells it", "the statement without it"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)


def _define(
    environment: Environment,
    spark: SparkSession,
    name: TableName,
    query: Slice,
    current: tuple[str, ...],
    columns: tuple[ViewColumn, ...],
) -> _Definition:
    rows = lowered_query(spark, query.text)
    found = query_of_view(spark, rows)
    if found.temporary:
        raise AnalysisError("INVALID_TEMP_OBJ_REFERENCE", name=name, object=found.temporary[0])
    if any(_folded(view) == _folded(name.parts) for view in found.views):
        raise AnalysisError("RECURSIVE_VIEW", name=name)
    if found.unnamed and not columns:
        raise UnsupportedError("CREATE_PERMANENT_VIEW_WITHOUT_ALIAS", name=name, column=found.unnamed[0])
    schema = schema_from_spark(json.loads(rows.schema.json()))
    names = [field.name for field in schema.fields]
    version = ViewVersion(
        version_id=1,
        schema_id=0,
        timestamp_ms=environment.clock(),
        summary={
            "engine-name": ENGINE_NAME,
            "engine-version": ENGINE_VERSION,
            **current_settings(spark),
            COMMIT_ID: _uuid(environment),
        },
        representations=({"type": "sql", "sql": query.text, "dialect": SPARK_DIALECT},),
        default_namespace=current[1:],
        default_catalog=current[0],
    )
    return _Definition(version, _renamed(name, schema, columns), {QUERY_COLUMNS: _joined(name, names)})


def _renamed(name: TableName, schema: Schema, columns: tuple[ViewColumn, ...]) -> Schema:
    """The query's columns with the names and comments of the statement, all optional."""
    if columns and len(columns) != len(schema.fields):
        written = ", ".join(column.name for column in columns)
        raise AnalysisError("CREATE_VIEW_COLUMN_ARITY_MISMATCH", name=name, columns=written, count=len(schema.fields))
    named: tuple[ViewColumn, ...] = columns or tuple(ViewColumn(field.name) for field in schema.fields)
    fields = tuple(_column(field, column) for field, column in zip(schema.fields, named, strict=True))
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise AnalysisError("COLUMN_ALREADY_EXISTS", column=field.name)
        seen.add(field.name.lower())
    return Schema(fields)


def _column(field: NestedField, column: ViewColumn) -> NestedField:
    doc = field.doc if column.comment is None else column.comment
    return replace(field, name=column.name, doc=doc, required=False)


def _joined(name: TableName, columns: list[str]) -> str:
    """The column names as Iceberg's Spark views store them. Raises UnsupportedError INVALID_VIEW for a name with a
    comma."""
    for column in columns:
        if "," in column:
            reason = f"a column of its query is called {column}, with a comma. Give it a plain name with AS"
            raise UnsupportedError("INVALID_VIEW", name=name, reason=reason)
    return ",".join(columns)


def _folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def _uuid(environment: Environment) -> str:
    return str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
