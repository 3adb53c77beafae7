"""A random table and statements that change it; the same seed makes the same ones."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fuzz.expressions import TYPES, Expression, column
from fuzz.keyed_statements import KIND, OnConflict, Order, Upsert
from fuzz.random_expression import random_condition, random_expression, random_value
from fuzz.statements import Alter, Clause, Delete, Engine, Insert, Merge, Refused, Statement, Table, Update

_SHARE_OF_COMPACTED = 0.25
_COMPACTION = {
    "write-only": "false",
    "compaction.min.file-num": "2",
    "compaction.delete-file-threshold": "2",
    "compaction.delete-ratio-threshold": "0.2",
}
_MODES = ("merge-on-read", "copy-on-write", "auto")
_ORDERED = ("INT", "BIGINT", "DATE")
_TRANSFORMS: Mapping[str, tuple[str, ...]] = {
    "INT": ("{c}", "bucket(2, {c})", "truncate(5, {c})"),
    "BIGINT": ("bucket(2, {c})",),
    "STRING": ("{c}", "truncate(1, {c})", "bucket(3, {c})"),
    "BOOLEAN": ("{c}",),
    "DATE": ("{c}", "months({c})", "bucket(2, {c})"),
}


@dataclass(frozen=True)
class Creation:
    """The table as it begins; only sqlext knows a key."""

    columns: Mapping[str, str]
    key: tuple[str, ...]
    partitioning: tuple[str, ...]
    properties: Mapping[str, str]

    def sql(self, table: str, engine: Engine) -> str:
        required = dict.fromkeys(self.key, " NOT NULL")
        listed = ", ".join(f"{name} {type_}{required.get(name, '')}" for name, type_ in self.columns.items())
        key = f", PRIMARY KEY ({', '.join(self.key)})" if self.key and engine == "sqlext" else ""
        by = f" PARTITIONED BY ({', '.join(self.partitioning)})" if self.partitioning else ""
        ours = engine == "sqlext"
        # Iceberg's runtime does not know a mode of that name, and upserts
        theirs = {name: value for name, value in self.properties.items() if "upsert" not in name and value != "auto"}
        properties = self.properties if ours else theirs
        pairs = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        using = " USING iceberg" if engine == "iceberg" else ""
        return f"CREATE TABLE {table} ({listed}{key}){using}{by} TBLPROPERTIES ({pairs})"

    def table(self) -> Table:
        return Table(dict(self.columns), self.key)


class RandomSequence:
    """Makes a creation, and statements that fit what it makes of the table."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._numbers = iter(range(1, 100))
        columns = {"k": "INT"}
        key = self.rng.choice([(), ("k",), ("k",), ("k", "region")])
        if "region" in key:
            columns["region"] = "STRING"
        for _ in range(self.rng.randrange(1, 5)):
            columns[f"c{next(self._numbers)}"] = self.rng.choice(list(TYPES))
        sources = self.rng.sample(
            [name for name in columns if columns[name] in _TRANSFORMS], self.rng.choice([0, 0, 1])
        )
        self._version = self.rng.choice([1, 2, 2, 2, 3, 3, 3])
        modes = _MODES if self._version > 1 else ("copy-on-write",)
        properties = {
            "format-version": str(self._version),
            **{f"write.{verb}.mode": self.rng.choice(modes) for verb in ("delete", "update", "merge")},
        }
        if key:
            by_key = all(name in key for name in sources)
            properties["write.upsert.mode"] = self.rng.choice(["resolved", "equality"]) if by_key else "resolved"
        self._by_equality = properties.get("write.upsert.mode") == "equality"
        self._fixed = {*key, *sources, "k"}
        self._order: Order | None = None
        orders = [name for name in columns if name not in key and columns[name] in _ORDERED]
        if key and orders and self.rng.random() < 0.25:
            self._order = Order(self.rng.choice(orders), holds_stored=not self._by_equality)
            properties["write.upsert.sequence-field"] = self._order.column
            self._fixed.add(self._order.column)
        # Beside the statements' own randomness: seeds of tables that are left alone stay what they are.
        if random.Random(f"compaction {seed}").random() < _SHARE_OF_COMPACTED:
            properties |= _COMPACTION
        fields = tuple(self.rng.choice(_TRANSFORMS[columns[name]]).format(c=name) for name in sources)
        self._field = next(iter(fields), None)
        self._repartitioned = bool(fields)
        self.creation = Creation(columns, key, fields, properties)

    def statements(self, count: int) -> list[Statement]:
        table = self.creation.table()
        made: list[Statement] = []
        while len(made) < count:
            statement = self._insert(table) if not made else self._any(table)
            made.append(statement)
            with suppress(Refused):
                after = copy.deepcopy(table)
                statement.apply(after)
                table = after
        return made

    def _any(self, table: Table) -> Statement:
        verbs: list[tuple[int, Callable[[Table], Statement]]] = [
            (3, self._insert),
            (4, self._update),
            (3, self._delete),
            (6, self._merge),
            (4, self._alter),
            (5 if table.key else 0, self._upsert),
            (3 if table.key else 0, self._on_conflict),
        ]
        (verb,) = self.rng.choices([verb for _, verb in verbs], [weight for weight, _ in verbs])
        return verb(table)

    def _row(self, table: Table, k: int | None) -> dict[str, Any]:
        row = {name: random_value(self.rng, type_) for name, type_ in table.columns.items()}
        if "region" in table.key:
            row["region"] = self.rng.choice(["eu", "us"])
        return {**row, "k": k}

    def _insert(self, table: Table) -> Insert:
        """Keys are new ones, as nothing says what a key twice is."""
        there = {row["k"] for row in table.rows}
        free = [k for k in range(30) if not table.key or k not in there]
        ks = self.rng.sample(free, min(len(free), self.rng.randrange(1, 6)))
        listed = {n: t for n, t in table.columns.items() if n in table.key or n == "k" or self.rng.random() < 0.9}
        rows = (self._row(table, None if not table.key and self.rng.random() < 0.1 else k) for k in ks)
        return Insert(listed, tuple({name: row[name] for name in listed} for row in rows))

    def _update(self, table: Table) -> Update:
        free = [name for name in table.columns if name not in table.key]
        names = self.rng.sample(free, min(len(free), self.rng.choice([1, 1, 2])))
        columns = table.columns
        values = {name: random_expression(self.rng, columns[name], columns, columns) for name in names}
        return Update(values, random_condition(self.rng, columns, columns))

    def _delete(self, table: Table) -> Delete:
        return Delete(random_condition(self.rng, table.columns, table.columns))

    def _source(self, table: Table, repeated: float) -> tuple[dict[str, Any], ...]:
        ks = self.rng.sample(range(12), self.rng.randrange(1, 6))
        rows = [self._row(table, k) for k in ks]
        if self.rng.random() < repeated:
            rows.append({**self._row(table, ks[0]), **{name: rows[0][name] for name in table.key}})
        return tuple(rows)

    def _upsert(self, table: Table) -> Upsert:
        spelling = self.rng.choice(["UPSERT", "MERGE", "OPTION", "WITH"])
        kinds = self.rng.random() < 0.4
        rows: list[Mapping[str, Any]] = []
        for row in self._source(table, 0.1):
            kind = self.rng.choice(["+I", "+U", "+U", "-D", "-U", "-U +U"])
            rows += [{**row, **({KIND: one} if kinds else {})} for one in (kind.split() if kinds else [""])]
        self.rng.shuffle(rows)
        return Upsert(dict(table.columns), tuple(rows), table.key, spelling, kinds, self._order)  # type: ignore[arg-type]

    def _on_conflict(self, table: Table) -> OnConflict:
        listed = {n: t for n, t in table.columns.items() if n in table.key or self.rng.random() < 0.9}
        rows = tuple({name: row[name] for name in listed} for row in self._source(table, 0.1))
        seen = {f"t.{name}": type_ for name, type_ in table.columns.items()}
        seen |= {f"excluded.{name}": type_ for name, type_ in listed.items()}
        free = [name for name in table.columns if name not in table.key]
        assignments: dict[str, Expression] | None = None
        where = None
        if self.rng.random() < 0.7:
            target = self._for_subqueries(table)
            names = free if self.rng.random() < 0.3 else self.rng.sample(free, self.rng.randrange(1, len(free) + 1))
            assignments = {name: random_expression(self.rng, table.columns[name], seen, target) for name in names}
            if self.rng.random() < 0.2:
                assignments = {name: column(f"excluded.{name}") for name in free if name in listed} or assignments
            where = random_condition(self.rng, seen, target) if self.rng.random() < 0.4 else None
        return OnConflict(listed, rows, table.key, assignments, where, self._order)

    def _for_subqueries(self, table: Table) -> Mapping[str, str] | None:
        """Seldom, as Iceberg's runtime takes none in a MERGE, and is out of the game then."""
        return table.columns if self.rng.random() < 0.15 else None

    def _merge(self, table: Table) -> Merge:
        t = {f"t.{name}": type_ for name, type_ in table.columns.items()}
        s = {f"s.{name}": type_ for name, type_ in table.columns.items()}
        free = [name for name in table.columns if name not in table.key and name != "k"]

        target = self._for_subqueries(table)

        def assigned(columns: Mapping[str, str], names: list[str]) -> dict[str, Any]:
            return {name: random_expression(self.rng, table.columns[name], columns, target) for name in names}

        clauses: list[Clause] = []
        for kind, columns in (("MATCHED", {**t, **s}), ("NOT MATCHED", s), ("NOT MATCHED BY SOURCE", t)):
            for last in (False, True):
                if self.rng.random() < (0.3 if not last else 0.7 if kind != "NOT MATCHED BY SOURCE" else 0.25):
                    test = random_condition(self.rng, columns, target) if not last or self.rng.random() < 0.4 else None
                    clauses.append(self._clause(kind, test, table, columns, free, assigned))
        on = table.key or ("k",)
        clauses = clauses or [Clause("NOT MATCHED", "INSERT")]
        if self._order and [clause.kind for clause in clauses] == ["MATCHED", "NOT MATCHED"]:
            # else it may be an upsert, for which the order of rows counts
            clauses.insert(0, Clause("MATCHED", "DELETE", random_condition(self.rng, {**t, **s})))
        if self.rng.random() < 0.12:
            return Merge(dict(table.columns), (), on, tuple(clauses), random_condition(self.rng, table.columns))
        # a key twice among the rows that are new would be there twice
        source = self._source(table, 0 if table.key else 0.15)
        return Merge(dict(table.columns), source, on, tuple(clauses))

    def _clause(
        self,
        kind: str,
        test: Any,
        table: Table,
        columns: Mapping[str, str],
        free: list[str],
        assigned: Callable[[Mapping[str, str], list[str]], dict[str, Any]],
    ) -> Clause:
        if kind == "NOT MATCHED":
            key = [*(table.key or ("k",))]
            some = [*key, *(name for name in free if self.rng.random() < 0.7)]
            values = {**assigned(columns, some), **{name: column(f"s.{name}") for name in key}}
            return Clause("NOT MATCHED", "INSERT", test, self.rng.choice([None, values]))
        if self.rng.random() < 0.35 or not free:
            return Clause(kind, "DELETE", test)  # type: ignore[arg-type]
        values = assigned(columns, self.rng.sample(free, self.rng.randrange(1, len(free) + 1)))
        star = kind == "MATCHED" and self.rng.random() < 0.4
        return Clause(kind, "UPDATE", test, None if star else values)  # type: ignore[arg-type]

    def _alter(self, table: Table) -> Alter:
        free = [name for name in table.columns if name not in self._fixed]
        new = f"c{next(self._numbers)}"
        type_ = self.rng.choice(list(TYPES))
        choices = [
            Alter(f"ADD COLUMN {new} {type_}", added=(new, type_)),
            *(Alter(f"DROP COLUMN {name}", dropped=name) for name in free[:1] if len(free) > 1),
            *(Alter(f"RENAME COLUMN {name} TO {new}", renamed=(name, new)) for name in free[-1:]),
            *(Alter(f"ALTER COLUMN {name} FIRST", moved=name) for name in free[:1]),
            *(
                Alter(f"ALTER COLUMN {name} TYPE BIGINT", widened=(name, "BIGINT"))
                for name in free
                if table.columns[name] == "INT"
            ),
        ]
        if self._version > 1:
            verb, mode = self.rng.choice(["delete", "update", "merge"]), self.rng.choice(_MODES)
            set_mode = f"SET TBLPROPERTIES ('write.{verb}.mode'='{mode}')"
            choices.append(Alter(set_mode, for_iceberg=mode != "auto"))
        if self._version < 3:
            choices.append(Alter(f"SET TBLPROPERTIES ('format-version'='{self._version + 1}')"))
        if self._field:
            choices.append(Alter(f"DROP PARTITION FIELD {self._field}"))
        sources = [name for name in (table.key if self._by_equality else free) if table.columns[name] in _TRANSFORMS]
        if sources:
            source = self.rng.choice(sources)
            field = self.rng.choice(_TRANSFORMS[table.columns[source]]).format(c=source)
            if source not in self._fixed or (self._by_equality and not self._repartitioned):
                choices.append(Alter(f"ADD PARTITION FIELD {field}"))
        chosen = self.rng.choice(choices)
        if chosen.change.startswith("ADD PARTITION"):
            self._fixed.add(source)
        if chosen.change.startswith("DROP PARTITION"):
            self._field = None
        if "PARTITION FIELD" in chosen.change:
            self._repartitioned = True
        if "format-version" in chosen.change:
            self._version += 1
        return chosen
