"""Upsert by primary key, in two ways (design, section 4).

By equality deletes, the way of Flink's sink: the new rows and the keys they replace are written, the target is not
read, and the cost follows the change. Resolved: the keys of the target are read for the positions of the old rows, and
readers have no join to make. `change_batch` says which of several rows of one key counts. Where the table declares an
order of rows (`write.upsert.sequence-field`), the resolved way leaves a row alone that lies behind the new one; the
equality way does not know it, and the order of commits decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.auto import rewrites_files
from sqlext.command.change.distribution import arrangement, order, partition_expressions
from sqlext.command.change.enforced_key import have_plain_keys
from sqlext.command.change.explanation import Explanation, explained
from sqlext.command.change.held_rows import hold
from sqlext.command.change.mode import by_mode
from sqlext.command.change.reads import OWN_KEYS, Reach, Reads, reads_of
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, row_delta
from sqlext.command.change.strategy import Choice, RowChange, first_trying, likely_few, most_rows
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.upsert.change_batch import ChangeBatch, change_batch
from sqlext.command.upsert.given_changes import stores_given, write_given
from sqlext.command.upsert.merge_rows import engine_of, explain_merge_rows, merge_rows
from sqlext.command.upsert.own_keys import rows_of_own_keys
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.commit.rules.sequence_field import row_order
from sqlext.commit.rules.upsert_rules import partition_not_in_key
from sqlext.errors import AnalysisError, DataError, UnsupportedError
from sqlext.properties import AUTO, MERGE_MODE, UPSERT_MODE, row_level_mode
from sqlext.scan.key_lookup import find_keys, key_range, lookup_bytes, row_ids
from sqlext.spark.query.driver_rows import ALL_ROWS, estimate
from sqlext.spark.query.temporary_relation import named_rows
from sqlext.spark.query.write_job import (
    WrittenFiles,
    collect_arranged,
    run_few,
    run_write,
    task_identity,
    write_on_driver,
)
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.row_order import UNORDERED
from sqlext.spec.types import VariantType
from sqlext.sql.lowering.keyed_changes import lower_keyed_changes
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.distinct_keys import require_distinct
from sqlext.write.refused_rows import accepted_rows
from sqlext.write.row_operation import DELETE, UPDATE
from sqlext.write.task import WriteTask, upsert_rows, write_rows

# Above this the target's keys are no more read by the driver, but joined by Spark.
_LOOKUP_BYTES = 256 * 1024 * 1024


def upsert(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    rows: DataFrame,
    *,
    isolation: str = SNAPSHOT,
    in_order: bool = False,
) -> Counts:
    """Writes and commits the rows by their keys: as the table's merge engine says, or in the place of those there.

    They are in the table's columns, and may have `ROW_KIND` behind them. Errors: AnalysisError where the table cannot
    take rows by key, DataError for rows that it does not take or among which none of a key can win. See `change_batch`
    for `in_order`.
    """
    require_upsertable(target)

    def write(target: Target, rows: DataFrame) -> Counts:
        engine = engine_of(target)
        if engine is not None:
            return merge_rows(environment, spark, target, engine, rows, isolation=isolation, in_order=in_order)
        return replace_by_key(environment, spark, target, rows, isolation=isolation, in_order=in_order)

    if stores_given(target):
        return write_given(environment, spark, target, rows, write, in_order=in_order)
    return write(target, rows)


def replace_by_key(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    rows: DataFrame,
    *,
    isolation: str = SNAPSHOT,
    in_order: bool = False,
) -> Counts:
    """Each row in the place of the one with its key, the way that the table's `write.upsert.mode` names; likewise."""
    require_upsertable(target)
    by_equality = goes_by_equality(environment, target)
    can_be_held = in_order and (by_equality or _marks_rows_found(environment, target))
    held = rows_of_own_keys(target, rows) if can_be_held else None
    if held is not None and by_equality:
        return upsert_held(environment, target, held)
    if held is not None:
        operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
        return _replace_found(environment, target, operation, _as_updates(held), rows, isolation)
    batch = change_batch(target, rows, in_order=in_order)
    if by_equality:
        return upsert_by_equality(environment, target, batch)
    with _resolved(environment, target, batch, isolation) as choice:
        return choice.carry_out(environment, spark, target)


