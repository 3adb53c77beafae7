"""Statistics of a table's columns: a sketch of the distinct values of each, in one Puffin file (spec: Table
Statistics).

Spark's tasks make the sketches, so that no row passes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.command.maintenance.statistics_commit import commit_statistics, new_location
from sqlext.commit.snapshot.engine import ENGINE_NAME, ENGINE_VERSION
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.session_catalogs import TableVersion, handle_of
from sqlext.spark.catalog.time_travel import Pin
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.field_path import FieldPath, listed_paths, path_text
from sqlext.spec.manifests.puffin import NewBlob, encode_puffin
from sqlext.spec.metadata.metadata_update import SetStatistics
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.statistics_file import DISTINCT_VALUES, THETA_SKETCH, StatisticsFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UnknownType, UuidType, VariantType, is_primitive
from sqlext.sql.tokens.quoting import quote_name, quote_string

# Of one job: a task has a sketch of up to 64 KB for each.
_COLUMNS_AT_ONCE = 256


def compute_statistics(
    environment: Environment,
    spark: SparkSession,
    catalog: str,
    table: LoadedTable,
    snapshot_id: int | None,
    columns: Sequence[FieldPath] | None,
) -> str | None:
    """The location of the new statistics file of a snapshot; None for a table without a snapshot.

    Columns are those of the snapshot's schema, or of the table's if `snapshot_id` is None, which stands for the head of
    main. A path of one name may be a dotted path too. None stands for all columns of types that have statistics.

    Raises NotFoundError SNAPSHOT_NOT_FOUND, AnalysisError STATISTICS_OF_COLUMN or STATISTICS_OF_NO_COLUMN, and as
    `commit_statistics`.
    """
    version = _version(environment, catalog, table, snapshot_id)
    snapshot, schema = version.snapshot, version.schema
    name, exact = version.handle.full_name, is_case_sensitive(spark)
    if columns is None:
        found = [field for field in schema.fields if _flaw(schema, field) is None]
    else:
        found = [_field(schema, path, name, exact) for path in columns]
    if not found:
        raise AnalysisError("STATISTICS_OF_NO_COLUMN", name=name)
    if snapshot is None:
        return None
    # A column that is named twice is one.
    fields = list({field.id: field for field in found}.values())
    blobs: list[NewBlob] = []
    for first in range(0, len(fields), _COLUMNS_AT_ONCE):
        blobs += _sketches(spark, version, snapshot, fields[first : first + _COLUMNS_AT_ONCE])
    file = encode_puffin(blobs, created_by=f"{ENGINE_NAME} {ENGINE_VERSION}")
    location = new_location(environment, table.metadata, str(snapshot.snapshot_id), ".stats")
    statistics = StatisticsFile(snapshot.snapshot_id, location, len(file.data), file.footer_size, file.blobs)
    commit_statistics(environment, catalog, table, file.data, SetStatistics(statistics))
    return location


def _version(environment: Environment, catalog: str, table: LoadedTable, snapshot_id: int | None) -> TableVersion:
    handle = handle_of(catalog, table)
    if snapshot_id is not None and table.metadata.snapshot_or_none(snapshot_id) is None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=snapshot_id, name=handle.full_name)
    return environment.catalogs.version(replace(handle, snapshot_id=snapshot_id))


def _field(schema: Schema, path: FieldPath, name: str, case_sensitive: bool) -> NestedField:
    """Raises AnalysisError STATISTICS_OF_COLUMN for a field that is not there or has no statistics."""
    field = schema.field_at(path, case_sensitive)
    dotted = listed_paths(path[0]) if field is None and len(path) == 1 else None
    if dotted is not None and len(dotted) == 1:
        field = schema.field_at(dotted[0], case_sensitive)
    flaw = "there is no such column" if field is None else _flaw(schema, field)
    if field is None or flaw is not None:
        raise AnalysisError("STATISTICS_OF_COLUMN", column=path_text(path), name=name, reason=flaw)
    return field


def _flaw(schema: Schema, field: NestedField) -> str | None:
    """Why there are no statistics of a field; None if there are."""
    if not schema.is_reachable(field.id):
        return "a row has many values of it"
    if not is_primitive(field.type):
        return "its type is nested"
    if isinstance(field.type, VariantType | UnknownType):
        return f"values of the type {field.type} are not counted"
    return None


def _sketches(
    spark: SparkSession, version: TableVersion, snapshot: Snapshot, fields: Sequence[NestedField]
) -> Iterator[NewBlob]:
    """The blobs of some columns, computed by one job."""
    values = ", ".join(f"sqlext_theta_sketch({_value(version.schema, field)})" for field in fields)
    text = f"SELECT {values} FROM {_relation(version, snapshot)}"
    log_lowered(text)
    for field, found in zip(fields, lowered_query(spark, text).collect()[0], strict=True):
        yield NewBlob(
            THETA_SKETCH,
            bytes(found["sketch"]),
            (field.id,),
            {DISTINCT_VALUES: str(found["ndv"])},
            snapshot.snapshot_id,
            snapshot.sequence_number,
        )


def _value(schema: Schema, field: NestedField) -> str:
    """The column in SQL; of a uuid the 16 bytes of its single value, which Spark shows as text."""
    path = quote_name(schema.column_path(field.id))
    return f"unhex(replace({path}, '-', ''))" if isinstance(field.type, UuidType) else path


def _relation(version: TableVersion, snapshot: Snapshot) -> str:
    """The rows of the snapshot, with the columns of the version."""
    handle = version.handle
    assert handle.catalog is not None
    file = handle.metadata_location.rpartition("/")[2]
    place = Pin(file).version if handle.snapshot_id is None else str(snapshot.snapshot_id)
    return f"{quote_name((handle.catalog, *handle.namespace, handle.name))} VERSION AS OF {quote_string(place)}"
