"""A merge engine as one SELECT: the source rows of each key and its stored row are merged into one row.

In the order of rows the stored row, which stands for all rows merged before, follows the source rows that precede it by
the sequence field. So a late row counts as if it had arrived in time, as far as the stored row still shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.merge_engine import NULL_TAKING_FUNCTIONS, ColumnMerge, MergeEngine
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.row_order import RowOrder
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.sql.binding import assigned_value
from sqlext.sql.lowering.column_merge import merged_value
from sqlext.sql.lowering.row_order import is_later, last_first, place, rank, struct_of
from sqlext.sql.lowering.source_values import SourceValues
from sqlext.sql.lowering.text import fresh_name, selected
from sqlext.sql.statements.statement import TableName
from sqlext.sql.tokens.quoting import quote_identifier

_KIND, _ROW_ID = quote_identifier(GIVEN_KIND), quote_identifier(ROW_ID.name)
_BRINGS, _TAKES = "`__operation` = 2Y", "`__operation` = 1Y"
_DELETES = f"{_TAKES} AND {_KIND} = '-D'"


@dataclass(frozen=True, slots=True)
class SourceRows:
    """A relation of `__operation` and the table's columns, after them `GIVEN_KIND` if the rows have `kinds`.

    The operation is 1 if a row deletes (`-D`) or retracts values, 2 if it brings values, or the code of a refusal. If
    rows arrived in an order, `arrival` names two columns: a row's origin, and its number among the rows of that origin.
    """

    relation: str
    kinds: bool = False
    arrival: tuple[str, str] | None = None


def lower_merged_rows(
    rows: SourceRows,
    target: str,
    schema: Schema,
    engine: MergeEngine,
    table: TableName,
    *,
    tie: int,
    row_ids: bool = False,
) -> str:
    """Operation, file, position and columns of every change; with `row_ids` the row id of the replaced row, and
    `GIVEN_KIND` if the rows have kinds.

    Rows of a key whose order matters and is unknown get the operation `tie`. If the table has a key more than once, the
    copy that is last by the sequence field is merged, and the others are deleted.
    """
    return _Lowering(rows, target, schema, engine, table, tie, row_ids).changes()


@dataclass(frozen=True)
class _Lowering:
    rows: SourceRows
    target: str
    schema: Schema
    engine: MergeEngine
    table: TableName
    tie: int
    row_ids: bool

    # The stages, each a SELECT over the one before it

    def changes(self) -> str:
        columns = [
            (self._operation(), "__operation"),
            ("`_file`", "_file"),
            ("`_pos`", "_pos"),
            *((self._assigned(field), field.name) for field in self.schema.fields),
            *([(_ROW_ID, ROW_ID.name)] if self.row_ids else []),
            *([(_KIND, GIVEN_KIND)] if self.rows.kinds else []),
        ]
        tagged = f"SELECT {selected(columns)}\nFROM (\n{self._merged()}\n)"
        return f"SELECT * FROM (\n{tagged}\n)\nWHERE `__operation` IS NOT NULL"

    def _merged(self) -> str:
        """One row for each key and stored copy of it."""
        columns = [
            (f"max({self._refusal()})", self._plain("refused")),
            (f"count_if({self._is_kept}) > 0", self._plain("rows")),
            (self._is_deleted, self._plain("deleted")),
            *self._values(),
        ]
        if self.engine.sequence:
            stored = [self._stored[name] for name in self.engine.sequence.columns if name in self._stored]
            places = [f"first({name})" for name in stored] or ["0"]
            columns.append((place(self.engine.sequence, places), self._plain("place")))
        if self.row_ids:
            columns.append((f"first({_ROW_ID})", ROW_ID.name))
        if self.rows.kinds:
            columns.append((f"max(CASE WHEN `__operation` > 2Y THEN {_KIND} END)", GIVEN_KIND))
        group = ", ".join((*self._keys, "`_file`", "`_pos`"))
        return f"SELECT {group},\n  {selected(columns)}\nFROM (\n{self._joined()}\n)\nGROUP BY {group}"

    def _joined(self) -> str:
        hidden = ["`_file`", "`_pos`", *([_ROW_ID] if self.row_ids else [])]
        columns = [*(f"`__target`.{name}" for name in hidden)]
        columns += [f"`__target`.{quote_identifier(name)} AS {stored}" for name, stored in self._stored.items()]
        for number, order in enumerate(self._orders):
            if order:
                behind = is_later(order, *(self._values_of(order, side) for side in ("__target", "__source")))
                is_late = f"coalesce(`__target`.`_file` IS NOT NULL AND {behind}, false)"
                columns.append(f"{is_late} AS {self._name(f'late_{number}')}")
        read = ", ".join((*self._keys, *map(quote_identifier, self._stored), *hidden))
        compared = " AND ".join(f"`__target`.{key} = `__source`.{key}" for key in self._keys)
        listed = ",\n  ".join(("`__source`.*", *columns))
        return (
            f"SELECT {listed}\nFROM (\n{self._told()}\n) AS `__source`\n"
            f"LEFT OUTER JOIN (SELECT {read} FROM {self.target}) AS `__target`\nON {compared}"
        )

    def _told(self) -> str:
        """The rows, with whether the order of each is in doubt, and whether it is not after the last delete of its
        key."""
        columns = [(self._in_doubt(), self._plain("doubt"))]
        if self._removes:
            place = self._place(self.engine.sequence)
            last = f"max(CASE WHEN {_DELETES} THEN {place} END) OVER (PARTITION BY {', '.join(self._keys)})"
            columns.append((f"coalesce(NOT {place} > {last}, false)", self._plain("gone")))
        return f"SELECT *,\n  {selected(columns)}\nFROM {self._ranked()}"

    def _ranked(self) -> str:
        """The rows, in a descending order with their ranks, which grow with the place."""
        sequence = self.engine.sequence
        if not sequence.descending:
            return self.rows.relation
        keys = ", ".join(self._keys)
        return f"(SELECT *, {rank(sequence, keys)} AS {self._name('rank')} FROM {self.rows.relation})"

    # Conditions of a row

    def _in_doubt(self) -> str:
        """Whether another row of the key has an equal place, and the result depends on their order."""
        tests = []
        for order, counts in dict.fromkeys((one.order, self._weighs(one)) for one in self._ordered):
            tests.append(f"{counts} AND count_if({counts}) OVER {self._tied(order)} > 1{self._strewn(order)}")
        if self._removes:
            window = self._tied(self.engine.sequence)
            both = (f"count_if({test}) OVER {window} > 0" for test in (_BRINGS, _DELETES))
            tests.append(" AND ".join(both) + self._strewn(self.engine.sequence))
        return " OR ".join(f"({test})" for test in tests) or "false"

    def _weighs(self, merge: ColumnMerge) -> str:
        """Whether the row's order among rows of an equal place matters to the column; rows of `-U` come first."""
        tests = self._takes_part(merge)
        if self.rows.kinds:
            tests.append(f"{_KIND} <> '-U'")
        if merge.function not in NULL_TAKING_FUNCTIONS:
            tests.append(f"{quote_identifier(merge.column)} IS NOT NULL")
        return f"({' AND '.join(tests or ['true'])})"

    def _takes_part(self, merge: ColumnMerge) -> list[str]:
        tests = []
        if self.rows.kinds and (merge.ignores_retractions or not self.engine.takes_retractions):
            tests.append(_BRINGS)
        if merge.grouped:
            tests.append(f"({' OR '.join(f'{quote_identifier(name)} IS NOT NULL' for name in merge.order.columns)})")
        return tests

    def _tied(self, order: RowOrder) -> str:
        return f"(PARTITION BY {', '.join((*self._keys, *map(quote_identifier, order.columns)))})"

    def _strewn(self, order: RowOrder) -> str:
        """The condition that rows of an equal place have several origins; empty without `arrival`."""
        if self.rows.arrival is None:
            return ""
        origin, window = quote_identifier(self.rows.arrival[0]), self._tied(order)
        return f" AND NOT min({origin}) OVER {window} <=> max({origin}) OVER {window}"

    def _place(self, order: RowOrder) -> str:
        values = [quote_identifier(name) for name in order.columns]
        if order.descending:
            values = [self._name("rank")]
        if self.rows.arrival is not None:
            values.append(quote_identifier(self.rows.arrival[1]))
        if self.rows.kinds:
            values.append(f"CASE WHEN {_KIND} = '-U' THEN 0 ELSE 1 END")
        return struct_of(values or ["0"])

    def _refusal(self) -> str:
        doubt = f" WHEN {self._name('doubt')} THEN {self.tie}Y" if self.engine.is_ordered else ""
        return f"CASE WHEN `__operation` > 2Y THEN `__operation`{doubt} END"

    @property
    def _is_kept(self) -> str:
        return f"NOT {self._name('gone')}" if self._removes else "true"

    @property
    def _removes(self) -> bool:
        return self.engine.removes_on_delete and self.rows.kinds

    # Over all rows of a key

    @property
    def _is_deleted(self) -> str:
        """Whether a row deletes the stored one, and does not precede it."""
        if not self._removes:
            return "false"
        late = f" AND NOT {self._name('late_0')}" if self.engine.sequence else ""
        return f"bool_or({_DELETES}{late})"

    def _values(self) -> Iterator[tuple[str, str]]:
        merges = {one.column: one for one in self.engine.columns}
        remains = f"NOT {self._is_deleted}"
        takes = f"({_TAKES})" if self.engine.takes_retractions and self.rows.kinds else None
        kept = [self._is_kept] if self._removes else []
        for field in self._others:
            merge = merges[field.name]
            stored = f"first({self._stored[field.name]})"
            given = SourceValues(
                quote_identifier(field.name),
                self._place(merge.order),
                " AND ".join([*kept, *self._takes_part(merge)]) or "true",
                f"CASE WHEN {remains} THEN {stored} END" if self._removes else stored,
                f"(`_file` IS NOT NULL AND {remains})" if self._removes else "`_file` IS NOT NULL",
                self._name(f"late_{self._orders.index(merge.order)}") if merge.order else None,
                None if merge.ignores_retractions else takes,
            )
            yield merged_value(merge, field.type, given), field.name

    def _assigned(self, field: NestedField) -> str:
        """A column of the result: the key as it is, a merged value by store assignment."""
        merged = quote_identifier(field.name)
        return merged if field.id in self.schema.identifier_field_ids else assigned_value(merged, field, self.table)

    def _operation(self) -> str:
        refused, rows, deleted = (self._name(one) for one in ("refused", "rows", "deleted"))
        first = f"{self._name('place')} {last_first(self.engine.sequence)}, " if self.engine.sequence else ""
        copy = f"row_number() OVER (PARTITION BY {', '.join(self._keys)} ORDER BY {first}`_file`, `_pos`) > 1"
        stored = f" WHEN {copy} THEN 1Y WHEN {rows} THEN 2Y WHEN {deleted} THEN 1Y"
        new = f"WHEN `_file` IS NULL THEN CASE WHEN {rows} THEN 3Y END"
        return f"CASE WHEN {refused} IS NOT NULL THEN {refused} {new}{'' if self.engine.keeps_first else stored} END"

    # Names

    @cached_property
    def _keys(self) -> Sequence[str]:
        return [quote_identifier(field.name) for field in self.schema.identifier_fields]

    @cached_property
    def _others(self) -> Sequence[NestedField]:
        return [field for field in self.schema.fields if field.id not in self.schema.identifier_field_ids]

    @cached_property
    def _stored(self) -> dict[str, str]:
        """Aliases of the stored values, by column."""
        return {field.name: self._name(f"stored_{number}") for number, field in enumerate(self._others)}

    @cached_property
    def _orders(self) -> Sequence[RowOrder]:
        """All orders, that of whole rows first."""
        return list(dict.fromkeys((self.engine.sequence, *(one.order for one in self.engine.columns))))

    @cached_property
    def _ordered(self) -> Sequence[ColumnMerge]:
        return [one for one in self.engine.columns if one.is_ordered]

    def _values_of(self, order: RowOrder, side: str) -> str:
        return place(order, (f"`{side}`.{quote_identifier(name)}" for name in order.columns))

    def _name(self, name: str) -> str:
        return quote_identifier(self._plain(name))

    def _plain(self, name: str) -> str:
        return fresh_name(f"__{name}", [field.name for field in self.schema.fields])
