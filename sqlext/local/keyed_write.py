"""Upserts of rows that the process has: planned as in Spark, by equality deletes or by a look-up of the keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap64

from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.rerun import in_either_order
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, row_delta
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import ChangePlan, Way
from sqlext.command.plan.facts import SourceSize
from sqlext.command.plan.planner import plan_change
from sqlext.command.upsert.key_facts import key_facts_of
from sqlext.command.upsert.upsert import require_upsertable
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.commit.rules.sequence_field import row_order
from sqlext.commit.rules.upsert_rules import partition_not_in_key
from sqlext.errors import UnsupportedError
from sqlext.local.constraint_check import with_violations
from sqlext.local.given_rows import GivenRows
from sqlext.local.keyed_rows import KeyedRows, one_row_a_key, places
from sqlext.local.local_scan import columns_of, planned_rows, rows_at
from sqlext.local.position_change import PositionChange, begin, carry_out, in_order
from sqlext.scan.key_lookup import KeyMatches, find_keys, key_range, row_ids
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.query.write_job import task_identity, write_on_driver
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.position_set import position_array, position_set
from sqlext.spec.row_order import RowOrder
from sqlext.write.row_operation import DELETE, UPDATE
from sqlext.write.task import upsert_rows


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """Where the live rows with one of some keys are: `matches` in the files of `plan`, which `read` selects."""

    plan: ScanPlan
    read: Predicate
    matches: KeyMatches

    def files(self) -> NDArray[np.int64]:
        """The index, among the files with matches, of the file of each match."""
        counts = [len(positions) for positions in self.matches.positions.values()]
        return np.repeat(np.arange(len(counts)), counts)

    def places(self) -> NDArray[np.int64]:
        """The position of each match in its file."""
        found = map(position_array, self.matches.positions.values())
        return np.concatenate([np.zeros(0, np.int64), *found])

    def only(self, chosen: NDArray[np.bool_]) -> dict[str, BitMap64]:
        """The positions, by data file, of the chosen matches."""
        files, at = self.files(), self.places()
        paths = list(self.matches.positions)
        found = {path: position_set(at[chosen & (files == number)]) for number, path in enumerate(paths)}
        return {path: positions for path, positions in found.items() if positions}


def replace_by_key(environment: Environment, target: Target, given: GivenRows) -> Counts:
    """Replaces the stored row of each key by the given one, or deletes it, and commits.

    Raises AnalysisError UPSERT_WITHOUT_KEY, DataError for rows that the table does not accept, StaleRead or
    ValidationConflict, and UnsupportedError LOCAL_NEEDS_SPARK.
    """
    require_upsertable(target)
    schema = target.table.metadata.schema()
    keyed = one_row_a_key(target, given, begin(environment, target).plan)
    size = SourceSize(keyed.rows.num_rows, is_small=True)
    facts = key_facts_of(environment, target, lambda: size)
    plan = plan_change(facts, environment.planning)
    if plan.way is Way.EQUALITY:
        return _by_equality(environment, target, keyed)
    order = row_order(schema, target.table.metadata.properties, str(target.name))
    return _by_position(environment, target, keyed, plan, order)


def stored_keys(environment: Environment, target: Target, keys: pa.Table) -> StoredKeys:
    """Looks up `keys`, which are distinct. Raises UnsupportedError LOCAL_NEEDS_SPARK, and as `find_keys`."""
    schema = target.table.metadata.schema()
    ids = schema.identifier_field_ids
    if any(field.initial_default is not None for field in schema.identifier_fields):
        reason = "a key column has a default for rows that were written before it"
        raise UnsupportedError("LOCAL_NEEDS_SPARK", what=f"A change by key of {target.name}", reason=reason)
    read: Predicate = (key_range(keys, ids) if keys.num_rows else None) or AlwaysTrue()
    plan = planned_rows(environment, target.version, read)
    return StoredKeys(plan, read, find_keys(target.version.io, plan, keys, ids))


def key_columns(target: Target, rows: pa.Table) -> pa.Table:
    """The columns of the table's key."""
    schema = target.table.metadata.schema()
    return rows.select([schema.field(id).name for id in schema.identifier_field_ids]).combine_chunks()


def _by_equality(environment: Environment, target: Target, keyed: KeyedRows) -> Counts:
    metadata = target.table.metadata
    refused = partition_not_in_key(metadata.schema(), metadata.spec(), str(target.name))
    if refused is not None:
        raise refused
    operation = begin(environment, target)
    ids = metadata.schema().identifier_field_ids
    codes = np.where(keyed.updates, np.int8(UPDATE), np.int8(DELETE))
    sorted_rows = in_order(keyed.rows.append_column("__operation", pa.array(codes)), metadata)
    operations = sorted_rows.column("__operation")
    written_rows = operations.to_numpy() == UPDATE
    checked = with_violations(sorted_rows.drop_columns("__operation"), operation.plan, written_rows)
    rows = checked.add_column(0, pa.field("__operation", pa.int8()), operations)
    task = upsert_rows(operation.plan, ids, task_identity=task_identity, distinct_keys=False)
    with operation.cleaned_on_failure():
        written = write_on_driver(rows, task)
        delta = row_delta(environment, target, operation, written, read_set=ReadSet(), isolation=SNAPSHOT)
    if delta is not None:
        commit_change(environment, target, delta)
    upserted = int(keyed.updates.sum())
    deleted = keyed.rows.num_rows - upserted
    unknown = None if upserted else 0
    return Counts(unknown, unknown, None if deleted else 0, affected=upserted + deleted)


def _by_position(
    environment: Environment, target: Target, keyed: KeyedRows, plan: ChangePlan, order: RowOrder
) -> Counts:
    stored = stored_keys(environment, target, key_columns(target, keyed.rows))
    matches = stored.matches
    wins = _given_row_wins(target, keyed, stored, order)
    kept = wins[matches.key_rows]
    positions = matches.positions if kept.all() else stored.only(kept)
    updates = keyed.updates & wins
    replaced, first = np.unique(matches.key_rows, return_index=True)
    ids = None
    if has_row_ids(target):
        found = row_ids(target.version.io, stored.plan, matches.positions)
        by_key = np.full(keyed.rows.num_rows, -1, np.int64)
        by_key[replaced] = first
        chosen = by_key[updates]
        ids = found.take(pa.array(chosen, pa.int64(), mask=chosen < 0))
    new = keyed.rows if updates.all() else keyed.rows.filter(pa.array(updates))
    read_set = ReadSet(None, stored.read if order else None, keys_unique=True)
    with in_either_order(environment, target):
        carry_out(environment, target, PositionChange(positions, new, ids), plan, read_set, SNAPSHOT)
    updated = int(updates[replaced].sum())
    return Counts(new.num_rows - updated, updated, int(kept.sum()) - updated)


def _given_row_wins(target: Target, keyed: KeyedRows, stored: StoredKeys, order: RowOrder) -> NDArray[np.bool_]:
    """Whether no stored row of the key is later than the given row, by the table's order."""
    wins = np.ones(keyed.rows.num_rows, np.bool_)
    matches = stored.matches
    if not order or not len(matches.key_rows):
        return wins
    by_name = {field.name: field for field in target.version.schema.fields}
    fields = [by_name[name] for name in order.columns]
    there = rows_at(target.version, stored.plan.by_path(), matches.positions, columns_of(fields)).rows
    both = pa.concat_tables([there, keyed.rows.select(order.columns).cast(there.schema)])
    place = places(both, order)
    before, given = place[: there.num_rows], place[there.num_rows :]
    wins[matches.key_rows[before > given[matches.key_rows]]] = False
    return wins
