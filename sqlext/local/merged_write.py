"""Upserts into a table with a merge engine: the given rows of each key and its stored row become one row.

The result is that of `sql.lowering.merged_rows`. The rows come in the order in which they are given, like the literals
of an INSERT: of two rows with an equal sequence field the second is the later one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap64

from sqlext.command.change.change_facts import facts_of
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.rerun import in_either_order
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.planner import plan_change
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.errors import DataError
from sqlext.local.given_rows import GivenRows
from sqlext.local.keyed_rows import kept_rows, places
from sqlext.local.keyed_write import StoredKeys, key_columns, stored_keys
from sqlext.local.local_scan import columns_of, rows_at, stored_fields
from sqlext.local.merged_values import merged_value
from sqlext.local.position_change import PositionChange, begin, carry_out
from sqlext.local.values_of_key import RowOfKey, ValuesOfKey
from sqlext.properties import MERGE_MODE
from sqlext.scan.row_changes import codes_of
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.merge_engine import ColumnMerge, MergeEngine
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.row_order import RowOrder
from sqlext.spec.types import UnknownType
from sqlext.write.refused_rows import NULL_KEY, RETRACTED_KEY, UNKNOWN_ROW_KIND, accepted_rows
from sqlext.write.row_operation import DELETE, UPDATE
from sqlext.write.write_plan import WritePlan


def merge_by_key(environment: Environment, target: Target, engine: MergeEngine, given: GivenRows) -> Counts:
    """Writes and commits the rows. Raises as `replace_by_key`, and DataError RETRACTION_REFUSED."""
    tagged = _tagged(target, engine, given, begin(environment, target).plan)
    keys, of_key = _distinct_keys(target, tagged.rows)
    stored = stored_keys(environment, target, keys)
    merging = _Merging.of(target, engine, tagged, of_key, keys.num_rows, stored)
    change, counts = merging.change()
    facts = replace(facts_of(target, MERGE_MODE), expected_rows=given.rows.num_rows)
    plan = plan_change(facts, environment.planning)
    with in_either_order(environment, target):
        carry_out(environment, target, change, plan, ReadSet(keys_unique=True), SNAPSHOT)
    return counts


@dataclass(frozen=True, slots=True)
class _Tagged:
    """The rows that count, and whether each brings values (UPDATE) or deletes or retracts (DELETE); with `kinds`, if
    the source has them."""

    rows: pa.Table
    operations: NDArray[np.int8]
    kinds: NDArray[np.object_] | None


def _tagged(target: Target, engine: MergeEngine, given: GivenRows, plan: WritePlan) -> _Tagged:
    rows, kinds = kept_rows(target, given)
    kind = np.array(["+U"] * rows.num_rows, object) if kinds is None else kinds.to_numpy()
    text = kind.astype(str)
    has_null = np.zeros(rows.num_rows, np.bool_)
    for column in key_columns(target, rows).columns:
        has_null |= column.is_null().to_numpy()
    tests = [
        (~np.isin(text, ("+I", "-U", "+U", "-D")), UNKNOWN_ROW_KIND),
        (has_null, NULL_KEY),
        (np.isin(text, ("+I", "+U")), UPDATE),
        (text == "-U", _before_update(engine)),
    ]
    codes = np.select([test for test, _ in tests], [np.int8(code) for _, code in tests], np.int8(_deletion(engine)))
    named = [pa.array(codes.astype(np.int8)), *rows.columns, pa.array(kind, pa.string())]
    for batch in pa.table(named, ["__operation", *rows.column_names, GIVEN_KIND]).combine_chunks().to_batches():
        accepted_rows(plan, batch, 1)
    counts = codes > 0
    chosen = pa.array(counts)
    return _Tagged(rows.filter(chosen), codes[counts].astype(np.int8), None if kinds is None else text[counts])


def _deletion(engine: MergeEngine) -> int:
    """The operation for a row of kind `-D`; 0 if it is ignored."""
    return DELETE if engine.removes_on_delete else _retraction(engine)


def _before_update(engine: MergeEngine) -> int:
    """The operation for a row of kind `-U`, which is no delete; 0 if it is ignored."""
    return 0 if engine.removes_on_delete and not engine.takes_retractions else _retraction(engine)


def _retraction(engine: MergeEngine) -> int:
    if all(one.ignores_retractions for one in engine.columns):
        return 0
    return DELETE if engine.takes_back else RETRACTED_KEY


def _distinct_keys(target: Target, rows: pa.Table) -> tuple[pa.Table, NDArray[np.int64]]:
    """The distinct keys of the rows, and the index of each row's key."""
    keys = key_columns(target, rows)
    if not keys.num_rows:
        return keys, np.zeros(0, np.int64)
    _, first, of_key = np.unique(codes_of(keys), return_index=True, return_inverse=True)
    return keys.take(pa.array(first)).combine_chunks(), of_key.reshape(-1)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A stored row with one of the keys: its number among those read, and where it is."""

    number: int
    path: str
    position: int


@dataclass(frozen=True)
class _Merging:
    """The merge of the `given` rows with the `stored` ones, which are read by the columns of the table.

    `orders` has, for each order of rows, the places of the stored and of the given rows.
    """

    target: Target
    engine: MergeEngine
    tagged: _Tagged
    rows_of_key: Sequence[Sequence[int]]
    stored: Mapping[str, list[Any]]
    given: Mapping[str, list[Any]]
    orders: Mapping[RowOrder, tuple[NDArray[np.int64], NDArray[np.int64]]]
    copies: Mapping[int, Sequence[_Copy]]

    @classmethod
    def of(
        cls,
        target: Target,
        engine: MergeEngine,
        tagged: _Tagged,
        of_key: NDArray[np.int64],
        keys: int,
        stored: StoredKeys,
    ) -> _Merging:
        fields = stored_fields(target.version.schema)
        lineage = has_row_ids(target)
        positions = stored.matches.positions
        found = rows_at(target.version, stored.plan.by_path(), positions, columns_of(fields), lineage=lineage)
        paths = list(positions)
        copies: dict[int, list[_Copy]] = defaultdict(list)
        pairs = zip(stored.matches.key_rows.tolist(), found.files.tolist(), found.positions.tolist(), strict=True)
        for number, (key, file, position) in enumerate(pairs):
            copies[key].append(_Copy(number, paths[file], position))
        orders: dict[RowOrder, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        for order in dict.fromkeys((engine.sequence, *(one.order for one in engine.columns))):
            names = list(order.columns)
            given = tagged.rows.select(names)
            both = pa.concat_tables([found.rows.select(names).cast(given.schema), given]) if names else None
            count = found.rows.num_rows
            place = np.zeros(count + given.num_rows, np.int64) if both is None else places(both, order)
            orders[order] = place[:count], place[count:]
        rows_of_key: list[list[int]] = [[] for _ in range(keys)]
        for row, key in enumerate(of_key.tolist()):
            rows_of_key[key].append(row)
        names = [*(field.name for field in fields), *([ROW_ID.name] if lineage else [])]
        return cls(
            target,
            engine,
            tagged,
            rows_of_key,
            {name: found.rows.column(name).to_pylist() for name in names},
            {field.name: tagged.rows.column(field.name).to_pylist() for field in fields},
            orders,
            copies,
        )

    def change(self) -> tuple[PositionChange, Counts]:
        """The change, and the numbers of rows that it inserts, updates and deletes."""
        schema = self.target.table.metadata.schema()
        new: dict[str, list[Any]] = {field.name: [] for field in schema.fields}
        ids: list[int | None] = []
        positions: dict[str, BitMap64] = defaultdict(BitMap64)
        inserted = updated = deleted = 0
        for key, rows in enumerate(self.rows_of_key):
            copies = self._ordered(self.copies.get(key, ()))
            if copies and self.engine.keeps_first:
                continue
            first = copies[0] if copies else None
            values = self._merged(rows, first)
            removed = self._is_deleted(rows, first)
            if values is None and not (first is not None and removed) and len(copies) < 2:
                continue
            goes = copies if values is not None or removed else copies[1:]
            for copy in goes:
                positions[copy.path].add(copy.position)
            if values is None:
                deleted += len(goes)
                continue
            for name, value in values.items():
                new[name].append(value)
            ids.append(self.stored[ROW_ID.name][first.number] if first and ROW_ID.name in self.stored else None)
            inserted, updated = inserted + (first is None), updated + (first is not None)
            deleted += max(len(copies) - 1, 0)
        table = pa.table([self._column(name, values) for name, values in new.items()], names=list(new))
        row_ids = pa.array(ids, pa.int64()) if has_row_ids(self.target) else None
        return PositionChange(dict(positions), table, row_ids), Counts(inserted, updated, deleted)

    def _column(self, name: str, values: list[Any]) -> pa.Array:
        type = self.tagged.rows.schema.field(name).type
        try:
            return pa.array(values, type)
        except (pa.ArrowException, OverflowError, ValueError) as error:
            wanted = self.target.table.metadata.schema().column(name)
            told = "a column" if wanted is None else wanted.type
            raise DataError(
                "INVALID_COLUMN_VALUE", column=name, table=self.target.name, type=told, reason=error
            ) from None

    def _ordered(self, copies: Sequence[_Copy]) -> Sequence[_Copy]:
        """The stored rows of a key, the last one by the table's order first."""
        place = self.orders[self.engine.sequence][0]
        return sorted(copies, key=lambda one: (-int(place[one.number]), one.path, one.position))

    def _is_late(self, order: RowOrder, row: int, stored: _Copy | None) -> bool:
        if stored is None or not order:
            return False
        before, given = self.orders[order]
        return bool(before[stored.number] > given[row])

    @property
    def _removes(self) -> bool:
        return self.engine.removes_on_delete and self.tagged.kinds is not None

    def _deletes(self, row: int) -> bool:
        kinds = self.tagged.kinds
        return kinds is not None and self.tagged.operations[row] == DELETE and kinds[row] == "-D"

    def _is_deleted(self, rows: Sequence[int], stored: _Copy | None) -> bool:
        """Whether a row deletes the stored one, and does not precede it."""
        if not self._removes:
            return False
        return any(self._deletes(row) and not self._is_late(self.engine.sequence, row, stored) for row in rows)

    def _kept(self, rows: Sequence[int]) -> Sequence[int]:
        """The rows that come after the last delete of the key."""
        if not self._removes:
            return rows
        place = self.orders[self.engine.sequence][1]
        last = max(((int(place[row]), row) for row in rows if self._deletes(row)), default=None)
        return rows if last is None else [row for row in rows if (int(place[row]), row) > last]

    def _merged(self, rows: Sequence[int], stored: _Copy | None) -> dict[str, Any] | None:
        """The merged row; None if none is left."""
        kept = self._kept(rows)
        if not kept:
            return None
        schema = self.target.table.metadata.schema()
        merges = {one.column: one for one in self.engine.columns}
        remains = stored if stored is not None and not self._is_deleted(rows, stored) else None
        values: dict[str, Any] = {}
        for field in schema.fields:
            if field.id in schema.identifier_field_ids:
                values[field.name] = self.given[field.name][rows[0]]
            elif isinstance(field.type, UnknownType):
                values[field.name] = None
            else:
                merge = merges[field.name]
                values[field.name] = merged_value(merge, field.type, self._values(merge, kept, stored, remains))
        return values

    def _values(
        self, merge: ColumnMerge, kept: Sequence[int], stored: _Copy | None, remains: _Copy | None
    ) -> ValuesOfKey:
        column, place = self.given[merge.column], self.orders[merge.order][1]
        takes_back = self.engine.takes_retractions and self.tagged.kinds is not None and not merge.ignores_retractions
        counting = [row for row in kept if self._counts(merge, row)]
        in_order = sorted(counting, key=lambda row: (int(place[row]), row))
        return ValuesOfKey(
            [
                RowOfKey(
                    column[row],
                    self._is_late(merge.order, row, stored),
                    takes_back and self.tagged.operations[row] == DELETE,
                )
                for row in in_order
            ],
            None if remains is None else self.stored[merge.column][remains.number],
            remains is not None,
            takes_back,
        )

    def _counts(self, merge: ColumnMerge, row: int) -> bool:
        """Whether the row takes part in the column's value."""
        brings = self.tagged.operations[row] == UPDATE
        if not brings and (merge.ignores_retractions or not self.engine.takes_retractions):
            return False
        return not merge.grouped or any(self.given[name][row] is not None for name in merge.order.columns)
