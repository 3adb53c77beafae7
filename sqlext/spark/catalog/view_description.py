"""Descriptions of views for the shim, with the settings that Spark's session catalog stores with a view."""

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
from sqlext.spark.shim.java_objects import java_rows, jvm
from sqlext.spec.metadata.view_metadata import SPARK_DIALECT, ViewMetadata
from sqlext.spec.schema import Schema

COMMENT = "comment"
# Iceberg's property for the query's own column names, which may differ from the view's.
QUERY_COLUMNS = "spark.query-column-names"
# Settings that change the meaning of SQL text. A version's summary has their values.
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
    """Properties of a view's analysed query.

    `views`: full names of the views of sqlext catalogs that it reads, directly or through views. `temporary`: names of
    session objects that it refers to. `unnamed`: columns whose names Spark generated.
    """

    views: tuple[tuple[str, ...], ...]
    temporary: tuple[str, ...]
    unnamed: tuple[str, ...]


def query_of_view(spark: SparkSession, query: DataFrame) -> ViewQuery:
    """The properties of a query, found by the shim in its plan."""
    found = json.loads(jvm(spark).org.apache.spark.sql.sqlext.Views.describe(java_rows(query)))
    return ViewQuery(tuple(map(tuple, found["views"])), tuple(found["temporary"]), tuple(found["unnamed"]))


def current_settings(spark: SparkSession) -> Mapping[str, str]:
    """The session's values of `SETTINGS`."""
    return {name: str(spark.conf.get(name)) for name in SETTINGS}


def describe_view(catalog: str, view: LoadedView) -> Mapping[str, Any]:
    """The JSON for `SqlextView`. Raises UnsupportedError for a view without a representation in Spark's SQL."""
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
    """The description of a query that no catalog stores; names in `sql` are full."""
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
    """The query of the current version. Raises UnsupportedError if it has no representation in Spark's SQL."""
    sql = metadata.version().sql(SPARK_DIALECT)
    if sql is None:
        dialects = ", ".join(sorted({str(one.get("dialect")) for one in metadata.version().representations}))
        raise UnsupportedError("VIEW_DIALECT_NOT_READ", name=name, dialects=dialects or "no dialect")
    return sql


def shown_properties(metadata: ViewMetadata) -> dict[str, str]:
    """The properties that the user set."""
    return {key: value for key, value in metadata.properties.items() if key not in (COMMENT, QUERY_COLUMNS)}


def _details(catalog: str, view: LoadedView) -> list[list[str]]:
    """The rows of DESCRIBE EXTENDED after the columns, as for a view of Spark's session catalog."""
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
    """The catalog and namespace in which names of the query are resolved."""
    version = metadata.version()
    return (version.default_catalog or catalog, *version.default_namespace)


def _settings(catalog: str, metadata: ViewMetadata) -> Mapping[str, str]:
    version = metadata.version()
    kept = {f"view.sqlConfig.{name}": version.summary[name] for name in SETTINGS if name in version.summary}
    return {**_shown_as(_place(catalog, metadata), _query_columns(metadata)), **kept}


def _shown_as(place: Sequence[str], columns: Sequence[str]) -> Mapping[str, str]:
    """Spark's properties for the namespace in which names of the query are resolved, and for the query's columns."""
    return {
        "view.schemaMode": "COMPENSATION",
        "view.catalogAndNamespace.numParts": str(len(place)),
        **{f"view.catalogAndNamespace.part.{index}": part for index, part in enumerate(place)},
        "view.query.out.numCols": str(len(columns)),
        **{f"view.query.out.col.{index}": name for index, name in enumerate(columns)},
    }


def _query_columns(metadata: ViewMetadata) -> Sequence[str]:
    """The query's column names at creation, which exclude columns added to a table later; the view's if none are
    stored."""
    names = [field.name for field in metadata.schema().fields]
    kept = metadata.properties.get(QUERY_COLUMNS, "").split(",")
    return kept if len(kept) == len(names) else names