def explain_upsert(environment: Environment, spark: SparkSession, target: Target, rows: DataFrame) -> Explanation:
    """How `upsert` would write the rows. Errors likewise, but for those of the rows."""
    require_upsertable(target)
    engine = engine_of(target)
    if engine is not None:
        return explain_merge_rows(environment, spark, target, engine, rows, isolation=SNAPSHOT)
    return explain_replace_by_key(environment, spark, target, rows)


def explain_replace_by_key(
    environment: Environment, spark: SparkSession, target: Target, rows: DataFrame
) -> Explanation:
    """How `replace_by_key` would."""
    require_upsertable(target)
    batch = change_batch(target, rows)
    if goes_by_equality(environment, target):
        return Explanation("key upsert by equality deletes", f"{UPSERT_MODE.name} is equality", batch.rows)
    with _resolved(environment, target, batch, SNAPSHOT) as choice:
        return explained(environment, spark, target, choice)


def goes_by_equality(environment: Environment, target: Target) -> bool:
    """Whether `write.upsert.mode` says so, and equality deletes can be written that reach all rows."""
    metadata = target.table.metadata
    says_so = UPSERT_MODE.of(metadata.properties) == "equality" and metadata.format_version > 1
    return says_so and _deletes_reach_all(environment, target)


def by_position(target: Target, choice: Choice) -> Choice:
    """The way of an upsert that finds the old rows, with the reason for it before its own."""
    metadata = target.table.metadata
    reason = f"{UPSERT_MODE.name} is {UPSERT_MODE.of(metadata.properties)}"
    if UPSERT_MODE.name not in metadata.properties:
        reason += " where it is not set"
    elif UPSERT_MODE.of(metadata.properties) == "equality" and metadata.format_version > 1:
        reason += ", but would not reach files of an earlier partitioning"
    return replace(choice, reason=f"{reason}; {choice.reason}")


