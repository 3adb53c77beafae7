"""A random table as a list of statements, each for one of two engines; the same seed makes the same list."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from crossread.columns import Column, Columns, literal, quoted, sql_type
from crossread.values import COMPARED, RARE, SCALARS, TRANSFORMS, WIDENED, scalar_constant, scalar_literal

Engine = Literal["sqlext", "iceberg"]

# Types that no statement of Iceberg's Spark runtime declares, nor changes.
_OURS = re.compile(r"\b(UUID|FIXED|VOID)\b")


@dataclass(frozen=True, slots=True)
class Step:
    """One statement; `{t}` stands for the table, `{name}` for its name, and these for snapshots of it:

    `{parent}` the one before main's head, `{undone}` the newest that is not behind main and has main's head as parent,
    `{any}` the oldest there is, `{ahead:b}` the branch b where it has main behind it. Where there is none the statement
    is left out. `together` is a second statement, which the same engine runs at the same time; `dynamic` makes an
    INSERT OVERWRITE replace the partitions that get rows.
    """

    engine: Engine
    sql: str
    together: str | None = None
    dynamic: bool = False


class RandomTable:
    """Makes the statements, and keeps what the next one needs to know of the table."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.format_version = self.rng.choice([1, 2, 2, 2, 3, 3, 3])
        self.columns = Columns(self.rng, unusual=self.rng.random() < 0.25, format_version=self.format_version)
        self._id = self.columns.add(self.rng.choice(["INT", "BIGINT"]))
        for _ in range(self.rng.randrange(2, 6)):
            self.columns.add()
        self._id_required = self.rng.random() < 0.6
        self._has_key = self._id_required and self.format_version > 1 and self.rng.random() < 0.8
        self._by_equality = False
        self._partitioned: dict[Column, str] = {}
        self._branches: list[str] = []
        # Iceberg's runtime does not read ORC files that lack a column with a default.
        self._parquet_only = self.rng.random() < 0.7
        self._refs = 0

    def steps(self, count: int) -> Iterator[Step]:
        """CREATE, a first INSERT, and `count` further changes."""
        yield self._create()
        yield self._insert(self._any_engine())
        for _ in range(count):
            yield from self._change()

    def condition(self) -> str:
        column = self.rng.choice(self.columns.scalars())
        key, path = self._id.path, column.path
        choices = [
            f"{key} % 3 = {self.rng.randrange(3)}",
            f"{key} > {self.rng.randrange(20)}",
            f"{key} IN ({self.rng.randrange(20)}, {self.rng.randrange(20)})",
            f"NOT ({key} BETWEEN 5 AND {self.rng.randrange(20)})",
            f"{path} IS NULL",
        ]
        if column.type in COMPARED:
            comparison = self.rng.choice(["=", "<", ">=", "<=>", "<>"])
            choices += [f"{path} {comparison} {literal(column.type, self.rng)}"] * 3
            members = ", ".join(scalar_literal(str(column.type), self.rng) for _ in range(2))
            choices += [f"{path} IN ({members})", f"{path} NOT IN ({members})"]
        return self.rng.choice(choices)

    def aggregates(self) -> str:
        columns = [one.path for one in self.columns.scalars() if one.type in COMPARED - {"BOOLEAN"}]
        listed = ", ".join(f"min({path}), max({path}), count({path})" for path in columns[:4])
        return f"count(*), {listed}"

    def _create(self) -> Step:
        required = " NOT NULL" if self._id_required else ""
        columns = ", ".join(
            f"{quoted(column.name)} {sql_type(column.type)}{required if column is self._id else ''}"
            for column in self.columns.columns
        )
        engine: Engine = "sqlext" if self._has_key else self._engine_for(columns)
        key = f", PRIMARY KEY ({self._id.path})" if self._has_key else ""
        fields = [self._new_field() for _ in range(self.rng.choice([0, 0, 1, 1, 2]))]
        partitioning = ", ".join(dict.fromkeys(field for field in fields if field))
        by = f" PARTITIONED BY ({partitioning})" if partitioning else ""
        using = " USING iceberg" if engine == "iceberg" else ""
        listed = ", ".join(f"'{name}'='{value}'" for name, value in self._properties().items())
        return Step(engine, f"CREATE TABLE {{t}} ({columns}{key}){using}{by} TBLPROPERTIES ({listed})")

    def _properties(self) -> dict[str, str]:
        properties = {
            "format-version": str(self.format_version),
            **{f"write.{verb}.mode": self._row_level_mode() for verb in ("delete", "update", "merge")},
        }
        if self._has_key:
            self._by_equality = self._partitioned_by_key() and self.rng.random() < 0.6
            properties["write.upsert.mode"] = "equality" if self._by_equality else "resolved"
        for chance, name, values in (
            (0.3, "write.parquet.compression-codec", ["snappy", "gzip", "uncompressed", "zstd", "lz4"]),
            (0.2, "commit.manifest.min-count-to-merge", ["2"]),
            (0.2, "write.delete.granularity", ["file", "partition"]),
            (0.2, "write.metadata.compression-codec", ["gzip"]),
            (0.2, "write.metadata.metrics.default", ["none", "counts", "truncate(3)", "full"]),
            (0.1, "write.object-storage.enabled", ["true"]),
            (0.1, "write.metadata.previous-versions-max", ["2"]),
        ):
            if self.rng.random() < chance:
                properties[name] = self.rng.choice(values)
        return properties

    def _change(self) -> Iterator[Step]:
        some, rows = self._any_engine(), self._row_level_engine()
        verbs: list[tuple[int, Callable[[], Iterator[Step]]]] = [
            (4, lambda: iter([self._insert(some)])),
            (3, lambda: iter([self._delete(rows)])),
            (3, lambda: iter([self._update(rows)])),
            (3, lambda: iter([self._merge(rows)])),
            (2, lambda: iter([self._overwrite()])),
            (2, lambda: iter([self._insert_with_evolution()])),
            (5, self._evolve),
            (3, self._repartition),
            (1, self._write_order),
            (2, self._refer),
            (2, self._write_to_branch),
            (1, self._roll_back),
            (1, self._maintain),
            (0 if self._parquet_only or self.columns.needs_parquet() else 2, self._other_format),
            (1, self._together),
            (1, self._replace),
        ]
        if self.format_version < 3:
            verbs.append((1, self._upgrade))
        else:
            verbs.append((2, self._default))
        if self._id_required and self.format_version > 1:
            verbs.append((1, self._identify))
        if self._has_key and (self._partitioned_by_key() or not self._by_equality):
            verbs.append((5, lambda: iter([self._upsert()])))
        (made,) = self.rng.choices([verb for _, verb in verbs], [weight for weight, _ in verbs])
        return made()

    # rows

    def _insert(self, engine: Engine, table: str = "{t}") -> Step:
        if engine == "sqlext" and self.rng.random() < 0.2:
            left_out = self.rng.choice(self.columns.columns)
            if left_out is not self._id:
                listed = [one for one in self.columns.columns if one is not left_out]
                names = ", ".join(one.path for one in listed)
                return Step(engine, f"INSERT INTO {table} ({names}) SELECT * FROM {self._rows(listed=listed)}")
        return Step(engine, f"INSERT INTO {table} SELECT * FROM {self._rows()}")

    def _overwrite(self) -> Step:
        """The whole table, the partitions that get rows, or the one of a value."""
        way = self.rng.choice(["whole", "dynamic", "static"])
        # of files of an older partitioning a part may go, for which version 1 has no deletes
        engine: Engine = "iceberg" if self.format_version == 1 and way != "whole" else self._any_engine()
        if way == "static":
            named = [
                column
                for column, transform in self._partitioned.items()
                if transform == "{c}" and column is not self._id and column.type in COMPARED
            ]
            if named:
                column = self.rng.choice(named)
                rest = [one for one in self.columns.columns if one is not column]
                value = f"{column.path} = {scalar_constant(str(column.type), self.rng)}"
                rows = f"SELECT * FROM {self._rows(listed=rest)}"
                return Step(engine, f"INSERT OVERWRITE {{t}} PARTITION ({value}) {rows}")
        sql = f"INSERT OVERWRITE {{t}} SELECT * FROM {self._rows()}"
        return Step(engine, sql, dynamic=way == "dynamic")

    def _insert_with_evolution(self) -> Step:
        """Rows with one more column, or wider values in one; as an INSERT or, beside rows of the table, a MERGE."""
        narrow = [one for one in self.columns.columns if one.type in ("INT", "FLOAT", "DECIMAL(9,2)")]
        narrow = [one for one in narrow if one not in self.columns.fixed]
        if narrow and self.rng.random() < 0.4:
            widened = self.rng.choice(narrow)
            widened.type = WIDENED[str(widened.type)]
        else:
            self.columns.add(self.rng.choice(list(SCALARS)))
        if self.format_version > 1 and self.rng.random() < 0.5:
            clauses = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            return Step(
                "sqlext", f"{self._merge_head('{t}')} {clauses}".replace("MERGE", "MERGE WITH SCHEMA EVOLUTION")
            )
        by_name = self.rng.choice(["", " BY NAME"])
        return Step("sqlext", f"INSERT WITH SCHEMA EVOLUTION INTO {{t}}{by_name} SELECT * FROM {self._rows()}")

    def _delete(self, engine: Engine, table: str = "{t}") -> Step:
        return Step(engine, f"DELETE FROM {table} WHERE {self.condition()}")

    def _update(self, engine: Engine, table: str = "{t}") -> Step:
        column = self._other_column()
        return Step(engine, f"UPDATE {table} SET {column.path} = {self._value(column)} WHERE {self.condition()}")

    def _merge(self, engine: Engine, table: str = "{t}") -> Step:
        column = self._other_column().path
        matched = self.rng.choice(
            [
                f"WHEN MATCHED THEN UPDATE SET {column} = s.{column}",
                f"WHEN MATCHED AND s.{self._id.path} % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET *",
                "WHEN MATCHED THEN DELETE",
            ]
        )
        by_source = self.rng.choice(
            ["", "", f" WHEN NOT MATCHED BY SOURCE AND t.{self._id.path} > {self.rng.randrange(20)} THEN DELETE"]
        )
        return Step(engine, f"{self._merge_head(table)} {matched} WHEN NOT MATCHED THEN INSERT *{by_source}")

    def _upsert(self, table: str = "{t}") -> Step:
        """The form that goes by key: the target may not be read for it."""
        clauses = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        return Step("sqlext", f"{self._merge_head(table)} {clauses}")

    def _merge_head(self, table: str) -> str:
        key = self._id.path
        return f"MERGE INTO {table} AS t USING (SELECT * FROM {self._rows(distinct=True)}) AS s ON t.{key} = s.{key}"

    def _partitioned_by_key(self) -> bool:
        """What an upsert by equality deletes asks for."""
        return all(column is self._id for column in self._partitioned)

    def _rows(self, *, distinct: bool = False, listed: list[Column] | None = None) -> str:
        """A few rows of VALUES; a table with a key gets each id once in a statement, and a MERGE never one twice."""
        columns = listed or self.columns.columns
        count = self.rng.randrange(1, 7)
        ids = self.rng.sample(range(20), count) if distinct else [self.rng.randrange(20) for _ in range(count)]
        if self._has_key:
            ids = list(dict.fromkeys(ids))
        rows = [f"({', '.join(self._value(column, row_id) for column in columns)})" for row_id in ids]
        return f"VALUES {', '.join(rows)} AS v({', '.join(quoted(column.name) for column in columns)})"

    def _value(self, column: Column, row_id: int = 0) -> str:
        return f"CAST({row_id} AS {self._id.type})" if column is self._id else literal(column.type, self.rng)

    def _other_column(self) -> Column:
        return self.rng.choice([one for one in self.columns.columns if one is not self._id])

    def _together(self) -> Iterator[Step]:
        """Two appends, or an append beside a change."""
        second = self._insert("sqlext") if self.format_version == 1 else self._delete("sqlext")
        yield Step("sqlext", self._insert("sqlext").sql, together=second.sql)

    # columns, partitioning and properties

    def _alter(self, engine: Engine, change: str) -> Step:
        return Step(engine, f"ALTER TABLE {{t}} {change}")

    def _evolve(self) -> Iterator[Step]:
        changes: list[Callable[[], str | None]] = [
            self.columns.add_column,
            self.columns.add_column,
            self.columns.rename_column,
            self.columns.widen_column,
            self.columns.widen_column,
            lambda: self.columns.drop_column(keep=self._id),
            self.columns.move_column,
            self.columns.comment,
        ]
        types = [text for one in self.columns.columns if "VOID" in (text := sql_type(one.type))]
        change = self.rng.choice(changes)() or self.columns.add_column()
        yield self._alter(self._engine_for(change, *types), change)

    def _default(self) -> Iterator[Step]:
        """A column with a default, which the rows that are there get too; not every float is one."""
        types = [one for one in (*SCALARS, *RARE) if one not in ("FLOAT", "DOUBLE")]
        added = self.columns.add(self.rng.choice(types))
        value = scalar_literal(str(added.type), self.rng)
        yield self._alter("sqlext", f"ADD COLUMN {added.path} {added.type} DEFAULT {value}")
        if self.rng.random() < 0.5:
            value = scalar_literal(str(added.type), self.rng)
            yield self._alter("sqlext", f"ALTER COLUMN {added.path} SET DEFAULT {value}")

    def _identify(self) -> Iterator[Step]:
        self._has_key = not self._has_key
        self._by_equality = False
        verb = "SET" if self._has_key else "DROP"
        yield self._alter(self._any_engine(), f"{verb} IDENTIFIER FIELDS {self._id.path}")
        yield self._alter("sqlext", "SET TBLPROPERTIES ('write.upsert.mode'='resolved')")

    def _repartition(self) -> Iterator[Step]:
        engine = self._any_engine()
        old = self._without_field() if self._partitioned and self.rng.random() < 0.5 else None
        new = self._new_field()
        if old and new and self.rng.random() < 0.5:
            yield self._alter(engine, f"REPLACE PARTITION FIELD {old} WITH {new}")
            return
        if old:
            yield self._alter(engine, f"DROP PARTITION FIELD {old}")
        if new:
            yield self._alter(engine, f"ADD PARTITION FIELD {new}")

    def _without_field(self) -> str:
        column = self.rng.choice(list(self._partitioned))
        return self._partitioned.pop(column).replace("{c}", column.path)

    def _new_field(self) -> str | None:
        """A transform of a column that no spec was made of yet."""
        free = [one for one in self.columns.scalars() if one.type in TRANSFORMS and one not in self.columns.fixed]
        if not free:
            return None
        column = self.rng.choice(free)
        self._partitioned[column] = self.rng.choice(TRANSFORMS[str(column.type)])
        self.columns.fixed.add(column)
        return self._partitioned[column].replace("{c}", column.path)

    def _write_order(self) -> Iterator[Step]:
        column = self.rng.choice([one for one in self.columns.scalars() if one.type in COMPARED]).path
        order = f"ORDERED BY {column} {self.rng.choice(['ASC', 'DESC'])} NULLS {self.rng.choice(['FIRST', 'LAST'])}"
        changes = [f"WRITE {order}", f"WRITE LOCALLY {order}", "WRITE DISTRIBUTED BY PARTITION", "WRITE UNORDERED"]
        yield self._alter(self._any_engine(), self.rng.choice(changes))

    def _upgrade(self) -> Iterator[Step]:
        self.format_version += 1
        self.columns.format_version = self.format_version
        yield self._alter(self._any_engine(), f"SET TBLPROPERTIES ('format-version'='{self.format_version}')")

    def _other_format(self) -> Iterator[Step]:
        """Data and delete files of another format; sqlext writes none into a table that asks for them."""
        format_ = self.rng.choice(["orc", "avro"])
        yield self._alter("iceberg", f"SET TBLPROPERTIES ('write.format.default'='{format_}')")
        yield self._insert("iceberg")
        if self.format_version > 1 and self.rng.random() < 0.5:
            yield self._delete("iceberg")
        yield self._alter(self._any_engine(), "UNSET TBLPROPERTIES ('write.format.default')")

    def _replace(self) -> Iterator[Step]:
        """The same columns from the rows that are there; ids, partitioning and key are new."""
        self._partitioned, self._has_key, self._id_required, self._by_equality = {}, False, False, False
        self.columns.keep_values_only()
        engine = self._any_engine()
        using = " USING iceberg" if engine == "iceberg" else ""
        version = f"TBLPROPERTIES ('format-version'='{self.format_version}')"
        yield Step(engine, f"CREATE OR REPLACE TABLE {{t}}{using} {version} AS SELECT * FROM {self._rows()}")

    # references and history

    def _refer(self) -> Iterator[Step]:
        self._refs += 1
        name = f"ref_{self._refs}"
        kind = self.rng.choice(["BRANCH", "BRANCH", "TAG"])
        if kind == "BRANCH":
            self._branches.append(name)
        kept = self.rng.choice(["", " RETAIN 7 DAYS", " AS OF VERSION {any}"])
        yield self._alter(self._any_engine(), f"CREATE {kind} {name}{kept}")
        if kind == "BRANCH":
            yield from self._write_to_branch()

    def _write_to_branch(self) -> Iterator[Step]:
        if not self._branches:
            yield from self._refer()
            return
        name = self.rng.choice(self._branches)
        table = f"{{t}}.branch_{name}"
        verbs = [self._insert, self._insert]
        if self.format_version > 1:
            verbs += [self._delete, self._update, self._merge]
        yield self.rng.choice(verbs)(self._any_engine(), table)
        if self.rng.random() < 0.3:
            yield Step(self._any_engine(), f"CALL lake.system.fast_forward('{{name}}', 'main', '{{ahead:{name}}}')")

    def _roll_back(self) -> Iterator[Step]:
        calls = ["CALL lake.system.rollback_to_snapshot('{name}', {parent})"]
        calls += ["CALL lake.system.set_current_snapshot('{name}', {parent})"]
        yield Step(self._any_engine(), self.rng.choice(calls))
        if self.rng.random() < 0.5:
            yield Step(self._any_engine(), "CALL lake.system.cherrypick_snapshot('{name}', {undone})")

    def _maintain(self) -> Iterator[Step]:
        calls = [
            "rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))",
            "rewrite_position_delete_files(table => '{name}', options => map('rewrite-all', 'true'))",
            "rewrite_manifests('{name}')",
            "expire_snapshots(table => '{name}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 2)",
        ]
        yield Step("iceberg", f"CALL lake.system.{self.rng.choice(calls)}")

    # engines

    def _engine_for(self, *types: str) -> Engine:
        """sqlext, where these words name a type that is its own."""
        return "sqlext" if any(_OURS.search(one) for one in types) else self._any_engine()

    def _any_engine(self) -> Engine:
        return self.rng.choice(["sqlext", "sqlext", "iceberg"])

    def _row_level_engine(self) -> Engine:
        """Version 1 has no delete files: only an engine that rewrites data files changes rows there."""
        return "iceberg" if self.format_version == 1 else self._any_engine()

    def _row_level_mode(self) -> str:
        return "copy-on-write" if self.format_version == 1 else self.rng.choice(["copy-on-write", "merge-on-read"])
