"""Schema evolution by a write: the target with the new columns of its source.

It is requested by WITH SCHEMA EVOLUTION, by the write option `mergeSchema` (or Iceberg's `merge-schema`), or for a
session by `spark.sql.iceberg.merge-schema`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.change.row_level import Target, with_key
from sqlext.command.environment import Environment
from sqlext.commit.actions.schema_change import schema_updates
from sqlext.spark.catalog.data_type import schema_from_spark
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.metadata.metadata_update import apply_updates
from sqlext.spec.name_case import name_key
from sqlext.spec.nesting import require_levels
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema_change import SchemaChange, changed_schema
from sqlext.spec.schema_union import union_changes
from sqlext.spec.types import NestedField
from sqlext.sql.row_rules import require_generated_kept
from sqlext.sql.statements.statement import Merge
from sqlext.sql.tokens.expression_slice import plain_column

_SESSION_SETTING = "spark.sql.iceberg.merge-schema"


def merges_schema(spark: SparkSession, asked: bool | None) -> bool:
    """Whether a write adds columns: as `asked` by its option, else by the session's setting."""
    return str(spark.conf.get(_SESSION_SETTING, "false")).lower() == "true" if asked is None else asked


def grown_for_rows(
    environment: Environment, spark: SparkSession, target: Target, rows: DataFrame, *, by_name: bool
) -> Target:
    """The target with the columns of `rows` that it lacks. Raises as `changes_for_rows` and `grown`."""
    changes = changes_for_rows(target, rows, by_name=by_name)
    return grown(environment, target, changes, case_sensitive=is_case_sensitive(spark))


def grown(
    environment: Environment, target: Target, changes: Iterable[SchemaChange], *, case_sensitive: bool = False
) -> Target:
    """The target with the schema changes applied; `target` itself if nothing changes.

    Its metadata location is known to this process only. Raises as `changed_schema`, `require_levels` and
    `require_generated_kept`, before Spark takes time for a type that the commit would refuse.
    """
    stored, changes = target.as_stored or target.table, tuple(changes)
    base = stored.metadata
    for change in changes:
        require_generated_kept(change, base.schema(), base.properties)
    schema = changed_schema(
        base.schema(), changes, base.last_column_id, base.format_version, case_sensitive=case_sensitive
    )
    require_levels(schema, base.schema())
    updates = schema_updates(base, schema)
    if not updates:
        return target
    metadata = apply_updates(base, updates, now_ms=environment.clock())
    if target.as_stored is not None:
        metadata = with_key(metadata, target.table.metadata.schema().identifier_field_ids)
    token = uuid.UUID(int=environment.rng.getrandbits(128), version=4)
    table = LoadedTable(target.table.identifier, metadata, f"{target.table.metadata_location}~{token}")
    held = environment.catalogs.remembered.hold(table.metadata_location, metadata)
    version = replace(
        target.version,
        handle=replace(target.version.handle, metadata_location=table.metadata_location),
        metadata=metadata,
    )
    return replace(target, table=table, version=version, grown_from=stored, held=held)


def changes_for_rows(target: Target, rows: DataFrame, *, by_name: bool) -> Iterable[SchemaChange]:
    """Schema changes that the table needs to store all columns of `rows`. Unless `by_name`, columns match by position,
    and those beyond the table's are new."""
    metadata = target.table.metadata
    columns = metadata.schema().fields
    incoming = _fields(rows)
    if not by_name:
        places = zip(columns, incoming, strict=False)
        incoming = [*(replace(given, name=field.name) for field, given in places), *incoming[len(columns) :]]
    return union_changes(
        columns, incoming, metadata.format_version, case_sensitive=is_case_sensitive(rows.sparkSession)
    )


def changes_for_merge(target: Target, merge: Merge, source: DataFrame) -> Iterable[SchemaChange]:
    """Schema changes that the table needs for the source columns that clauses take over: all with a star, else those
    assigned to a column of their own name."""
    metadata = target.table.metadata
    incoming = _fields(source)
    exact = is_case_sensitive(source.sparkSession)
    if not any(clause.star for clause in merge.clauses):
        assigned = _columns_taken_over(merge, exact)
        incoming = [field for field in incoming if name_key(field.name, exact) in assigned]
    return union_changes(metadata.schema().fields, incoming, metadata.format_version, case_sensitive=exact)


def _columns_taken_over(merge: Merge, case_sensitive: bool) -> frozenset[str]:
    """Names of columns to which a clause assigns the source column with the same name."""
    assignments = [assignment for clause in merge.clauses for assignment in clause.assignments]
    taken = []
    for assignment in assignments:
        value = plain_column(assignment.value.text)
        name = name_key(assignment.column[-1], case_sensitive)
        if value is not None and name_key(value[-1], case_sensitive) == name:
            taken.append(name)
    return frozenset(taken)


def _fields(rows: DataFrame) -> Sequence[NestedField]:
    fields = schema_from_spark(rows.schema.jsonValue()).fields
    return [field for field in fields if field.name.lower() != ROW_KIND.name]