@contextmanager
def _resolved(environment: Environment, target: Target, batch: ChangeBatch, isolation: str) -> Iterator[Choice]:
    """The way of an upsert that finds the old rows. Its SELECT can be run within the block."""
    metadata = target.table.metadata
    by_equality = UPSERT_MODE.of(metadata.properties) == "equality"
    declared = row_order(metadata.schema(), metadata.properties, str(target.name))
    compared = UNORDERED if by_equality else declared
    with named_rows(batch.rows, environment.rng) as relation:
        lowered, one_copy = (
            lower_keyed_changes(
                relation,
                target.relation,
                metadata.schema(),
                one_row_a_key=batch.one_row_a_key,
                one_copy=one_copy,
                kinds=GIVEN_KIND in batch.rows.columns,
                sequence=compared,
                row_ids=has_row_ids(target),
            )
            for one_copy in (False, True)
        )
        reach = replace(OWN_KEYS, alone=not compared)
        expected = estimate(batch.rows)
        few = likely_few(target, expected.rows)
        change = RowChange(
            lowered, isolation, distinct_keys=True, keeps_keys=True, reach=reach, few=few, one_copy=one_copy
        )
        choice = by_position(target, by_mode(target, MERGE_MODE, change))
        if choice.name == "copy-on-write" or compared or not keys_fit(environment, target):
            yield choice
            return

        def look_up_few(
            environment: Environment, spark: SparkSession, target: Target, change: RowChange
        ) -> Counts | None:
            return upsert_few_by_lookup(environment, spark, target, batch, change.isolation)

        if not expected.is_small:
            yield first_trying(choice, expected, look_up_few)
            return
        weighed = choice if choice.name == AUTO else None

        def look_up(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
            counts = upsert_by_lookup(environment, spark, target, batch, change.isolation, weighed)
            return choice.carry_out(environment, spark, target) if counts is None else counts

        found = Choice("key upsert by position", "the source is small", look_up, change, weighed)
        yield found if weighed is not None else by_position(target, found)


def require_upsertable(target: Target, otherwise: str = "add rows with INSERT") -> None:
    """AnalysisError for a table without a key, of which `otherwise` is a way out; UnsupportedError for a nested one."""
    schema = target.table.metadata.schema()
    if not schema.identifier_field_ids:
        raise AnalysisError("UPSERT_WITHOUT_KEY", name=target.name, otherwise=otherwise)
    for id in schema.identifier_field_ids:
        if len(schema.column_path(id)) > 1:
            raise UnsupportedError("UPSERT_NESTED_KEY", name=target.name, column=schema.column_name(id))


def upsert_by_equality(environment: Environment, target: Target, batch: ChangeBatch) -> Counts:
    """Equality deletes of the keys, and the rows. Which keys were there is not known."""
    metadata = target.table.metadata

    def write(operation: WriteOperation, task: WriteTask) -> WrittenFiles:
        rows = hold(batch.rows, operation.plan, operations=True)
        expected = estimate(rows)
        if expected.is_small or expected.may_be_few:
            most = ALL_ROWS if expected.is_small else most_rows(target)
            written = run_few(rows, task, most, arrangement(metadata))
            if written is not None:
                return written
        if bucket_count(metadata) is not None:
            # All rows of a key are in one bucket, and all rows of a bucket come to one task.
            rows = rows.repartition(*map(F.expr, partition_expressions(metadata)))
        elif not batch.one_row_a_key:
            rows = rows.repartition(*(F.col(quote_identifier(f.name)) for f in metadata.schema().identifier_fields))
        return run_write(order(rows, metadata), task)

    return _commit_by_equality(environment, target, write, distinct_keys=not batch.one_row_a_key)


def upsert_held(environment: Environment, target: Target, rows: pa.Table, *, distinct_keys: bool = False) -> Counts:
    """The same of rows that the driver has, in the table's columns and order."""
    changes = _as_updates(rows)

    def write(_: WriteOperation, task: WriteTask) -> WrittenFiles:
        return write_on_driver(changes, task)

    return _commit_by_equality(environment, target, write, distinct_keys=distinct_keys)


def _as_updates(rows: pa.Table) -> pa.Table:
    operations = pa.repeat(pa.scalar(UPDATE, pa.int8()), rows.num_rows)
    return rows.add_column(0, pa.field("__operation", pa.int8()), operations)


def _commit_by_equality(
    environment: Environment,
    target: Target,
    write: Callable[[WriteOperation, WriteTask], WrittenFiles],
    *,
    distinct_keys: bool,
) -> Counts:
    """Commits what the task makes of rows with `__operation` before the table's columns; see `upsert_rows` for it."""
    metadata = target.table.metadata
    refused = partition_not_in_key(metadata.schema(), metadata.spec(), str(target.name))
    if refused is not None:
        raise refused
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    key_ids = metadata.schema().identifier_field_ids
    task = upsert_rows(operation.plan, key_ids, task_identity=task_identity, distinct_keys=distinct_keys)
    with operation.cleaned_on_failure():
        written = write(operation, task)
        delta = row_delta(environment, target, operation, written, reads=Reads(), isolation="snapshot")
    if delta is not None:
        commit_change(environment, target, delta)
    upserted, deleted = written.counts.get("inserted", 0), written.counts.get("deleted", 0)
    unknown = None if upserted else 0
    return Counts(unknown, unknown, None if deleted else 0, affected=upserted + deleted)


def _deletes_reach_all(environment: Environment, target: Target) -> bool:
    """Whether equality deletes of the current spec reach all data files: those of a partitioned one only its own."""
    metadata = target.table.metadata
    if len(metadata.partition_specs) == 1 or metadata.spec().is_unpartitioned:
        return True
    return environment.scans.data_spec_ids(target.version) <= {metadata.default_spec_id}


def keys_fit(environment: Environment, target: Target) -> bool:
    """Whether the driver may look up the keys of a small source: the target's fit, and no join decides what is live."""
    plan = environment.scans.plan(target.version, AlwaysTrue())
    schema = target.table.metadata.schema()
    key_ids = schema.identifier_field_ids
    if not have_plain_keys(schema) or any(isinstance(schema.field(id).type, VariantType) for id in schema.field_ids):
        return False
    by_field_id = environment.scans.reads_by_field_id(target.version, plan)
    return by_field_id and not plan.equality_groups and lookup_bytes(plan, key_ids) <= _LOOKUP_BYTES


def _marks_rows_found(environment: Environment, target: Target) -> bool:
    """Whether the table has replaced rows marked by position whatever they are, and the driver may look them up."""
    metadata = target.table.metadata
    way = row_level_mode(MERGE_MODE, metadata.properties)
    return metadata.format_version > 1 and way == "merge-on-read" and keys_fit(environment, target)


def upsert_by_lookup(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    batch: ChangeBatch,
    isolation: str,
    weighed: Choice | None,
) -> Counts | None:
    """The rows, with position deletes of all the target's rows that have their keys.

    None, and nothing is written, where the rows turn out to be more than the driver takes.

    The source is evaluated once, and its rows are taken to be small. Once more, from the start, where `weighed` (see
    `Choice`) goes instead: nothing is written then.
    """
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    held = hold(batch.rows, operation.plan, operations=True)
    found = collect_arranged(held, ALL_ROWS, arrangement(target.table.metadata))
    if found is None:
        return None
    return _replace_collected(environment, spark, target, operation, batch, held, found, isolation, weighed)


def upsert_few_by_lookup(
    environment: Environment, spark: SparkSession, target: Target, batch: ChangeBatch, isolation: str
) -> Counts | None:
    """The same, of a source that nobody knows to be small; None, and nothing is written, where it is not."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    held = hold(batch.rows, operation.plan, operations=True)
    found = collect_arranged(held, most_rows(target), arrangement(target.table.metadata))
    if found is None:
        return None
    return _replace_collected(environment, spark, target, operation, batch, held, found, isolation, None)


def _replace_collected(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    batch: ChangeBatch,
    held: DataFrame,
    found: pa.Table,
    isolation: str,
    weighed: Choice | None,
) -> Counts:
    """Of the rows of `held`, which the driver has `found`."""
    schema = target.table.metadata.schema()
    rows = pa.Table.from_batches([accepted_rows(operation.plan, _one_batch(found), 1)])
    keys = rows.select([field.name for field in schema.identifier_fields])
    for name in keys.column_names:
        if keys.column(name).null_count:
            raise DataError("NULL_IN_REQUIRED_COLUMN", column=name, table=target.name)
    if not batch.one_row_a_key:
        require_distinct(keys, str(target.name))

    def otherwise(positions: Mapping[str, BitMap64]) -> Counts | None:
        if weighed is None or not rewrites_files(environment, target, positions):
            return None
        return weighed.carry_out(environment, spark, target)

    return _replace_found(environment, target, operation, rows, held, isolation, otherwise)


def _replace_found(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    rows: pa.Table,
    source: DataFrame,
    isolation: str,
    otherwise: Callable[[Mapping[str, BitMap64]], Counts | None] = lambda _: None,
) -> Counts:
    """The same of rows that came from `source`, with `__operation` before the table's columns and keys of their own.

    What is done `otherwise`, told the positions of the rows that go, takes the place of it.
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
        replaced_ids = row_ids(target.version.io, plan, matches) if has_row_ids(target) else None
        write_plan = operation.plan if replaced_ids is None else operation.plan.with_row_ids()
        task = write_rows(write_plan, task_identity=task_identity)
        changed = rows.drop_columns(rows.column_names[:1])
        new = _new_rows(changed, updates, matches.key_rows, replaced_ids, len(schema.fields))
        written = write_on_driver(new, task)
        written = replace(written, positions=matches.positions)
        reads = reads_of(source, target.version, Reach(alone=False, unique_key=True), target.overtaken)
        delta = row_delta(environment, target, operation, written, reads=reads, isolation=isolation)
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
    """The rows of `updates`, with the row ids of the replaced rows behind the table's columns if there are such.

    A row that is new has none, and one that replaces several, as a key is not enforced, that of the first.
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
