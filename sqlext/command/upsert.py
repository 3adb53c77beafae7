"""Upsert by equality deletes: the new rows and the keys they replace; the target is not read.

The way of Flink's sink (design, section 4): cost follows the change, not the table. A key that comes twice in one
batch is an error that names it, as there is no order by which one of the rows could win.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.row_level import Target, row_delta
from sqlext.command.write_operation import begin_write
from sqlext.errors import AnalysisError
from sqlext.spark import journal
from sqlext.spark.write_job import SMALL_BYTES, estimated_bytes, run_write, task_identity
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import VoidTransform
from sqlext.sql.quoting import quote_identifier
from sqlext.write.task import upsert_rows


def upsert_by_equality(environment: Environment, spark: SparkSession, target: Target, lowered: str) -> Counts:
    """Writes and commits the rows of `lowered`, a SELECT of whole rows in the table's columns."""
    metadata = target.table.metadata
    check_partition_sources(metadata.schema(), metadata.spec(), str(target.name))
    journal.record(lowered)
    rows = spark.sql(lowered)
    on_driver = estimated_bytes(rows) <= SMALL_BYTES
    if not on_driver:
        rows = rows.repartition(*(F.col(quote_identifier(f.name)) for f in metadata.schema().identifier_fields))
    operation = begin_write(metadata, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        task = upsert_rows(operation.plan, metadata.schema().identifier_field_ids, task_identity=task_identity)
        written = run_write(rows, task, on_driver=on_driver)
        delta = row_delta(environment, target, operation, written, read_filter=None, isolation="snapshot")
    if delta is not None:
        environment.commit(target.name.catalog, target.table, delta)
    return Counts(None, None, 0, affected=sum(file.record_count for file in written.data_files))


def check_partition_sources(schema: Schema, spec: PartitionSpec, name: str) -> None:
    """An equality delete reaches only its own partition: every partition source column must be part of the key."""
    for field in spec.fields:
        if not isinstance(field.transform, VoidTransform) and field.source_id not in schema.identifier_field_ids:
            raise AnalysisError(
                "UPSERT_PARTITION_NOT_IN_KEY", name=name, column=schema.column_name(field.source_id), field=field.name
            )
