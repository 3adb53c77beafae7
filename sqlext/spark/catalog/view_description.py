"""A view as the shim shows it to Spark: with the settings by which Spark's session catalog remembers a view."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.identifier import quoted
from sqlext.catalog.view_catalog import LoadedView
from sqlext.errors import UnsupportedError
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spec.metadata.view_metadata import SPARK_DIALECT, ViewMetadata
from sqlext.spec.schema import Schema

COMMENT = "comment"
# Iceberg's name for the columns of the query, which the view may call otherwise.
QUERY_COLUMNS = "spark.query-column-names"
# What one text of SQL means differs by these. Kept in the summary of a version, under their names.
SETTINGS = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.session.timeZone",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.timestampType",
)


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """What an analysed query of a view reads and gives.

    `views` are the whole names of the views of sqlext catalogs behind it, at any depth; `temporary` is what it names
    that ends with the session; `unnamed` are the columns that Spark has named.
    """

    views: tuple[tuple[str, ...], ...]
    temporary: tuple[str, ...]
    unnamed: tuple[str, ...]


def query_of_view(spark: SparkSession, query: DataFrame) -> ViewQuery:
    """What the shim finds in the query's plan."""
    found = json.loads(spark._jvm.org.apache.spark.sql.sqlext.Views.describe(query._jdf))
    return ViewQuery(tuple(map(tuple, found["views"])), tuple(found["temporary"]), tuple(found["unnamed"]))


def current_settings(spark: SparkSession) -> Mapping[str, str]:
    """The session's values of `SETTINGS`."""
    return {name: str(spark.conf.get(name)) for name in SETTINGS}


def describe_view(catalog: str, view: LoadedView) -> Mapping[str, Any]:
    """The JSON that `SqlextView` is made of. UnsupportedError for a view without a query in Spark's SQL."""
    metadata, identifier = view.metadata, view.identifier
    described = {
        "namespace": list(identifier.namespace),
        "name": identifier.name,
        "sql": spark_sql(f"{catalog}.{identifier}", metadata),
        "schema": schema_to_spark(metadata.schema()),
        "settings": _settings(catalog, metadata),
        "properties": shown_properties(metadata),
        "description": _details(catalog, view),
    }
    if COMMENT in metadata.properties:
        described["comment"] = metadata.properties[COMMENT]
    return described


def describe_query(catalog: str, namespace: Sequence[str], name: str, sql: str, schema: Schema) -> Mapping[str, Any]:
    """The description of a query that no catalog keeps; each name in it has its catalog and namespace."""
    return {
        "namespace": list(namespace),
        "name": name,
        "sql": sql,
        "schema": schema_to_spark(schema),
        "settings": _shown_as((catalog, *namespace), [field.name for field in schema.fields]),
        "properties": {},
        "description": [],
    }


def spark_sql(name: str, metadata: ViewMetadata) -> str:
    """The query of the current version; UnsupportedError where it has none in Spark's SQL."""
    sql = metadata.version().sql(SPARK_DIALECT)
    if sql is None:
        dialects = ", ".join(sorted({str(one.get("dialect")) for one in metadata.version().representations}))
        raise UnsupportedError("VIEW_DIALECT_NOT_READ", name=name, dialects=dialects or "no dialect")
    return sql


def shown_properties(metadata: ViewMetadata) -> dict[str, str]:
    """What the user gave the view."""
    return {key: value for key, value in metadata.properties.items() if key not in (COMMENT, QUERY_COLUMNS)}


def _details(catalog: str, view: LoadedView) -> list[list[str]]:
    """DESCRIBE EXTENDED, behind the columns: what Spark tells of a view of its session catalog."""
    metadata, identifier = view.metadata, view.identifier
    properties = ",".join(f"{key}={value}" for key, value in sorted(shown_properties(metadata).items()))
    details = {
        "Name": quoted(catalog, *identifier.namespace, identifier.name),
        "Type": "VIEW",
        "Comment": metadata.properties.get(COMMENT, ""),
        "View Text": spark_sql(f"{catalog}.{identifier}", metadata),
        "View Catalog and Namespace": quoted(*_place(catalog, metadata)),
        "View Query Output Columns": f"[{', '.join(_query_columns(metadata))}]",
        "View Properties": f"[{properties}]",
    }
    return [
        ["", "", ""],
        ["# Detailed View Information", "", ""],
        *([name, value, ""] for name, value in details.items() if value),
    ]


def _place(catalog: str, metadata: ViewMetadata) -> tuple[str, ...]:
    """The catalog and namespace that names in the query are resolved in."""
    version = metadata.version()
    return (version.default_catalog or catalog, *version.default_namespace)


def _settings(catalog: str, metadata: ViewMetadata) -> Mapping[str, str]:
    version = metadata.version()
    kept = {f"view.sqlConfig.{name}": version.summary[name] for name in SETTINGS if name in version.summary}
    return {**_shown_as(_place(catalog, metadata), _query_columns(metadata)), **kept}


def _shown_as(place: Sequence[str], columns: Sequence[str]) -> Mapping[str, str]:
    """Where names of a view's query are resolved, and the columns that it gives."""
    return {
        "view.schemaMode": "COMPENSATION",
        "view.catalogAndNamespace.numParts": str(len(place)),
        **{f"view.catalogAndNamespace.part.{index}": part for index, part in enumerate(place)},
        "view.query.out.numCols": str(len(columns)),
        **{f"view.query.out.col.{index}": name for index, name in enumerate(columns)},
    }


def _query_columns(metadata: ViewMetadata) -> Sequence[str]:
    """By their names at creation, so that columns a table gets later stay out; the view's own where none are kept."""
    names = [field.name for field in metadata.schema().fields]
    kept = metadata.properties.get(QUERY_COLUMNS, "").split(",")
    return kept if len(kept) == len(names) else names
