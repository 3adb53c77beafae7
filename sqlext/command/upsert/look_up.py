"""Upsert by look-up: the driver reads the target's keys, and deletes the rows that it finds by position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame

from sqlext.command.change.auto import rewrites_files
from sqlext.command.change.checked_rows import with_violations
from sqlext.command.change.distribution import arrangement
from sqlext.command.change.read_set import OF_SOURCE, ReadSet, read_set_of
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, row_delta, written_plan
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.upsert.change_batch import ChangeBatch
from sqlext.command.upsert.equality import as_updates
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.errors import DataError
from sqlext.scan.key_lookup import find_keys, key_range, row_ids
from sqlext.spark.query.write_job import collect_arranged, task_identity, write_on_driver
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.write.distinct_keys import require_distinct
from sqlext.write.refused_rows import accepted_rows
from sqlext.write.row_operation import DELETE
from sqlext.write.task import write_rows
from sqlext.write.violated_rows import CheckedRows

Otherwise = Callable[[], Counts]


def upsert_by_lookup(
    environment: Environment,
    target: Target,
    batch: ChangeBatch,
    isolation: str,
    writer: Writer,
    too_many: Otherwise,
    rewrites: Otherwise | None,
) -> Counts:
    """Writes the batch's rows, with position deletes for all target rows that have their keys.

    The source is evaluated once. It is evaluated again by the alternatives, of which one is called before anything is
    written: `too_many` if there are more rows than the writer takes, `rewrites` if files are better rewritten.
    """
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    checked = with_violations(batch.rows, operation.plan, operations=True)
    arranged = arrangement(target.table.metadata)
    found = collect_arranged(checked, writer.tried_rows, arranged, writer.most_bytes)
    if found is None:
        return too_many()
    schema = target.table.metadata.schema()
    held = CheckedRows(operation.plan, task_id=0).of(_one_batch(found))
    rows = pa.Table.from_batches([accepted_rows(operation.plan, held, 1)])
    keys = rows.select([field.name for field in schema.identifier_fields])
    for name in keys.column_names:
        if keys.column(name).null_count:
            raise DataError("NULL_IN_REQUIRED_COLUMN", column=name, table=target.name)
    if not batch.one_row_a_key:
        require_distinct(keys, str(target.name))

    def otherwise(positions: Mapping[str, BitMap64]) -> Counts | None:
        if rewrites is None or not rewrites_files(environment, target, positions):
            return None
        return rewrites()

    return _replace_found(environment, target, operation, rows, checked, isolation, otherwise)


def replace_given(
    environment: Environment, target: Target, rows: pa.Table, source: DataFrame | None, isolation: str
) -> Counts:
    """Upserts `rows`, which the driver has from `source`, in the table's columns; None: they are literals. No two have
    the same key."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    return _replace_found(environment, target, operation, as_updates(rows), source, isolation)


def _replace_found(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    rows: pa.Table,
    source: DataFrame | None,
    isolation: str,
    otherwise: Callable[[Mapping[str, BitMap64]], Counts | None] = lambda _: None,
) -> Counts:
    """Writes and commits `rows` from `source`, with `__operation` before the table's columns and distinct keys.

    `otherwise` is called with the positions of the rows to delete; if it returns counts, nothing is written here.
    """
    schema = target.table.metadata.schema()
    key_ids = schema.identifier_field_ids
    operations = rows.column(0)
    keys = rows.select([schema.field(field_id).name for field_id in key_ids])
    read: Predicate = (key_range(keys, key_ids) if rows.num_rows else None) or AlwaysTrue()
    plan = environment.scans.plan(target.version, read)
    matches = find_keys(target.version.io, plan, keys, key_ids)
    done = otherwise(matches.positions)
    if done is not None:
        return done
    updates = operations.to_numpy() != DELETE
    with operation.cleaned_on_failure():
        replaced_ids = row_ids(target.version.io, plan, matches.positions) if has_row_ids(target) else None
        task = write_rows(written_plan(target, operation), task_identity=task_identity)
        changed = rows.drop_columns(rows.column_names[:1])
        new = _new_rows(changed, updates, matches.key_rows, replaced_ids, len(schema.fields))
        written = write_on_driver(new, task)
        written = replace(written, positions=matches.positions)
        read_set = ReadSet(keys_unique=True)
        if source is not None:
            read_set = read_set_of(source, target.version, OF_SOURCE, target.overtaken)
        delta = row_delta(environment, target, operation, written, read_set=read_set, isolation=isolation)
    if delta is not None:
        commit_change(environment, target, delta)
    updated = len(numpy.unique(matches.key_rows[updates[matches.key_rows]]))
    inserted = sum(file.record_count for file in written.data_files) - updated
    return Counts(inserted, updated, len(matches.key_rows) - updated)


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)


def _new_rows(
    rows: pa.Table, updates: numpy.ndarray, key_rows: numpy.ndarray, replaced_ids: pa.Array | None, columns: int
) -> pa.Table:
    """The rows selected by `updates`; with `replaced_ids` followed by a column with the row ids of the replaced rows.

    The id is null for an inserted row, and that of the first for a row that replaces several (the key is not enforced).
    """
    if replaced_ids is None and updates.all():
        return rows
    kept = updates[key_rows]
    replacing, first = numpy.unique(key_rows[kept], return_index=True)
    absent = numpy.setdiff1d(numpy.flatnonzero(updates), replacing)
    wanted = numpy.concatenate([replacing, absent])
    order = numpy.argsort(wanted, kind="stable")
    chosen = rows.take(pa.array(wanted[order]))
    if replaced_ids is None:
        return chosen
    ids = pa.concat_arrays(
        [replaced_ids.filter(pa.array(kept)).take(pa.array(first)), pa.nulls(len(absent), pa.int64())]
    )
    return chosen.add_column(columns, ROW_ID.name, ids.take(pa.array(order)))
