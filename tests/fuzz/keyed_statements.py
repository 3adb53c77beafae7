"""Statements that go by the primary key: upserts, changelogs and INSERT … ON CONFLICT. Iceberg says them as a MERGE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fuzz.expressions import Expression
from fuzz.statements import Counts, Engine, Refused, Statement, Table, assigned, require, seen_by, values

KIND = "_row_kind"
Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Order:
    """The column that tells the last row of a key. With `holds_stored` a row before the stored one is passed over."""

    column: str
    holds_stored: bool

    def place(self, row: Mapping[str, Any]) -> tuple[bool, Any]:
        """Comparable; a null lies before any value."""
        value = row.get(self.column)
        return (False, 0) if value is None else (True, value)


def last_rows(
    rows: Sequence[Mapping[str, Any]], key: tuple[str, ...], order: Order | None
) -> dict[Key, list[Mapping[str, Any]]]:
    """The rows that count, by key: more than one where nothing tells which."""
    found: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in key), []).append(row)
    if order is None:
        return found
    last = {of_key: max(map(order.place, some)) for of_key, some in found.items()}
    return {of_key: [row for row in some if order.place(row) == last[of_key]] for of_key, some in found.items()}


def refuse(order: Order | None) -> Refused:
    return Refused("DUPLICATE_KEY" if order is None else "SEQUENCE_TIE")


def _by_key(table: Table, key: tuple[str, ...]) -> dict[Key, dict[str, Any]]:
    return {tuple(row[name] for name in key): row for row in table.rows}


def _compared(key: tuple[str, ...], one: str, other: str) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in key)


@dataclass(frozen=True)
class Upsert(Statement):
    """Rows in the table's columns; with `kinds` they have `KIND` besides."""

    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]
    key: tuple[str, ...]
    spelling: Literal["UPSERT", "MERGE", "OPTION", "WITH"]
    kinds: bool = False
    order: Order | None = None

    def text(self, table: str, engine: Engine) -> str | None:
        if engine == "iceberg":
            return self._as_plain_merge(table)
        columns = {**self.columns, **({KIND: "STRING"} if self.kinds else {})}
        rows = f"SELECT * FROM {values(self.rows, columns)}"
        match self.spelling:
            case "MERGE":
                whole = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                return f"MERGE INTO {table} AS t USING ({rows}) AS s ON {_compared(self.key, 't', 's')} {whole}"
            case "OPTION":
                return f"INSERT INTO {table} /*+ OPTIONS('upsert-enabled'='true') */ ({', '.join(columns)}) {rows}"
            case "WITH":
                return f"INSERT INTO {table} WITH ('upsert-enabled'='true') ({', '.join(columns)}) {rows}"
        return f"UPSERT INTO {table} ({', '.join(columns)}) {rows}"

    def _as_plain_merge(self, table: str) -> str | None:
        try:
            rows = self._changes()
        except Refused:
            return None
        columns = {**self.columns, KIND: "STRING"}
        late = "false"
        if self.order is not None and self.order.holds_stored:
            t, s = f"t.{self.order.column}", f"s.{self.order.column}"
            late = f"{t} IS NOT NULL AND ({s} IS NULL OR {s} < {t})"
        return (
            f"MERGE INTO {table} AS t USING (SELECT * FROM {values(rows, columns)}) AS s"
            f" ON {_compared(self.key, 't', 's')}"
            f" WHEN MATCHED AND s.{KIND} = '-D' AND NOT ({late}) THEN DELETE"
            f" WHEN MATCHED AND NOT ({late}) THEN UPDATE SET *"
            f" WHEN NOT MATCHED AND s.{KIND} <> '-D' THEN INSERT *"
        )

    def _changes(self) -> list[dict[str, Any]]:
        """One row a key, whose kind is `+U` or `-D`."""
        changes = []
        for some in last_rows(self.rows, self.key, self.order).values():
            ends = [row for row in some if row.get(KIND, "+U") in ("+I", "+U")]
            paired = sorted(row.get(KIND, "") for row in some) == ["+U", "-U"]
            if len(some) > 1 and not paired:
                raise refuse(self.order)
            changes.append({**(ends or some)[0], KIND: "+U" if ends else "-D"})
        return changes

    def apply(self, table: Table) -> Counts:
        if list(self.columns) != list(table.columns) or self.key != table.key:
            raise KeyError("other columns")
        stored = _by_key(table, self.key)
        counts: Counter[str] = Counter()
        for change in self._changes():
            key = tuple(change[name] for name in self.key)
            old = stored.get(key)
            late = self.order is not None and self.order.holds_stored and old is not None
            if late and self.order is not None and old is not None and self.order.place(change) < self.order.place(old):
                continue
            if change[KIND] == "-D":
                counts["deleted"] += stored.pop(key, None) is not None
            else:
                counts["updated" if old else "inserted"] += 1
                stored[key] = {name: change[name] for name in table.columns}
        table.rows = list(stored.values())
        return counts["inserted"], counts["updated"], counts["deleted"]


@dataclass(frozen=True)
class OnConflict(Statement):
    """INSERT of rows in some columns; without assignments DO NOTHING. Expressions see `t` and `excluded`."""

    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]
    key: tuple[str, ...]
    assignments: Mapping[str, Expression] | None
    where: Expression | None = None
    order: Order | None = None

    def text(self, table: str, engine: Engine) -> str | None:
        test = self.where.sql if self.where else None
        if engine == "iceberg":
            return self._as_merge(table, test)
        action = f"({', '.join(self.key)}) DO UPDATE SET {assigned(self.assignments)}" if self.assignments else ""
        rows = f"SELECT * FROM {values(self.rows, self.columns)}"
        return (
            f"INSERT INTO {table} AS t ({', '.join(self.columns)}) {rows} ON CONFLICT {action or 'DO NOTHING'}"
            f"{f' WHERE {test}' if self.assignments and test else ''}"
        )

    def _as_merge(self, table: str, test: str | None) -> str | None:
        if any(len(some) > 1 for some in last_rows(self.rows, self.key, self.order).values()):
            return None
        rows = [some[0] for some in last_rows(self.rows, self.key, self.order).values()]
        condition = f" AND {test}" if test else ""
        update = f" WHEN MATCHED{condition} THEN UPDATE SET {assigned(self.assignments)}" if self.assignments else ""
        inserted = ", ".join(f"excluded.{name}" for name in self.columns)
        return (
            f"MERGE INTO {table} AS t USING (SELECT * FROM {values(rows, self.columns)}) AS excluded"
            f" ON {_compared(self.key, 't', 'excluded')}{update}"
            f" WHEN NOT MATCHED THEN INSERT ({', '.join(self.columns)}) VALUES ({inserted})"
        )

    def apply(self, table: Table) -> Counts:
        require(self.columns, table)
        if self.key != table.key:
            raise KeyError("another key")
        stored = _by_key(table, self.key)
        after = dict(stored)
        inserted = updated = 0
        for key, some in last_rows(self.rows, self.key, self.order).items():
            old = stored.get(key)
            if old is not None and not self.assignments:
                continue
            if len(some) > 1:
                raise refuse(self.order)
            proposed = {name: some[0].get(name) for name in table.columns}
            if old is None:
                after[key] = proposed
                inserted += 1
                continue
            seen = seen_by({"t": old, "excluded": proposed}, table)
            if self.where is None or self.where.of(seen) is True:
                assert self.assignments
                after[key] = {**old, **{name: value.of(seen) for name, value in self.assignments.items()}}
                updated += 1
        table.rows = list(after.values())
        return inserted, updated, 0
