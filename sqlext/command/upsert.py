"""Upsert by primary key, in two ways (design, section 4).

By equality deletes, the way of Flink's sink: the new rows and the keys they replace are written, the target is not
read, and the cost follows the change. Resolved: the keys of the target are read for the positions of the old rows, and
readers have no join to make. A key that comes twice in one batch is an error that names it, as there is no order by
which one of the rows could win.
"""

from __future__ import annotations

from dataclasses import replace

import numpy
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.distribution import order
from sqlext.command.enforced_key import have_plain_keys
from sqlext.command.environment import Environment
from sqlext.command.held_rows import hold
from sqlext.command.outcome import Counts
from sqlext.command.row_level import Target, commit_change, has_row_ids, row_delta
from sqlext.command.write_operation import begin_write
from sqlext.errors import AnalysisError
from sqlext.scan.key_lookup import find_keys, key_range, lookup_bytes, row_ids
from sqlext.spark import journal
from sqlext.spark.lowered_sql import lowered_query
from sqlext.spark.write_job import is_small, run_write, task_identity, write_on_driver
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.spec.transform import VoidTransform
from sqlext.spec.types import VariantType
from sqlext.sql.quoting import quote_identifier
from sqlext.write.distinct_keys import require_distinct
from sqlext.write.task import upsert_rows, write_rows

# Above this the target's keys are no more read by the driver, but joined by Spark.
_LOOKUP_BYTES = 256 * 1024 * 1024


def upsert_by_equality(environment: Environment, spark: SparkSession, target: Target, lowered: str) -> Counts:
    """Writes and commits the rows of `lowered`, a SELECT of whole rows in the table's columns."""
    metadata = target.table.metadata
    check_partition_sources(metadata.schema(), metadata.spec(), str(target.name))
    journal.record(lowered)
    operation = begin_write(metadata, target.version.io, str(target.name), environment.rng)
    rows = hold(lowered_query(spark, lowered), operation.plan)
    on_driver = is_small(rows)
    if not on_driver:
        rows = rows.repartition(*(F.col(quote_identifier(f.name)) for f in metadata.schema().identifier_fields))
    rows = order(rows, metadata, one_task=on_driver)
    with operation.cleaned_on_failure():
        task = upsert_rows(operation.plan, metadata.schema().identifier_field_ids, task_identity=task_identity)
        written = run_write(rows, task, on_driver=on_driver)
        delta = row_delta(environment, target, operation, written, read_filter=None, isolation="snapshot")
    if delta is not None:
        commit_change(environment, target, delta)
    return Counts(None, None, 0, affected=sum(file.record_count for file in written.data_files))


def deletes_reach_all(environment: Environment, target: Target) -> bool:
    """Whether equality deletes of the current spec reach all data files: those of a partitioned one only its own."""
    metadata = target.table.metadata
    if len(metadata.partition_specs) == 1 or metadata.spec().is_unpartitioned:
        return True
    return environment.scans.data_spec_ids(target.version) <= {metadata.default_spec_id}


def can_look_up(environment: Environment, target: Target, source: DataFrame) -> bool:
    """Whether a small source may be resolved by the driver: the target's keys fit, and no join decides what is live."""
    plan = environment.scans.plan(target.version, AlwaysTrue())
    schema = target.table.metadata.schema()
    key_ids = schema.identifier_field_ids
    if not have_plain_keys(schema) or any(isinstance(schema.field(id).type, VariantType) for id in schema.field_ids):
        return False
    by_field_id = environment.scans.reads_by_field_id(target.version, plan)
    fits = by_field_id and not plan.equality_groups and lookup_bytes(plan, key_ids) <= _LOOKUP_BYTES
    return fits and is_small(source)


def upsert_by_lookup(
    environment: Environment, spark: SparkSession, target: Target, lowered: str, isolation: str
) -> Counts:
    """Writes and commits the rows of `lowered`, with position deletes of the target's rows that have their keys.

    The source is evaluated once, and its rows are small. Errors: DataError DUPLICATE_KEY.
    """
    schema = target.table.metadata.schema()
    journal.record(lowered)
    operation = begin_write(target.table.metadata, target.version.io, str(target.name), environment.rng)
    held = hold(lowered_query(spark, lowered), operation.plan)
    rows = order(held, target.table.metadata, one_task=True).toArrow()
    key_ids = schema.identifier_field_ids
    keys = rows.select([schema.field(field_id).name for field_id in key_ids])
    require_distinct(keys, str(target.name))
    read: Predicate = (key_range(keys, key_ids) if rows.num_rows else None) or AlwaysTrue()
    plan = environment.scans.plan(target.version, read)
    matches = find_keys(target.version.io, plan, keys, key_ids)
    with operation.cleaned_on_failure():
        replaced_ids = row_ids(target.version.io, plan, matches) if has_row_ids(target) else None
        write_plan = operation.plan if replaced_ids is None else operation.plan.with_row_ids()
        task = write_rows(write_plan, task_identity=task_identity)
        written = write_on_driver(_new_rows(rows, matches.key_rows, replaced_ids, len(schema.fields)), task)
        written = replace(written, positions=matches.positions)
        delta = row_delta(
            environment, target, operation, written, read_filter=None, isolation=isolation, unique_key=True
        )
    if delta is not None:
        commit_change(environment, target, delta)
    updated = len(matches.key_rows)
    return Counts(sum(file.record_count for file in written.data_files) - updated, updated, 0)


def _new_rows(rows: pa.Table, key_rows: numpy.ndarray, replaced_ids: pa.Array | None, columns: int) -> pa.Table:
    """The source's rows, each as often as the target has its key (a key is not enforced), and once where it has not.

    `replaced_ids`, the row ids of the replaced rows, come behind the table's columns; null in a row that is new.
    """
    if replaced_ids is None and len(numpy.unique(key_rows)) == len(key_rows):
        return rows
    absent = numpy.setdiff1d(numpy.arange(rows.num_rows), key_rows)
    wanted = numpy.concatenate([key_rows, absent])
    order = numpy.argsort(wanted, kind="stable")
    chosen = rows.take(pa.array(wanted[order]))
    if replaced_ids is None:
        return chosen
    ids = pa.concat_arrays([replaced_ids, pa.nulls(len(absent), pa.int64())]).take(pa.array(order))
    return chosen.add_column(columns, ROW_ID.name, ids)


def check_partition_sources(schema: Schema, spec: PartitionSpec, name: str) -> None:
    """An equality delete reaches only its own partition: every partition source column must be part of the key."""
    for field in spec.fields:
        if not isinstance(field.transform, VoidTransform) and field.source_id not in schema.identifier_field_ids:
            raise AnalysisError(
                "UPSERT_PARTITION_NOT_IN_KEY", name=name, column=schema.column_name(field.source_id), field=field.name
            )
