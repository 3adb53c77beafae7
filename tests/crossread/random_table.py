"""A random table as a list of statements, each for one of two engines; the same seed makes the same list."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from crossread.values import NESTED, SCALARS, TRANSFORMS, WIDENED, literal

Engine = Literal["sqlext", "iceberg"]


@dataclass(frozen=True, slots=True)
class Step:
    """One statement; `{t}` stands for the table."""

    engine: Engine
    sql: str


@dataclass
class _Column:
    name: str
    type: str


class RandomTable:
    """Makes the statements, and keeps what the next one needs to know of the table."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._names = iter(f"c{number}" for number in range(1, 1000))
        self._columns = [_Column("id", self.rng.choice(["INT", "BIGINT"]))]
        for _ in range(self.rng.randrange(2, 6)):
            self._columns.append(self._new_column())
        self.format_version = self.rng.choice([1, 2, 2, 2, 2])
        self._has_key = self.format_version > 1 and self.rng.random() < 0.5
        self._by_equality = False
        self._partitioned: dict[str, str] = {}
        # A column that some spec was ever made of stays: Iceberg's own readers fail without it.
        self._sources: set[str] = set()

    def steps(self, count: int) -> Iterator[Step]:
        """CREATE, a first INSERT, and `count` further statements."""
        yield self._create()
        yield self._insert(self._any_engine())
        for _ in range(count):
            yield self._change()

    def _create(self) -> Step:
        engine: Engine = "sqlext" if self._has_key else self._any_engine()
        columns = ", ".join(f"{column.name} {column.type}" for column in self._columns)
        key = ", PRIMARY KEY (id)" if self._has_key else ""
        fields = [self._new_field() for _ in range(self.rng.choice([0, 0, 1, 1, 2]))]
        partitioning = ", ".join(dict.fromkeys(field for field in fields if field))
        by = f" PARTITIONED BY ({partitioning})" if partitioning else ""
        using = " USING iceberg" if engine == "iceberg" else ""
        properties = {
            "format-version": str(self.format_version),
            **{f"write.{verb}.mode": self._row_level_mode() for verb in ("delete", "update", "merge")},
        }
        if self._has_key:
            self._by_equality = self._partitioned_by_key() and self.rng.random() < 0.6
            properties["write.upsert.mode"] = "equality" if self._by_equality else "resolved"
        if self.rng.random() < 0.3:
            properties["write.parquet.compression-codec"] = self.rng.choice(["snappy", "gzip", "uncompressed", "zstd"])
        if self.rng.random() < 0.2:
            properties["commit.manifest.min-count-to-merge"] = "2"
        listed = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        return Step(engine, f"CREATE TABLE {{t}} ({columns}{key}){using}{by} TBLPROPERTIES ({listed})")

    def _change(self) -> Step:
        verbs: list[tuple[int, Callable[[], Step]]] = [
            (4, lambda: self._insert(self._any_engine())),
            (3, lambda: self._delete(self._row_level_engine())),
            (3, lambda: self._update(self._row_level_engine())),
            (3, lambda: self._merge(self._row_level_engine())),
            (1, self._overwrite),
            (3, self._evolve),
            (2, self._repartition),
        ]
        if self._has_key and (self._partitioned_by_key() or not self._by_equality):
            verbs.append((4, self._upsert))
        (made,) = self.rng.choices([verb for _, verb in verbs], [weight for weight, _ in verbs])
        return made()

    # rows

    def _insert(self, engine: Engine) -> Step:
        return Step(engine, f"INSERT INTO {{t}} SELECT * FROM {self._rows()}")

    def _overwrite(self) -> Step:
        return Step(self._any_engine(), f"INSERT OVERWRITE {{t}} SELECT * FROM {self._rows()}")

    def _delete(self, engine: Engine) -> Step:
        return Step(engine, f"DELETE FROM {{t}} WHERE {self._condition()}")

    def _update(self, engine: Engine) -> Step:
        column = self.rng.choice(self._columns[1:])
        value = literal(column.type, self.rng)
        return Step(engine, f"UPDATE {{t}} SET {column.name} = {value} WHERE {self._condition()}")

    def _merge(self, engine: Engine) -> Step:
        column = self.rng.choice(self._columns[1:]).name
        matched = self.rng.choice(
            [
                f"WHEN MATCHED THEN UPDATE SET {column} = s.{column}",
                "WHEN MATCHED AND s.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET *",
                "WHEN MATCHED THEN DELETE",
            ]
        )
        return Step(engine, f"{self._merge_head()} {matched} WHEN NOT MATCHED THEN INSERT *")

    def _upsert(self) -> Step:
        """The form that goes by key: the target may not be read for it."""
        clauses = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        return Step("sqlext", f"{self._merge_head()} {clauses}")

    def _merge_head(self) -> str:
        return f"MERGE INTO {{t}} AS t USING (SELECT * FROM {self._rows(distinct=True)}) AS s ON t.id = s.id"

    def _partitioned_by_key(self) -> bool:
        """What an upsert by equality deletes asks for."""
        return all("id" in field.replace("(", " ").replace(")", " ").split() for field in self._partitioned.values())

    def _rows(self, *, distinct: bool = False) -> str:
        """A few rows of VALUES; a table with a key gets each id once in a statement, and a MERGE never one twice."""
        count = self.rng.randrange(1, 7)
        ids = self.rng.sample(range(20), count) if distinct else [self.rng.randrange(20) for _ in range(count)]
        if self._has_key:
            ids = list(dict.fromkeys(ids))
        rows = []
        for row_id in ids:
            values = [literal(column.type, self.rng) for column in self._columns[1:]]
            rows.append(f"({', '.join([f'CAST({row_id} AS {self._columns[0].type})', *values])})")
        names = ", ".join(column.name for column in self._columns)
        return f"VALUES {', '.join(rows)} AS v({names})"

    def _condition(self) -> str:
        column = self.rng.choice(self._columns[1:])
        choices = [
            f"id % 3 = {self.rng.randrange(3)}",
            f"id > {self.rng.randrange(20)}",
            f"id IN ({self.rng.randrange(20)}, {self.rng.randrange(20)})",
            f"{column.name} IS NULL",
        ]
        if column.type in SCALARS and column.type != "BINARY":
            comparison = self.rng.choice(["=", "<", ">=", "<=>"])
            choices += [f"{column.name} {comparison} {literal(column.type, self.rng)}"] * 2
        return self.rng.choice(choices)

    # columns and partitioning

    def _evolve(self) -> Step:
        changes = [self._add_column, self._rename_column, self._widen_column, self._drop_column]
        sql = self.rng.choice(changes)()
        return Step("iceberg", f"ALTER TABLE {{t}} {sql or self._add_column()}")

    def _add_column(self) -> str:
        added = self._new_column()
        self._columns.append(added)
        return f"ADD COLUMN {added.name} {added.type}"

    def _rename_column(self) -> str:
        column = self.rng.choice(self._columns[1:])
        old, column.name = column.name, next(self._names)
        for fields in (self._partitioned,):
            if old in fields:
                fields[column.name] = fields.pop(old).replace(old, column.name)
        if old in self._sources:
            self._sources.add(column.name)
        return f"RENAME COLUMN {old} TO {column.name}"

    def _widen_column(self) -> str | None:
        # A promoted source column is not tried: Iceberg itself does not promote what a transform other than identity
        # is made of.
        widenable = [one for one in self._columns if one.type in WIDENED and one.name not in self._sources]
        if not widenable:
            return None
        column = self.rng.choice(widenable)
        column.type = WIDENED[column.type]
        return f"ALTER COLUMN {column.name} TYPE {column.type}"

    def _drop_column(self) -> str | None:
        droppable = [one for one in self._columns[1:] if one.name not in self._sources]
        if len(self._columns) < 4 or not droppable:
            return None
        column = self.rng.choice(droppable)
        self._columns.remove(column)
        return f"DROP COLUMN {column.name}"

    def _repartition(self) -> Step:
        if self._partitioned and self.rng.random() < 0.4:
            column = self.rng.choice(list(self._partitioned))
            field = self._partitioned.pop(column)
            return Step("iceberg", f"ALTER TABLE {{t}} DROP PARTITION FIELD {field}")
        new = self._new_field()
        if new is None:
            return self._insert(self._any_engine())
        return Step("iceberg", f"ALTER TABLE {{t}} ADD PARTITION FIELD {new}")

    def _new_field(self) -> str | None:
        """A transform of a column that no spec was made of yet."""
        free = [one for one in self._columns if one.type in TRANSFORMS and one.name not in self._sources]
        if not free:
            return None
        column = self.rng.choice(free)
        field = self.rng.choice(TRANSFORMS[column.type]).replace("{c}", column.name)
        self._sources.add(column.name)
        self._partitioned[column.name] = field
        return field

    def _new_column(self) -> _Column:
        types = list(NESTED) if self.rng.random() < 0.15 else list(SCALARS)
        return _Column(next(self._names), self.rng.choice(types))

    # engines

    def _any_engine(self) -> Engine:
        return self.rng.choice(["sqlext", "sqlext", "iceberg"])

    def _row_level_engine(self) -> Engine:
        """Version 1 has no delete files: only an engine that rewrites data files changes rows there."""
        return "iceberg" if self.format_version == 1 else self._any_engine()

    def _row_level_mode(self) -> str:
        return "copy-on-write" if self.format_version == 1 else self.rng.choice(["copy-on-write", "merge-on-read"])
