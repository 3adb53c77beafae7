"""Upsert by equality deletes, as by Flink's sink: new rows and deletes of their keys, without reading the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.command.change.checked_rows import with_violations
from sqlext.command.change.distribution import arrangement, order, partition_expressions
from sqlext.command.change.read_set import OF_SOURCE, ReadSet, read_set_of
from sqlext.command.change.row_level import Target, commit_change, row_delta
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.upsert.change_batch import ChangeBatch
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.command.writing import write_by
from sqlext.commit.loop.conflict import SERIALIZABLE, SNAPSHOT
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.commit.rules.upsert_rules import partition_not_in_key
from sqlext.spark.query.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.row_operation import UPDATE
from sqlext.write.task import WriteTask, upsert_rows


def upsert_by_equality(
    environment: Environment, target: Target, batch: ChangeBatch, writer: Writer, source: DataFrame
) -> Counts:
    """Writes and commits the batch's rows, with equality deletes of their keys. Which keys existed is not known.

    `source` is the query that they come from; see `_commit_by_equality`.
    """
    metadata = target.table.metadata

    def by_key(rows: DataFrame) -> DataFrame:
        if bucket_count(metadata) is not None:
            # All rows of a key are in one bucket, and all rows of a bucket come to one task.
            rows = rows.repartition(*map(F.expr, partition_expressions(metadata)))
        elif not batch.one_row_a_key:
            rows = rows.repartition(*(F.col(quote_identifier(f.name)) for f in metadata.schema().identifier_fields))
        return order(rows, metadata)

    def write(operation: WriteOperation, task: WriteTask) -> WrittenFiles:
        rows = with_violations(batch.rows, operation.plan, operations=True)
        return write_by(writer, rows, task, by_key, arrangement(metadata))

    distinct = not batch.one_row_a_key
    return _commit_by_equality(environment, target, write, distinct_keys=distinct, source=source)


def upsert_given(
    environment: Environment,
    target: Target,
    rows: pa.Table,
    *,
    distinct_keys: bool = False,
    source: DataFrame | None = None,
) -> Counts:
    """Upserts rows that the driver has, in the table's columns and order, from `source` if they are not literals.

    With `distinct_keys`, raises DataError DUPLICATE_KEY if two have the same key. See `_commit_by_equality`.
    """
    changes = as_updates(rows)

    def write(_: WriteOperation, task: WriteTask) -> WrittenFiles:
        return write_on_driver(changes, task)

    return _commit_by_equality(environment, target, write, distinct_keys=distinct_keys, source=source)


def as_updates(rows: pa.Table) -> pa.Table:
    """The rows with `__operation` before the table's columns, all updates."""
    operations = pa.repeat(pa.scalar(UPDATE, pa.int8()), rows.num_rows)
    return rows.add_column(0, pa.field("__operation", pa.int8()), operations)


def _commit_by_equality(
    environment: Environment,
    target: Target,
    write: Callable[[WriteOperation, WriteTask], WrittenFiles],
    *,
    distinct_keys: bool,
    source: DataFrame | None,
) -> Counts:
    """Commits what `write` writes with the task, whose input has `__operation` before the table's columns
    (`upsert_rows`).

    Raises StaleRead if others changed what `source` has read of the target: keys that both change do not tell, as their
    stored rows are not looked for.
    """
    metadata = target.table.metadata
    refused = partition_not_in_key(metadata.schema(), metadata.spec(), str(target.name))
    if refused is not None:
        raise refused
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    key_ids = metadata.schema().identifier_field_ids
    task = upsert_rows(operation.plan, key_ids, task_identity=task_identity, distinct_keys=distinct_keys)
    with operation.cleaned_on_failure():
        written = write(operation, task)
        read_set = ReadSet()
        if source is not None:
            read_set = replace(read_set_of(source, target.version, OF_SOURCE, target.overtaken), keys_unique=False)
        isolation = SNAPSHOT if read_set == ReadSet() else SERIALIZABLE
        delta = row_delta(environment, target, operation, written, read_set=read_set, isolation=isolation)
    if delta is not None:
        commit_change(environment, target, delta)
    upserted, deleted = written.counts.get("inserted", 0), written.counts.get("deleted", 0)
    unknown = None if upserted else 0
    return Counts(unknown, unknown, None if deleted else 0, affected=upserted + deleted)
